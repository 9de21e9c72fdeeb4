"""A loop whose counter lives in local memory is counted like one that keeps it in a register."""

from __future__ import annotations

import pytest

from kneck.facts.executed import block_counts

from ..small_kernels import run

IN_A_REGISTER = (
    "MOV R4, RZ",
    ".L_1: IADD3 R4, R4, {step}, RZ",
    "ISETP.GE.AND P0, PT, R4, {most}, PT",
    "@!P0 BRA `(.L_1)",
)
SPILLED = (
    "MOV R1, 0x1000",
    "STL [R1+0x8], RZ",
    ".L_1: LDL R4, [R1+0x8]",
    "IADD3 R4, R4, {step}, RZ",
    "STL [R1+0x8], R4",
    "ISETP.GE.AND P0, PT, R4, {most}, PT",
    "@!P0 BRA `(.L_1)",
)


@pytest.mark.parametrize(("step", "most"), [(1, 1000), (3, 100_000), (1, 5)])
@pytest.mark.parametrize("code", [IN_A_REGISTER, SPILLED])
def test_a_loop_runs_as_often_as_its_counter_says(
    code: tuple[str, ...], step: int, most: int
) -> None:
    lines = [line.format(step=hex(step), most=hex(most)) for line in code]
    found = run(*lines)
    assert not found.doubt.ended_early
    assert max(block_counts(found)) / min(block_counts(found)) == -(-most // step)
    assert len(found.log) < 20
