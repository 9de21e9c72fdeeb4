"""Why, why not, what is missing: down to the source, with value, need and margin."""

from __future__ import annotations

from pathlib import Path

import pytest

from kneck.engine.changes import smallest_change
from kneck.engine.explain import why
from kneck.engine.infer import Inference, infer
from kneck.engine.missing import missing_facts, roots
from kneck.engine.whynot import Failed, near_misses, tried, why_not
from kneck.facts.derive import Derivation, derive
from kneck.facts.model import Fact, FactBase, Missing, Source, Value
from kneck.rules.model import Knowledge

from .knowledge import BOUNDS, CLIFF_PITFALL, CP_ASYNC, OVER_CLIFF, facts, knowledge_from
from .test_infer import KERNEL

RATIO = Derivation(
    ("tile.ratio",),
    ("mix.HMMA.in_loop", "mix.LDG.in_loop"),
    lambda f: {
        "tile.ratio": (float(f["mix.HMMA.in_loop"]) / float(f["mix.LDG.in_loop"]), "", "HMMA / LDG")
    },
)


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory: pytest.TempPathFactory) -> Knowledge:
    return knowledge_from(
        tmp_path_factory.mktemp("kb"),
        verdicts=[*BOUNDS, OVER_CLIFF],
        strategies=[
            CP_ASYNC,
            "id: far\nwhen: [tile.ratio > 100, occupancy.warps > 90]",
            "id: near\nwhen: [tile.ratio > 5]",
            "id: staged\nwhen: [tile.staged]",
        ],
        pitfalls=[CLIFF_PITFALL],
    )


def kernel(**changed: Value | None) -> FactBase:
    values = KERNEL | {name.replace("__", "."): value for name, value in changed.items()}
    return facts({name: value for name, value in values.items() if value is not None})


def failed(inference: Inference, rule: str) -> list[Failed]:
    return list(why_not(inference, rule).failed)


def test_the_tree_leads_over_rules_to_the_sources(knowledge: Knowledge) -> None:
    tree = why(infer(kernel(), knowledge), "cp-async")
    assert (tree["rule"], tree["file"], tree["status"]) == (
        "cp-async",
        "kb/strategies/rules.yaml",
        "measured",
    )
    texts = [(c["text"], c["holds"]) for c in tree["conditions"]]
    assert texts == [
        ("bound == memory", True),
        ("tile.ratio < tile.low", True),
        ("unless mix.LDGSTS.in_loop > 0", True),
    ]
    bound = tree["conditions"][0]
    assert bound["facts"][0]["value"] == "memory"
    (memory_bound,) = bound["children"]
    side, share = memory_bound["conditions"]
    assert share["facts"] == [
        {
            "name": "baseline.share",
            "value": 0.7,
            "unit": "",
            "source": {"kind": "option", "detail": "baseline.share"},
        }
    ]
    assert [child["rule"] for child in side["children"]] == ["memory-side"]


def test_a_derived_fact_shows_its_inputs_down_to_the_addresses(knowledge: Knowledge) -> None:
    base = kernel(tile__ratio=None, mix__LDG__in_loop=2).with_facts(
        [Fact("mix.HMMA.in_loop", 8, "instructions", Source("sass", "0x0a10-0x0b80"))]
    )
    tree = why(infer(derive(base, [RATIO]), knowledge), "cp-async")
    ratio = next(f for f in tree["conditions"][1]["facts"] if f["name"] == "tile.ratio")
    assert ratio["source"] == {"kind": "derived", "detail": "HMMA / LDG"}
    assert [(i["name"], i["value"], i["source"]["detail"]) for i in ratio["inputs"]] == [
        ("mix.HMMA.in_loop", 8, "0x0a10-0x0b80"),
        ("mix.LDG.in_loop", 2, "mix.LDG.in_loop"),
    ]


def test_a_missing_fact_says_why_in_the_tree(knowledge: Knowledge) -> None:
    base = kernel(tile__ratio=None).with_facts(
        [], [Missing("tile.ratio", "the kernel has no loop")]
    )
    ratio = next(
        fact
        for fact in why(infer(base, knowledge), "cp-async")["conditions"][1]["facts"]
        if fact["name"] == "tile.ratio"
    )
    assert ratio["value"] is None
    assert ratio["source"] == {"kind": "missing", "detail": "the kernel has no loop"}


def test_each_rule_is_opened_once_in_a_tree(tmp_path: Path) -> None:
    twice = knowledge_from(
        tmp_path,
        verdicts=BOUNDS,
        pitfalls=["id: p\nwhen: [roofline.side == memory, bound == memory]"],
    )
    first, second = why(infer(kernel(), twice), "p")["conditions"]
    assert [child["rule"] for child in first["children"]] == ["memory-side"]
    (memory_bound,) = second["children"]
    assert memory_bound["conditions"][0]["children"] == []


def test_a_failed_condition_tells_value_need_margin_and_change(knowledge: Knowledge) -> None:
    inference = infer(kernel(tile__ratio=8), knowledge)
    (found,) = failed(inference, "cp-async")
    assert (found.condition, found.holds) == ("tile.ratio < tile.low", False)
    assert (found.fact, found.value, found.needed) == ("tile.ratio", 8, "< 5 (tile.low)")
    assert (found.margin, found.relative) == (3.0, 0.375)
    assert [change.text for change in found.changes] == ["tile.ratio 8 -> below 5"]
    assert found.producers == ()


def test_an_exception_that_holds_is_a_failed_condition(knowledge: Knowledge) -> None:
    (found,) = failed(infer(kernel(mix__LDGSTS__in_loop=12), knowledge), "cp-async")
    assert found.condition == "unless mix.LDGSTS.in_loop > 0"
    assert (found.value, found.needed, found.margin) == (12, "<= 0", 12.0)
    assert [change.to for change in found.changes] == [0]


def test_a_verdict_that_differs_leads_to_the_rule_that_could_have_set_it(
    knowledge: Knowledge,
) -> None:
    inference = infer(kernel(baseline__share=0.5), knowledge)
    (found,) = failed(inference, "cp-async")
    assert (found.value, found.needed, found.margin) == ("latency", "== memory", None)
    assert found.producers == ("memory-bound",)
    assert [change.text for change in found.changes] == ["baseline.share 0.5 -> 0.6"]


def test_an_undecided_rule_names_the_missing_facts_at_the_root(knowledge: Knowledge) -> None:
    base = kernel(baseline__share=None).with_facts(
        [], [Missing("baseline.share", "needs baseline.time_ms", ("baseline.time_ms",))]
    )
    found = why_not(infer(base, knowledge), "cp-async")
    assert found.unknown == ("baseline.time_ms",)
    assert [(f.condition, f.holds) for f in found.failed] == [("bound == memory", None)]
    assert found.failed[0].producers == ("latency-bound", "memory-bound")


def test_what_does_not_apply_fails_with_its_reason_and_without_a_change(
    knowledge: Knowledge,
) -> None:
    gap = Missing("tile.ratio", "the kernel has no loop", applies=False)
    inference = infer(kernel(tile__ratio=None).with_facts([], [gap]), knowledge)
    (found,) = failed(inference, "cp-async")
    assert (found.condition, found.holds) == ("tile.ratio < tile.low", False)
    assert (found.value, found.missing, found.because) == (
        None,
        ("tile.ratio",),
        "the kernel has no loop",
    )
    assert found.changes == ()
    assert why_not(inference, "cp-async").unknown == ()


def test_the_change_is_tried_with_everything_that_follows(knowledge: Knowledge) -> None:
    base = derive(kernel(tile__ratio=None, mix__LDG__in_loop=2, mix__HMMA__in_loop=16), [RATIO])
    inference = infer(base, knowledge)
    found = tried(why_not(inference, "cp-async"), inference, [RATIO])
    assert found.would_fire is True
    assert not inference.has_fired("cp-async")
    two = tried(why_not(inference, "far"), inference, [RATIO])
    assert [change.fact for change in two.changes] == ["tile.ratio", "occupancy.warps"]
    assert two.would_fire is True


def test_near_misses_come_first(knowledge: Knowledge) -> None:
    inference = infer(kernel(occupancy__warps=8, tile__staged=False), knowledge)
    rules = inference.silent("strategy")
    assert [miss.rule.id for miss in near_misses(inference, rules)] == ["near", "staged", "far"]


def test_missing_facts_are_listed_cheapest_first(knowledge: Knowledge) -> None:
    inference = infer(FactBase(), knowledge)
    found = missing_facts(inference, inference.undecided("strategy"))
    assert [(f.fact, f.cost) for f in found] == [
        ("tile.ratio", 0),
        ("mix.LDGSTS.in_loop", 0),
        ("tile.low", 0),
        ("tile.staged", 0),
        ("occupancy.warps", 1),
        ("roofline.ai", 1),
        ("roofline.balance", 1),
        ("baseline.share", 3),
    ]
    assert found[0].would_decide == ("cp-async", "far", "near")
    assert found[-1].how == "--time-ms"


def test_roots_end_in_facts_that_nothing_else_explains(knowledge: Knowledge) -> None:
    base = FactBase(
        {},
        {
            "tile.ratio": Missing("tile.ratio", "", ("a", "b")),
            "a": Missing("a", "", ("b",)),
            "b": Missing("b", "not given"),
        },
    )
    assert roots(infer(base, knowledge), ["tile.ratio", "c"]) == ("b", "c")


@pytest.mark.parametrize(
    ("now", "operator", "wanted", "to", "text"),
    [
        (8, "<", 5, 4, "x 8 -> below 5"),
        (8, "<=", 5, 5, "x 8 -> 5"),
        (50176, ">", 50176, 50177, "x 50,176 -> above 50,176"),
        (3, ">=", 5.5, 5.5, "x 3 -> 5.5"),
        (3, "==", 5, 5, "x 3 -> 5"),
        (3, "!=", 3, 4, "x 3 -> 4"),
        (None, ">", 5, 6, "x unknown -> above 5"),
        (False, "==", True, True, "x false -> true"),
        (True, "!=", True, False, "x true -> false"),
        ("latency", "==", "memory", "memory", "x latency -> memory"),
    ],
)
def test_the_smallest_change(
    now: Value | None, operator: str, wanted: Value, to: Value, text: str
) -> None:
    change = smallest_change("x", now, operator, wanted)
    assert change is not None
    assert (change.to, change.text) == (to, text)


def test_a_float_moves_just_across_the_limit() -> None:
    change = smallest_change("x", 0.7, "<", 0.6)
    assert change is not None
    assert isinstance(change.to, float) and 0.6 - 1e-9 < change.to < 0.6


def test_anything_but_a_text_has_no_smallest_change() -> None:
    assert smallest_change("x", "a", "!=", "a") is None
