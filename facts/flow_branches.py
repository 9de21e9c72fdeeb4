"""What each control instruction of sm_70 and later does to the program counter.

BRA and JMP go to their target, BRX and its like to one of several. BSSY names the point after the
matching BSYNC, where the threads of a warp meet again; BSYNC, BREAK, WARPSYNC, YIELD and NANOSLEEP
go on with the next instruction. CALL comes back, EXIT, KILL and RET do not.
"""

from __future__ import annotations

from ..parsers.listing import Instruction

DIRECT_BRANCHES = frozenset({"BRA", "JMP"})
INDIRECT_BRANCHES = frozenset({"BRX", "BRXU", "JMX", "JMXU"})
CALLS = frozenset({"CALL"})
RETURNS = frozenset({"RET"})
ENDS = frozenset({"EXIT", "KILL"}) | RETURNS
TRANSFERS = DIRECT_BRANCHES | INDIRECT_BRANCHES | CALLS | ENDS

_TRUE_GUARDS = frozenset({None, "PT", "UPT"})
_LANE_TESTS = frozenset({"DIV", "CONV"})  # taken where the lanes disagree, or agree


def is_always(instruction: Instruction) -> bool:
    """Tell whether the guard lets every thread through."""
    return instruction.predicate in _TRUE_GUARDS


def is_conditional(instruction: Instruction) -> bool:
    """Tell whether a control instruction may also go on with the next instruction.

    A condition stands in the guard (`@P0 BRA`), in a predicate operand (`BRA.U UP0`, `BRA P1`) or
    in a modifier (`BRA.DIV`).
    """
    if not is_always(instruction) or not _LANE_TESTS.isdisjoint(instruction.modifiers):
        return True
    return any(
        operand.predicates or operand.uniform_predicates or operand.text in ("!PT", "!UPT")
        for operand in instruction.operands
        if operand.kind in ("predicate", "uniform_predicate")
    )


def is_divergent_branch(instruction: Instruction) -> bool:
    """Tell whether it is `BRA.DIV`, taken only where the lanes of the warp disagree."""
    return "DIV" in instruction.modifiers and instruction.opcode in DIRECT_BRANCHES
