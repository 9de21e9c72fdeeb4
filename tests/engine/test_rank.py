"""Gains within the headroom, the order of strategies, and the best compatible set."""

from __future__ import annotations

from itertools import combinations
from math import prod
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kneck.engine.conflicts import Related
from kneck.engine.infer import Inference, infer
from kneck.engine.plan import Plan, _best, _Candidate, _excluded, _score, _under, plan
from kneck.engine.rank import GainRange, Ranked, gain_range, rank
from kneck.facts.model import Value

from .knowledge import facts, knowledge_from

FACTS: dict[str, Value] = {"tile.ratio": 4, "headroom": 1.5, "smem.blocks": 2}


def strategy(id: str, gain: str = "", status: str = "measured", more: str = "") -> str:
    lines = [f"id: {id}", f"status: {status}", "when: [tile.ratio < 5]"]
    return "\n".join([*lines, *([f"gain: {gain}"] if gain else []), *([more] if more else [])])


def inference(folder: Path, *rules: str, pitfalls: tuple[str, ...] = ()) -> Inference:
    knowledge = knowledge_from(folder, strategies=list(rules), pitfalls=list(pitfalls))
    return infer(facts(FACTS), knowledge)


def gain(folder: Path, written: str, status: str = "measured") -> GainRange:
    found = inference(folder, strategy("s", written, status))
    return gain_range(found.knowledge.by_id["s"], found)


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("{low: 10 %, high: 35 %}", GainRange(10, 35, "evidence")),
        ("{low: 10 %, high: 35 %, cap: headroom}", GainRange(10, 35, "evidence", None, 50)),
        ("{low: 10 %, high: 80 %, cap: headroom}", GainRange(10, 50, "evidence", "headroom", 50)),
        ("{low: 60 %, high: 80 %, cap: headroom}", GainRange(50, 50, "evidence", "headroom", 50)),
        ("{low: 0 %, high: headroom - 1}", GainRange(0, 50, "model")),
        ("{cap: headroom}", GainRange(None, 50, "ceiling", "headroom", 50)),
        ("{high: 20 %, cap: headroom}", GainRange(None, 20, "ceiling", None, 50)),
        ("{cap: 2}", GainRange(None, 100, "ceiling", "2", 100)),
        ("{cap: 0.5}", GainRange(None, 0, "ceiling", "0.5", 0)),
        ("{low: 0 %, high: baseline.share}", GainRange(None, None, "ceiling")),
        (
            "{low: 0 %, high: baseline.share, cap: headroom}",
            GainRange(None, 50, "ceiling", "headroom", 50),
        ),
        ("{cap: baseline.share}", GainRange(None, None, "ceiling")),
        ("{low: 10 %, high: 35 %, cap: baseline.share}", GainRange(10, 35, "evidence")),
    ],
)
def test_a_gain_never_goes_beyond_its_cap(written: str, wanted: GainRange, tmp_path: Path) -> None:
    found = gain(tmp_path, written)
    assert (found.basis, found.limited_by) == (wanted.basis, wanted.limited_by)
    for value, expected in ((found.low, wanted.low), (found.high, wanted.high)):
        assert value == (expected if expected is None else pytest.approx(expected))
    assert found.cap == (wanted.cap if wanted.cap is None else pytest.approx(wanted.cap))


def test_a_strategy_without_a_gain_promises_nothing(tmp_path: Path) -> None:
    found = inference(tmp_path, strategy("s"))
    assert gain_range(found.knowledge.by_id["s"], found) == GainRange(None, None, "ceiling")


def test_a_hypothesis_shows_its_ceiling_only(tmp_path: Path) -> None:
    found = gain(tmp_path, "{low: 10 %, high: 35 %, cap: headroom}", "hypothesis")
    assert (found.low, found.high, found.basis) == (None, 35, "ceiling")


def test_the_order_is_expected_gain_then_ceilings_then_nothing_then_refuted(
    tmp_path: Path,
) -> None:
    found = inference(
        tmp_path,
        strategy("refuted", "{low: 40 %, high: 45 %}", "refuted"),
        strategy("nothing"),
        strategy("large-ceiling", "{cap: headroom}", "hypothesis"),
        strategy("small-ceiling", "{cap: 1.1}"),
        strategy("small", "{low: 1 %, high: 3 %}"),
        strategy("wide", "{low: 0 %, high: 40 %}"),
        strategy("narrow", "{low: 18 %, high: 22 %}"),
        strategy("contested", "{low: 18 %, high: 22 %}", "contested"),
        strategy("reported", "{low: 18 %, high: 22 %}", "reported"),
    )
    ranked = rank(found)
    assert [item.rule.id for item in ranked] == [
        "wide",
        "narrow",
        "reported",
        "contested",
        "small",
        "large-ceiling",
        "small-ceiling",
        "nothing",
        "refuted",
    ]
    assert [item.rank for item in ranked] == list(range(1, 10))


def edge(one: str, two: str, kind: str = "conflicts") -> Related:
    return Related((one, two), kind, "", True)  # type: ignore[arg-type]


def planned(found: Inference, *edges: Related) -> Plan:
    return plan(rank(found), edges, found)


def test_the_plan_takes_two_small_gains_over_one_that_excludes_both(tmp_path: Path) -> None:
    found = inference(
        tmp_path,
        strategy("a", "{low: 20 %, high: 20 %}"),
        strategy("b", "{low: 12 %, high: 12 %}"),
        strategy("c", "{low: 12 %, high: 12 %}"),
        strategy("d", "{low: 1 %, high: 3 %}"),
    )
    made = planned(found, edge("a", "b"), edge("a", "c", "supersedes"))
    assert made.strategies == ("b", "c", "d")
    assert made.low == pytest.approx(100 * (1.12 * 1.12 * 1.01 - 1))
    assert made.high == pytest.approx(100 * (1.12 * 1.12 * 1.03 - 1))


def test_a_shared_ceiling_is_not_added_twice(tmp_path: Path) -> None:
    found = inference(
        tmp_path,
        strategy("a", "{low: 30 %, high: 50 %, cap: headroom}"),
        strategy("b", "{low: 30 %, high: 50 %, cap: headroom}"),
        strategy("c", "{low: 10 %, high: 10 %, cap: 2}"),
    )
    made = planned(found)
    assert made.strategies == ("a", "b", "c")
    # a third of the time lies above the ceiling at 1.5; +50 % takes all of it
    assert made.high == pytest.approx(100 * (1.5 * 1.1 - 1))
    # +30 % takes 0.2308 of the time, 69 % of that third; twice leaves 9.5 % of it
    above, taken = 1 - 1 / 1.5, 1 - 1 / 1.3
    left = above * (1 - taken / above) ** 2
    assert made.low == pytest.approx(100 * (1.1 / (1 / 1.5 + left) - 1))


def test_what_stays_below_the_nearer_ceiling_counts_once_under_the_farther_one(
    tmp_path: Path,
) -> None:
    values = FACTS | {"baseline.share": 3}
    knowledge = knowledge_from(
        tmp_path,
        strategies=[
            strategy("near", "{low: 40 %, high: 50 %, cap: headroom}"),
            strategy("far", "{low: 100 %, high: 200 %, cap: baseline.share}"),
        ],
    )
    made = planned(infer(facts(values), knowledge))
    assert made.high == pytest.approx(200)  # not 1.5 times 3
    assert made.low is not None and 100 < made.low < 100 * (1.4 * 2 - 1)


@given(
    st.floats(1.01, 20),
    st.lists(st.floats(0.5, 20), min_size=1, max_size=5),
)
def test_gains_under_one_ceiling_stay_below_it_and_one_alone_is_itself(
    cap: float, factors: list[float]
) -> None:
    within = [min(factor, cap) for factor in factors]
    assert _under(cap, within[:1]) == pytest.approx(within[0])
    together = _under(cap, within)
    assert together <= cap * (1 + 1e-9)
    gains = [factor for factor in within if factor >= 1]
    if gains:
        assert _under(cap, gains) >= max(gains) * (1 - 1e-9)
        assert _under(cap, gains) <= prod(gains) * (1 + 1e-9)


def test_what_enables_another_comes_before_it(tmp_path: Path) -> None:
    found = inference(
        tmp_path,
        strategy("a", "{low: 20 %, high: 20 %}"),
        strategy("b", "{low: 12 %, high: 12 %}"),
        strategy("c", "{low: 5 %, high: 5 %}"),
    )
    assert planned(found, edge("c", "a", "enables")).strategies == ("b", "c", "a")
    circle = (edge("c", "a", "enables"), edge("a", "c", "enables"))
    assert planned(found, *circle).strategies == ("b", "a", "c")


def test_a_plan_leaves_out_the_refuted_losses_and_what_would_not_run(tmp_path: Path) -> None:
    fatal = "id: launch-fails\nseverity: error\nwhen: [tile.staged]"
    found = inference(
        tmp_path,
        strategy("refuted", "{low: 40 %, high: 45 %}", "refuted"),
        strategy("loss", "{low: -30 %, high: 10 %}"),
        strategy("fatal", "{low: 20 %, high: 30 %}"),
        strategy("good", "{low: 1 %, high: 3 %}"),
        pitfalls=(fatal,),
    )
    assert planned(found, edge("fatal", "launch-fails")).strategies == ("good",)


def test_a_plan_of_ceilings_promises_no_low_end(tmp_path: Path) -> None:
    found = inference(tmp_path, strategy("a", "{cap: headroom}"), strategy("b"))
    made = planned(found)
    assert (made.strategies, made.low) == (("a", "b"), None)
    assert made.high == pytest.approx(50)


def test_no_strategy_no_plan(tmp_path: Path) -> None:
    found = inference(tmp_path, "id: a\nwhen: [tile.ratio > 5]")
    assert planned(found) == Plan((), None, None)


candidates = st.builds(
    lambda expected, ceiling: (expected, ceiling),
    st.sampled_from([1.0, 1.05, 1.1, 1.2, 1.4]),
    st.sampled_from([None, ("x", False, 1.3), ("y", True, 1.15), ("z", True, 1.45)]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(candidates, max_size=8), st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7))))
def test_the_search_finds_what_trying_every_set_finds(
    drawn: list[tuple[float, tuple[str, bool, float] | None]], pairs: set[tuple[int, int]]
) -> None:
    made = [
        _Candidate(f"s{i}", 1, expected, expected, expected > 1, *(ceiling or (None, False, None)))
        for i, (expected, ceiling) in enumerate(drawn)
    ]
    torn = [edge(f"s{a}", f"s{b}") for a, b in pairs if a != b]
    masks = _excluded(made, torn)
    chosen = _best(made, masks)
    ids = {candidate.id for candidate in chosen}
    assert not any(set(e.between) <= ids for e in torn)
    best = max(
        _score([made[i] for i in subset])
        for size in range(len(made) + 1)
        for subset in combinations(range(len(made)), size)
        if not any(masks[i] >> j & 1 for i, j in combinations(subset, 2))
    )
    assert _score(chosen) == best


def test_ranked_items_carry_their_rule(tmp_path: Path) -> None:
    (item,) = rank(inference(tmp_path, strategy("a", "{cap: headroom}")))
    assert isinstance(item, Ranked) and item.rule.id == "a"
