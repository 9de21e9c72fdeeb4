"""Inference: three values, strata, defaults, and facts that stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from kneck.engine.infer import Inference, compare, infer
from kneck.engine.rete import EngineError
from kneck.facts.model import FactBase, Missing, Value
from kneck.parsers.errors import KnowledgeError
from kneck.rules.model import Knowledge

from .knowledge import BOUNDS, CLIFF_PITFALL, CP_ASYNC, OVER_CLIFF, facts, knowledge_from

KERNEL: dict[str, Value] = {
    "roofline.ai": 20,
    "roofline.balance": 71.5,
    "baseline.share": 0.7,
    "tile.ratio": 4,
    "tile.low": 5,
    "mix.LDGSTS.in_loop": 0,
    "smem.per_block": 30720,
    "smem.cliff": 50176,
}


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory: pytest.TempPathFactory) -> Knowledge:
    return knowledge_from(
        tmp_path_factory.mktemp("kb"),
        verdicts=[*BOUNDS, OVER_CLIFF],
        strategies=[CP_ASYNC],
        pitfalls=[CLIFF_PITFALL],
        limitations=["id: no-time\nwhen: [not tile.staged]", "id: always\ntitle: always"],
    )


def without(*names: str) -> FactBase:
    return facts({name: value for name, value in KERNEL.items() if name not in names})


def having(**changed: Value) -> FactBase:
    return facts(KERNEL | {name.replace("__", "."): value for name, value in changed.items()})


def state(inference: Inference, rule: str) -> str:
    return inference.outcomes[rule].state


def test_rules_chain_through_the_facts_that_they_set(knowledge: Knowledge) -> None:
    inference = infer(facts(KERNEL), knowledge)
    assert inference.facts.value("roofline.side") == "memory"
    assert inference.facts.value("bound") == "memory"
    assert inference.has_fired("cp-async")
    assert inference.facts.value("strategy.cp-async") is True


def test_a_firing_names_the_facts_that_it_matched(knowledge: Knowledge) -> None:
    firings = {f.rule: f.matched for f in infer(facts(KERNEL), knowledge).firings}
    assert firings["memory-side"] == ("roofline.ai", "roofline.balance")
    assert firings["cp-async"] == ("bound", "mix.LDGSTS.in_loop", "tile.low", "tile.ratio")
    assert firings["always"] == ()


def test_a_missing_fact_makes_a_rule_undecided_not_silent(knowledge: Knowledge) -> None:
    inference = infer(without("tile.ratio"), knowledge)
    assert state(inference, "cp-async") == "undecided"
    assert inference.outcomes["cp-async"].when == (True, None)
    assert "strategy.cp-async" not in inference.facts
    assert inference.facts.missing["strategy.cp-async"] == Missing(
        "strategy.cp-async", "cp-async cannot be decided", ("tile.ratio",)
    )


def test_a_false_condition_decides_whatever_else_is_missing(knowledge: Knowledge) -> None:
    inference = infer(facts({"tile.ratio": 9, "tile.low": 5}), knowledge)
    assert state(inference, "cp-async") == "silent"
    assert inference.facts.value("strategy.cp-async") is False


def test_a_condition_on_what_does_not_apply_fails_and_so_does_an_exception(
    knowledge: Knowledge,
) -> None:
    no_loop = Missing("tile.ratio", "no loop", applies=False)
    assert state(infer(without("tile.ratio").with_facts([], [no_loop]), knowledge), "cp-async") == (
        "silent"
    )
    no_copies = Missing("mix.LDGSTS.in_loop", "no loop", applies=False)
    inference = infer(without("mix.LDGSTS.in_loop").with_facts([], [no_copies]), knowledge)
    assert inference.has_fired("cp-async")


def test_an_exception_that_is_unknown_keeps_a_rule_from_firing(knowledge: Knowledge) -> None:
    assert state(infer(without("mix.LDGSTS.in_loop"), knowledge), "cp-async") == "undecided"
    assert state(infer(having(mix__LDGSTS__in_loop=2), knowledge), "cp-async") == "silent"


def test_a_default_needs_every_rule_that_sets_the_fact_to_be_silent(knowledge: Knowledge) -> None:
    assert infer(facts(KERNEL), knowledge).facts.value("smem.over_cliff") is False
    open_one = infer(without("smem.cliff"), knowledge)
    assert open_one.facts.value("smem.over_cliff") is None
    assert open_one.facts.missing["smem.over_cliff"].needs == ("smem.cliff",)
    assert state(open_one, "over-smem-cliff") == "undecided"


def test_one_rule_that_fires_sets_the_fact_though_another_is_undecided(
    knowledge: Knowledge,
) -> None:
    inference = infer(facts({"baseline.share": 0.3}), knowledge)
    assert state(inference, "memory-bound") == "silent"
    assert inference.facts.value("bound") == "latency"


def test_a_fact_without_a_default_is_missing_when_no_rule_sets_it(tmp_path: Path) -> None:
    alone = knowledge_from(
        tmp_path,
        verdicts=["id: m\nwhen: [tile.ratio < 5]\nsets: {roofline.side: memory}"],
    )
    gap = infer(facts({"tile.ratio": 9}), alone).facts.missing["roofline.side"]
    assert gap.because == "none of the rules that set it fires: m"


def test_a_given_verdict_stands_against_the_rules(knowledge: Knowledge) -> None:
    inference = infer(having(bound="latency"), knowledge)
    assert inference.has_fired("memory-bound")
    assert inference.facts.value("bound") == "latency"
    assert state(inference, "cp-async") == "silent"


def test_a_verdict_says_which_rule_it_is_from(knowledge: Knowledge) -> None:
    fact = infer(facts(KERNEL), knowledge).facts.facts["bound"]
    assert fact.source.kind == "rule"
    assert fact.source.detail.startswith("memory-bound (kb/verdicts/rules.yaml:")
    assert fact.inputs == ("roofline.side", "baseline.share")


def test_a_number_that_is_not_finite_is_missing(knowledge: Knowledge) -> None:
    for value in (float("nan"), float("inf"), 10**400):
        inference = infer(having(tile__ratio=value), knowledge)
        assert state(inference, "cp-async") == "undecided"
        assert "not a finite number" in inference.facts.missing["tile.ratio"].because


def test_rules_that_contradict_each_other_are_named(tmp_path: Path) -> None:
    both = knowledge_from(
        tmp_path,
        verdicts=[
            "id: one\nwhen: [tile.ratio < 5]\nsets: {bound: memory}",
            "id: two\nwhen: [tile.ratio < 6]\nsets: {bound: latency}",
        ],
    )
    assert infer(facts({"tile.ratio": 5.5}), both).facts.value("bound") == "latency"
    with pytest.raises(KnowledgeError) as caught:
        infer(facts({"tile.ratio": 4}), both)
    assert caught.value.what == (
        "contradiction: one sets bound to memory, "
        "two (kb/verdicts/rules.yaml:12) sets it to latency"
    )
    assert str(caught.value.place) == "kb/verdicts/rules.yaml:1"
    assert caught.value.exit_status == 4


def test_a_rule_may_set_a_computed_value(tmp_path: Path) -> None:
    computing = knowledge_from(
        tmp_path,
        verdicts=[
            "id: twice\nwhen: [tile.ratio < 5]\nsets: {smem.blocks: smem.cliff / smem.per_block}"
        ],
    )
    known = infer(facts({"tile.ratio": 4, "smem.cliff": 60, "smem.per_block": 20}), computing)
    assert known.facts.value("smem.blocks") == 3
    unknown = infer(facts({"tile.ratio": 4, "smem.cliff": 60}), computing)
    assert unknown.facts.missing["smem.blocks"].needs == ("smem.per_block",)


def test_a_fact_of_another_type_than_the_vocabulary_says_is_an_engine_error(
    knowledge: Knowledge,
) -> None:
    with pytest.raises(EngineError, match="tile.ratio is text"):
        infer(having(tile__ratio="4"), knowledge)


def test_a_difference_between_the_two_engines_names_both_sets() -> None:
    compare(frozenset({"a"}), frozenset({"a"}))
    with pytest.raises(EngineError) as caught:
        compare(frozenset({"a", "b"}), frozenset({"a", "c"}))
    assert "only in durable_rules: b; only in the evaluator: c" in str(caught.value)


def test_the_derivation_leads_from_facts_over_firings_to_facts(knowledge: Knowledge) -> None:
    graph = infer(facts(KERNEL), knowledge).derivation
    assert list(graph.predecessors("strategy.cp-async")) == ["fires: cp-async"]
    assert set(graph.predecessors("fires: memory-side")) == {"roofline.ai", "roofline.balance"}
    assert graph.nodes["fires: cp-async"]["file"] == "kb/strategies/rules.yaml"
    import networkx as nx

    assert "roofline.ai" in nx.ancestors(graph, "strategy.cp-async")
