"""The dependence analysis against a simple execution of the same program, cycle by cycle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from kneck.facts.control_flow import control_flow
from kneck.facts.dep_operands import Accesses
from kneck.facts.dep_stalls import Stall, loose_stalls, stalls
from kneck.facts.dep_steps import Steps
from kneck.facts.dep_table import TableTiming

from .flow_listings import operands, sass, table
from .scoreboard_interpreter import Generator, Op, hazards, listing, walks

PROGRAMS = 500
BATCH = 50


def analysed(program: Sequence[Op]) -> list[Stall]:
    function = sass(listing(program))
    accesses = Accesses(function.instructions, operands())
    steps = Steps(control_flow(function), accesses, TableTiming(table(), function.arch))
    found = stalls(steps, range(len(program)))
    assert loose_stalls(steps, range(len(program))) == [stall for stall in found if stall.slack]
    return found


def shortened(program: Sequence[Op], found: Sequence[Stall]) -> list[Op]:
    needed = {stall.position: stall.required for stall in found}
    return [replace(op, stall=needed.get(n, op.stall)) for n, op in enumerate(program)]


def is_clean(program: Sequence[Op]) -> bool:
    return not any(True for walk in walks(program) for _ in hazards(program, walk))


@pytest.mark.parametrize("first", range(0, PROGRAMS, BATCH))
def test_no_stall_that_the_execution_needs_is_called_reducible(first: int) -> None:
    for seed in range(first, first + BATCH):
        program = Generator(seed).program()
        found = analysed(program)
        assert is_clean(program), f"seed {seed}: the generator made a hazard"
        assert is_clean(shortened(program, found)), f"seed {seed}\n{listing(program)}"
        for stall in found:
            alone = shortened(program, [stall])
            assert is_clean(alone), f"seed {seed}, {stall}\n{listing(program)}"


def test_what_is_left_is_needed() -> None:
    """Take one cycle more away, anywhere: nearly always the execution goes wrong.

    What stands before a branch or the end is kept by rule. A register that a load writes again is
    kept a little longer than this execution needs, since the table does not say how soon a load
    can come back.
    """
    needed = kept = 0
    for seed in range(150):
        program = Generator(seed).program()
        found = analysed(program)
        tight = shortened(program, found)
        for stall in found:
            op = tight[stall.position]
            follower = tight[stall.position + 1 : stall.position + 2]
            if op.stall > 1 and follower and follower[0].kind != "BRA":
                shorter = list(tight)
                shorter[stall.position] = replace(op, stall=op.stall - 1)
                needed += not is_clean(shorter)
                kept += 1
    assert kept > 500
    assert needed > 0.95 * kept


def test_a_dependent_chain_keeps_its_latency_and_an_independent_one_goes_to_one_cycle() -> None:
    def chain(target: str) -> list[Op]:
        first = Op("FFMA", "FFMA R0, R1, R2, R3", ("R1", "R2", "R3"), ("R0",), stall=9)
        second = Op("FFMA", f"FFMA {target}, R1, R2, R0", ("R1", "R2", "R0"), (target,), stall=9)
        third = Op("FFMA", "FFMA R6, R1, R2, R3", ("R1", "R2", "R3"), ("R6",), stall=9)
        return [first, second, third]

    assert [stall.required for stall in analysed(chain("R4"))][:2] == [4, 1]
