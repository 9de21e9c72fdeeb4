"""Relations between strategies and pitfalls, declared and found by inferring again."""

from __future__ import annotations

from pathlib import Path

import pytest

from kneck.engine.conflicts import Related, graph, relations
from kneck.engine.infer import infer
from kneck.engine.whatif import what_if
from kneck.facts.derive import Derivation, derive
from kneck.facts.model import FactBase, Value
from kneck.rules.model import Knowledge

from .knowledge import BOUNDS, CLIFF_PITFALL, CP_ASYNC, OVER_CLIFF, facts, knowledge_from
from .test_infer import KERNEL

BLOCKS = Derivation(
    ("smem.blocks",),
    ("smem.per_sm", "smem.per_block"),
    lambda f: {
        "smem.blocks": (int(f["smem.per_sm"]) // int(f["smem.per_block"]), "blocks", "fits")
    },
)
SMEM: dict[str, Value] = {"smem.per_sm": 102400, "occupancy.warps": 8}


def base(**changed: Value) -> FactBase:
    values = KERNEL | SMEM | {name.replace("__", "."): value for name, value in changed.items()}
    return derive(facts(values), [BLOCKS])


def edges(knowledge: Knowledge, facts: FactBase) -> list[tuple[str, str, str, str]]:
    found = relations(infer(facts, knowledge), [BLOCKS])
    return [(*edge.between, edge.kind, edge.because) for edge in found]


def knowledge(
    folder: Path, *strategies: str, pitfalls: tuple[str, ...] = (CLIFF_PITFALL,)
) -> Knowledge:
    return knowledge_from(
        folder,
        verdicts=[*BOUNDS, OVER_CLIFF],
        strategies=list(strategies),
        pitfalls=list(pitfalls),
    )


def test_doubling_the_shared_memory_crosses_the_cliff(tmp_path: Path) -> None:
    assert edges(knowledge(tmp_path, CP_ASYNC), base()) == [
        (
            "cp-async",
            "over-smem-cliff",
            "conflicts",
            "smem.per_block 30,720 -> 61,440 B: smem.blocks 3 -> 1, over-smem-cliff fires",
        )
    ]


def test_no_edge_where_the_doubled_size_still_fits(tmp_path: Path) -> None:
    assert edges(knowledge(tmp_path, CP_ASYNC), base(smem__per_block=16384)) == []


def test_a_strategy_that_fires_afterwards_is_enabled(tmp_path: Path) -> None:
    rules = knowledge(
        tmp_path,
        "id: shrink\nwhen: [smem.over_cliff]\nside_effects: {smem.per_block: smem.per_block / 2}",
        "id: overlap\nwhen: [not smem.over_cliff, tile.ratio < 5]",
    )
    ((first, second, kind, because),) = edges(rules, base(smem__per_block=61440))
    assert (first, second, kind) == ("shrink", "overlap", "enables")
    assert because.startswith("smem.per_block 61,440 -> 30,720 B: smem.blocks 1 -> 3")


def test_what_only_repairs_the_damage_is_not_enabled(tmp_path: Path) -> None:
    rules = knowledge(tmp_path, CP_ASYNC, "id: shrink\nwhen: [smem.over_cliff]")
    assert [edge[1] for edge in edges(rules, base())] == ["over-smem-cliff"]


def test_a_strategy_that_makes_another_needless_supersedes_it(tmp_path: Path) -> None:
    rules = knowledge(
        tmp_path,
        "id: bigger-tile\nwhen: [tile.ratio < 5]\nside_effects: {tile.ratio: tile.ratio * 4}",
        "id: tune\nwhen: [tile.ratio < 8]",
    )
    assert edges(rules, base()) == [
        (
            "bigger-tile",
            "tune",
            "supersedes",
            "tile.ratio 4 -> 16, tune no longer applies",
        )
    ]


def test_strategies_that_take_the_same_memory_compete(tmp_path: Path) -> None:
    deeper = CP_ASYNC.replace("id: cp-async", "id: deeper").replace(
        "      - bound == memory", "      - bound == memory\n      - not smem.over_cliff"
    )
    found = edges(knowledge(tmp_path, CP_ASYNC, deeper, pitfalls=()), base())
    assert [edge[:3] for edge in found] == [("cp-async", "deeper", "competes")]


def test_two_strategies_that_only_together_do_harm_conflict(tmp_path: Path) -> None:
    more = "id: pad\nwhen: [tile.ratio < 5]\nside_effects: {smem.per_block: smem.per_block + 20000}"
    found = edges(knowledge(tmp_path, CP_ASYNC, more), base(smem__per_block=20000))
    assert [edge[:3] for edge in found] == [("cp-async", "pad", "conflicts")]
    assert found[0][3].startswith("together smem.per_block 20,000 -> 60,000 B: smem.blocks 5 -> 1")


@pytest.mark.parametrize(
    ("severity", "declares", "ends"),
    [("warning", False, ["cliff"]), ("note", False, []), ("note", True, ["cliff"])],
)
def test_a_note_is_damage_only_where_some_rule_says_so(
    severity: str, declares: bool, ends: list[str], tmp_path: Path
) -> None:
    pitfall = f"id: cliff\nseverity: {severity}\nwhen: [smem.over_cliff]"
    other = "id: other\nwhen: [tile.ratio > 5]" + "\nconflicts: [cliff]" * declares
    rules = knowledge(tmp_path, CP_ASYNC, other, pitfalls=(pitfall,))
    assert [edge[1] for edge in edges(rules, base())] == ends


DECLARED = """
    id: caps
    when: [tile.ratio < 5]
    conflicts:
      - {id: spills, because: "{smem.per_block} are spilled"}
    supersedes: [tune]
    """
SPILLS = "id: spills\ntitle: Spills decide\nwhen: [tile.staged]"
TUNE = "id: tune\ntitle: Tune the loop\nwhen: [tile.low < 6]"


def test_declared_relations_have_their_reason(tmp_path: Path) -> None:
    rules = knowledge(tmp_path, DECLARED, TUNE, pitfalls=(SPILLS,))
    assert edges(rules, base(tile__staged=True)) == [
        ("caps", "spills", "conflicts", "30 KiB are spilled"),
        ("caps", "tune", "supersedes", "Tune the loop (kb/strategies/rules.yaml:5)"),
    ]


@pytest.mark.parametrize(
    ("condition", "ends"),
    [
        ("tile.ratio < 5", ["spills", "tune"]),
        ("tile.ratio > 5", ["tune"]),  # it fails, so the relation says nothing of this kernel
        ("baseline.time_ms < 1", ["spills", "tune"]),  # it is not known, so it could hold
    ],
)
def test_a_declared_relation_holds_under_its_own_condition(
    condition: str, ends: list[str], tmp_path: Path
) -> None:
    declared = DECLARED.replace("{id: spills,", f"{{id: spills, when: {condition},")
    rules = knowledge(tmp_path, declared, TUNE, pitfalls=(SPILLS,))
    facts = base(tile__staged=True)
    assert facts.value("baseline.time_ms") is None
    assert [edge[1] for edge in edges(rules, facts)] == ends


def test_a_declared_relation_to_a_strategy_that_does_not_fire_says_nothing(tmp_path: Path) -> None:
    rules = knowledge(tmp_path, DECLARED, TUNE, pitfalls=(SPILLS,))
    found = edges(rules, base(tile__low=7))
    assert [edge[1] for edge in found] == ["spills"]


def test_the_numbers_can_speak_against_a_declared_conflict(tmp_path: Path) -> None:
    declared = CP_ASYNC.rstrip() + "\n    conflicts: [over-smem-cliff]\n"
    rules = knowledge(tmp_path, declared)
    assert edges(rules, base(smem__per_block=16384)) == []
    ((*_, because),) = edges(rules, base())
    assert because.startswith("smem.per_block 30,720 -> 61,440 B")


def test_declared_and_found_give_one_edge(tmp_path: Path) -> None:
    declared = CP_ASYNC.rstrip() + "\n    conflicts: [over-smem-cliff]\n"
    (edge,) = relations(infer(base(), knowledge(tmp_path, declared)), [BLOCKS])
    assert edge == Related(("cp-async", "over-smem-cliff"), "conflicts", edge.because, True)


def test_an_unknown_side_effect_gives_no_edge(tmp_path: Path) -> None:
    assert edges(knowledge(tmp_path, CP_ASYNC), facts(KERNEL | {"smem.per_block": 2})) == []


def test_the_graph_holds_strategies_pitfalls_and_reasons(tmp_path: Path) -> None:
    inference = infer(base(), knowledge(tmp_path, CP_ASYNC))
    made = graph(relations(inference, [BLOCKS]), inference)
    assert made.nodes["over-smem-cliff"]["kind"] == "pitfall"
    ((_, _, data),) = made.edges(data=True)
    assert data["kind"] == "conflicts" and data["because"].endswith("over-smem-cliff fires")


def test_what_if_derives_again_what_follows_and_keeps_what_was_given() -> None:
    changed = what_if(base(baseline__time_ms=3.9), {"smem.per_block": 61440.0}, [BLOCKS])
    assert changed.value("smem.per_block") == 61440
    assert isinstance(changed.value("smem.per_block"), int)
    assert changed.value("smem.blocks") == 1
    assert changed.value("baseline.time_ms") == 3.9
    source = changed.facts["smem.per_block"].source
    assert (source.kind, source.detail) == ("what-if", "smem.per_block=61440 instead of 30720")


def test_a_pinned_derived_fact_stays_and_its_consequences_follow() -> None:
    warps = Derivation(
        ("occupancy.warps",),
        ("smem.blocks",),
        lambda f: {"occupancy.warps": (4 * int(f["smem.blocks"]), "warps", "4 each")},
    )
    start = derive(facts({"smem.per_sm": 100, "smem.per_block": 30}), [BLOCKS, warps])
    assert start.value("occupancy.warps") == 12
    changed = what_if(start, {"smem.blocks": 5}, [BLOCKS, warps])
    assert (changed.value("smem.blocks"), changed.value("occupancy.warps")) == (5, 20)


def test_what_if_can_supply_a_missing_fact() -> None:
    start = derive(facts({"smem.per_sm": 100}), [BLOCKS])
    assert "smem.blocks" in start.missing
    changed = what_if(start, {"smem.per_block": 50}, [BLOCKS])
    assert changed.value("smem.blocks") == 2
    assert "smem.blocks" not in changed.missing
