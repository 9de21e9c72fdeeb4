"""What a scan leaves out decides nothing: with every rule and every fact it finds the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from kneck.engine.scan import kernel
from kneck.engine.scan.demand import Demand
from kneck.facts.derive import Derivation
from kneck.facts.model import FactBase
from kneck.rules.model import Knowledge, Rule

from .scanning import CUBINS, rows, scan

STEMS = (
    "spilled", "hgemm_staged", "sgemm_naive", "reduce_atomic", "reduce_barrier", "gather_random",
    "convert_in_loop", "separate_multiply_add", "divergent", "precise_math",
)  # fmt: skip
FILES = [CUBINS / f"{stem}.sm_86.cubin" for stem in STEMS]
OPTIONS = {
    "the code alone": (),
    "a block": ("--block", "256"),
    "a block and a device": ("--block", "128", "--gpu", "a10"),
}


def everything(
    knowledge: Knowledge,
    reported: Iterable[Rule],
    asked: Iterable[str],
    derivations: Sequence[Derivation],
    base: FactBase,
) -> Demand:
    names = {*asked, *base.facts, *base.missing}
    for rule in knowledge.rules:
        for expression in (*(c.expression for c in rule.conditions), *rule.sets.values()):
            names.update(expression.names)
    for step in derivations:
        names.update(step.inputs, step.optional, step.outputs)
    return Demand(knowledge, tuple(derivations), frozenset(names))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_what_is_left_out_never_fires(
    options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found, whole = tmp_path / "found.jsonl", tmp_path / "whole.jsonl"
    assert scan(*FILES, *options, "-o", found) == 0
    monkeypatch.setattr(kernel, "demand", everything)
    assert scan(*FILES, *options, "-o", whole) == 0
    assert rows(found, "kernel") == rows(whole, "kernel")


@pytest.mark.parametrize(("options", "fires"), [((), False), (("--block", "256"), True)])
def test_a_fact_that_an_option_gives_is_not_taken_for_one_that_is_never_known(
    options: tuple[str, ...], fires: bool, tmp_path: Path
) -> None:
    overlay = tmp_path / "kb" / "pitfalls"
    overlay.mkdir(parents=True)
    (overlay / "few.yaml").write_text(
        "- id: few-blocks\n  title: Few blocks\n  severity: warning\n  status: hypothesis\n"
        "  when: [smem.doubled.blocks_per_sm < 100]\n"
        "  why: Twice the shared memory leaves {smem.doubled.blocks_per_sm} blocks.\n"
        "  action: Take less.\n  source: this test\n"
        "  wrong_when: [it is not so]\n"
        "  tests:\n"
        "    - {given: {smem.doubled.blocks_per_sm: 4}, fires: true}\n"
        "    - {given: {smem.doubled.blocks_per_sm: 400}, fires: false}\n"
        "    - {given: {}, fires: unknown}\n"
    )
    out = tmp_path / "scan.jsonl"
    target = CUBINS / "sgemm_shared.sm_86.cubin"
    assert scan(target, *options, "--kb", overlay.parent, "-o", out) == 0
    (row,) = rows(out, "kernel")
    assert ("few-blocks" in {each["id"] for each in row["findings"]}) is fires
