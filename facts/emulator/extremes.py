"""Absolute values, smaller and larger one of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...parsers.listing import Instruction
from .integer import add_words
from .parts import Builder, Run, parts
from .state import State
from .values import (
    MASK,
    lifted,
    signed,
)


def absolute(instruction: Instruction, state: State) -> Run | None:
    """IABS."""
    p = parts(instruction)
    put, a = state.target(p.to), state.integer(p.sources[0])
    return lambda: put(lifted(_absolute, a()))


def _absolute(a: Any) -> Any:
    if type(a) is int:
        return (1 << 32) - a & MASK if a >> 31 else a
    return np.abs(a.view(np.int32)).view(np.uint32)


def extreme(instruction: Instruction, state: State) -> Run | None:
    """IMNMX, VIMNMX, VIMNMX3: the smaller with PT behind, the larger with !PT."""
    p = parts(instruction)
    if not p.conditions or {"64", "U64", "S64", "RELU", "U16x2", "S16x2"} & set(
        instruction.modifiers
    ):
        return None
    put = state.target(p.to)
    words = [state.integer(operand) for operand in p.sources]
    smaller = state.predicate(p.conditions[0])
    unsigned = "U32" in instruction.modifiers

    def run() -> Any:
        values = [word() for word in words]
        put(lifted(_extreme, smaller(), unsigned, *values))
        return values[0], values[1]

    return run


def _extreme(smaller: Any, unsigned: bool, *values: Any) -> Any:
    best = values[0]
    for value in values[1:]:
        less = _less(best, value, unsigned)
        take = less if smaller is True else ~less if smaller is False else None
        if take is None:
            take = less == smaller
        if isinstance(less, bool):
            best = best if (less == smaller) else value
        else:
            best = np.where(take, best, value).astype(np.uint32)
    return best


def _less(a: Any, b: Any, unsigned: bool) -> Any:
    return a < b if unsigned else signed(a) < signed(b)


def add_extreme(instruction: Instruction, state: State) -> Run | None:
    """VIADDMNMX: extreme of a sum and a third value."""
    p = parts(instruction)
    if len(p.sources) != 3 or not p.conditions or "RELU" in instruction.modifiers:
        return None
    put = state.target(p.to)
    a, b, c = (state.integer(operand) for operand in p.sources)
    smaller = state.predicate(p.conditions[0])
    unsigned = "U32" in instruction.modifiers

    def run() -> Any:
        total, other = lifted(add_words, a(), b()), c()
        put(lifted(_extreme, smaller(), unsigned, total, other))
        return total, other

    return run


BUILDERS: dict[str, Builder] = {
    **dict.fromkeys(("IABS", "UIABS"), absolute),
    **dict.fromkeys(("IMNMX", "UIMNMX", "VIMNMX", "UVIMNMX", "VIMNMX3", "UVIMNMX3"), extreme),
    **dict.fromkeys(("VIADDMNMX", "UVIADDMNMX"), add_extreme),
}
