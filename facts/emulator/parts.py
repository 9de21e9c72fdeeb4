"""The operands of an instruction by their role."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...parsers.listing import Instruction, Operand
from ...parsers.record import dataclass
from .state import State

Run = Callable[[], Any]
Builder = Callable[[Instruction, State], "Run | None"]
_PREDICATES = ("predicate", "uniform_predicate")


@dataclass(frozen=True, slots=True)
class Parts:
    """Destination register, predicates written, sources that are no predicates, predicates read."""

    to: Operand
    out: tuple[Operand, ...]
    sources: tuple[Operand, ...]
    conditions: tuple[Operand, ...]


NOWHERE = Operand("RZ", "register")


def parts(instruction: Instruction) -> Parts:
    """Sort the operands: predicates around the first register are written, later ones read."""
    operands = instruction.operands
    position = 0
    out: list[Operand] = []
    while position < len(operands) and operands[position].kind in _PREDICATES:
        out.append(operands[position])
        position += 1
    to = operands[position] if position < len(operands) else NOWHERE
    position += 1
    while position < len(operands) and operands[position].kind in _PREDICATES:
        out.append(operands[position])
        position += 1
    rest = operands[position:]
    sources = tuple(operand for operand in rest if operand.kind not in _PREDICATES)
    conditions = tuple(operand for operand in rest if operand.kind in _PREDICATES)
    return Parts(to, tuple(out), sources, conditions)


def immediate(operand: Operand) -> int | None:
    """Give the value of an integer immediate."""
    if operand.kind == "immediate" and isinstance(operand.value, int):
        return operand.value
    return None
