"""durable_rules behind its encoding: numbers, texts, limits, and a flat memory."""

from __future__ import annotations

import gc
import json
import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.engine import rete
from kneck.engine.durable_json import definition_text, number
from kneck.engine.encoding import (
    MOST_CONDITIONS,
    MOST_PER_FACT,
    Encoder,
)
from kneck.engine.infer import infer
from kneck.engine.rete import EngineError, Network, network
from kneck.facts.model import FactBase
from kneck.rules.limits import antecedents, fact_hash
from kneck.rules.model import Knowledge

from .knowledge import BOUNDS, CP_ASYNC, facts, knowledge_from
from .random_knowledge import facts as random_facts
from .random_knowledge import knowledge as random_knowledge


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_written_with_a_decimal_point_and_reads_back(value: float) -> None:
    text = number(value)
    assert float(text) == value
    assert "." in text.split("e")[0]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not a finite number"):
        number(value)


def test_a_comparison_of_two_facts_binds_the_right_one_first(tmp_path: Path) -> None:
    knowledge = knowledge_from(
        tmp_path, pitfalls=["id: p\nwhen: [smem.per_block > smem.cliff, tile.staged]"]
    )
    (section,) = Encoder(knowledge.rules).sections
    assert section.definition["p"] == {
        "pri": 1,
        "dist": 0,
        "all": [
            {"r0": {"$ex": {"smem.cliff": 1}}},
            {"c0": {"$gt": {"smem.per_block": {"r0": "smem.cliff"}}}},
            {"c1": {"tile.staged": 1.0}},
        ],
    }
    assert json.loads(definition_text(section.definition)) == section.definition


def test_exceptions_and_expressions_are_facts_that_are_computed_outside(tmp_path: Path) -> None:
    knowledge = knowledge_from(
        tmp_path,
        pitfalls=[
            "id: p\nwhen: [tile.ratio < 2 * tile.low]\nunless: [mix.LDGSTS.in_loop > 0]",
            "id: q\nwhen: [2 * tile.low >= tile.ratio, occupancy.warps > 1]",
        ],
    )
    (section,) = Encoder(knowledge.rules).sections
    assert section.definition["p"]["all"][1:] == [
        {"c0": {"$lt": {"tile.ratio": {"r0": "value:0"}}}},
        {"n0": {"$ex": {"absent:1": 1}}},
    ]
    assert section.names >= {"value:0", "absent:1"}


def test_the_antecedents_counted_at_load_are_those_of_the_encoding() -> None:
    for seed in range(30):
        knowledge = random_knowledge(random.Random(seed))
        sections = Encoder(knowledge.rules).sections
        encoded = {id: len(d["all"]) for s in sections for id, d in s.definition.items()}
        for rule in knowledge.rules:
            assert encoded[rule.id] == max(1, antecedents(rule))


def test_the_hash_is_fnv_1a() -> None:
    assert fact_hash("") == 0x811C9DC5
    assert fact_hash("a") == 0xE40C292C
    assert fact_hash("costarring") == fact_hash("liquid")


def many_rules(folder: Path, count: int) -> Knowledge:
    """Make rules with a condition each that no other has, all of them on one fact."""
    return knowledge_from(
        folder,
        pitfalls=[
            f"id: p{n}\nwhen: [tile.ratio > {n}, roofline.side == memory]" for n in range(count)
        ],
        verdicts=BOUNDS,
    )


def test_more_conditions_than_one_ruleset_can_hold_are_split(tmp_path: Path) -> None:
    knowledge = many_rules(tmp_path, 700)
    sections = Encoder(knowledge.rules).sections
    assert len(sections) > 700 // MOST_PER_FACT
    assert all(len(section.conditions) <= MOST_CONDITIONS for section in sections)
    given_facts = facts({"tile.ratio": 650.5, "roofline.ai": 1, "roofline.balance": 2})
    inference = infer(given_facts, knowledge)
    assert len(inference.fired("pitfall")) == 651
    assert len(inference.silent("pitfall")) == 49


def test_facts_that_durable_rules_drops_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 1e-05 is what durable_rules cannot read: it drops that fact and all that follow.
    knowledge = knowledge_from(tmp_path, verdicts=BOUNDS, strategies=[CP_ASYNC])
    monkeypatch.setattr("kneck.engine.durable_json.number", repr)
    with pytest.raises(EngineError, match="dropped facts"):
        Network(knowledge).run(facts({"baseline.share": 1e-05, "tile.ratio": 4}))


def test_a_failed_run_leaves_the_network_usable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    knowledge = knowledge_from(tmp_path, verdicts=BOUNDS, strategies=[CP_ASYNC])
    with monkeypatch.context() as patched:
        patched.setattr("kneck.engine.durable_json.number", repr)
        with pytest.raises(EngineError):
            network(knowledge).run(facts({"baseline.share": 1e-05}))
    assert infer(facts({"baseline.share": 0.1}), knowledge).facts.value("bound") == "latency"


def test_no_facts_are_no_trouble(tmp_path: Path) -> None:
    knowledge = knowledge_from(tmp_path, verdicts=BOUNDS, strategies=[CP_ASYNC])
    assert infer(FactBase(), knowledge).firings == ()
    assert infer(FactBase(), Knowledge(knowledge.vocabulary, (), (), ())).firings == ()


def test_a_knowledge_base_is_compiled_once(tmp_path: Path) -> None:
    knowledge = knowledge_from(tmp_path, verdicts=BOUNDS)
    assert network(knowledge) is network(knowledge)


def test_a_network_goes_with_its_knowledge_base(tmp_path: Path) -> None:
    knowledge = knowledge_from(tmp_path, verdicts=BOUNDS)
    infer(facts({"baseline.share": 0.1}), knowledge)
    before = len(rete._networks)
    del knowledge
    gc.collect()
    assert len(rete._networks) == before - 1


def peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_a_thousand_inferences_need_no_more_memory_than_the_first_hundred() -> None:
    source = random.Random(1)
    knowledge = random_knowledge(source)
    kernels = [random_facts(source) for _ in range(50)]
    for run in range(100):
        infer(kernels[run % 50], knowledge)
    before = peak_kib()
    for run in range(1_000):
        infer(kernels[run % 50], knowledge)
    assert peak_kib() - before < 1_024


def test_random_knowledge_bases_give_what_the_evaluator_gives() -> None:
    fired = 0
    for seed in range(10_000, 10_150):
        source = random.Random(seed)
        knowledge = random_knowledge(source)
        for _ in range(3):
            fired += len(infer(random_facts(source), knowledge).firings)  # raises on a difference
    assert fired > 500


DIGEST = """
import hashlib, random, sys
sys.path.insert(0, {folder!r})
from random_knowledge import facts, knowledge
from kneck.engine.infer import infer
digest = hashlib.sha256()
for seed in range(20):
    source = random.Random(seed)
    rules = knowledge(source)
    result = infer(facts(source), rules)
    digest.update(repr((result.firings, list(result.facts), sorted(result.facts.missing))).encode())
print(digest.hexdigest())
"""


def test_two_hash_seeds_give_the_same_result() -> None:
    code = DIGEST.format(folder=str(Path(__file__).parent))
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_shuffled_facts_give_the_same_result() -> None:
    for seed in range(20):
        source = random.Random(seed)
        knowledge = random_knowledge(source)
        base = random_facts(source)
        results = set()
        for _ in range(5):
            names = list(base.facts)
            source.shuffle(names)
            inference = infer(FactBase({name: base.facts[name] for name in names}), knowledge)
            missing = sorted(inference.facts.missing.items())
            results.add(repr((inference.firings, list(inference.facts), missing)))
        assert len(results) == 1
