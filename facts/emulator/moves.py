"""Moves and choices: SEL, MOV, values that a warp has once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...parsers.listing import Instruction
from .integer import write_long
from .parts import Builder, Run, parts
from .state import State
from .values import Drift, lifted


def select(instruction: Instruction, state: State) -> Run | None:
    """SEL: the first source where the predicate holds."""
    p = parts(instruction)
    if len(p.sources) != 2 or not p.conditions:
        return None
    condition = state.predicate(p.conditions[0])
    if "64" in instruction.modifiers:
        long_a, long_b = state.long(p.sources[0]), state.long(p.sources[1])
        return write_long(state, p.to, lambda: choose(condition(), long_a(), long_b(), np.uint64))
    put = state.target(p.to)
    a, b = state.integer(p.sources[0]), state.integer(p.sources[1])
    return lambda: put(choose(condition(), a(), b(), np.uint32))


def choose(condition: Any, a: Any, b: Any, kind: Any) -> Any:
    """Give the first value where the condition holds, the second elsewhere."""
    if condition is True:
        return a
    if condition is False:
        return b
    if isinstance(a, int) and isinstance(b, int) and a == b:
        return a
    return lifted(lambda c, x, y: np.asarray(np.where(c, x, y), kind), condition, a, b)


def move(instruction: Instruction, state: State) -> Run | None:
    """MOV, UMOV and moves between the register files."""
    p = parts(instruction)
    if not p.sources:
        return None
    if "64" in instruction.modifiers:
        return write_long(state, p.to, state.long(p.sources[0]))
    if p.sources[0].label is not None:
        return None
    put, a = state.target(p.to), state.integer(p.sources[0])
    return lambda: put(a())


def to_uniform(instruction: Instruction, state: State) -> Run | None:
    """R2UR: the value of the first executing thread of each warp."""
    p = parts(instruction)
    if not p.sources or p.out:
        return None
    put, a = state.target(p.to), state.integer(p.sources[0])

    def run() -> None:
        value = a()
        put(value if type(value) is Drift else lifted(lambda v: first_of_warp(v, state), value))

    return run


def first_of_warp(value: Any, state: State) -> Any:
    """Spread the value of each warp's first executing thread over the warp."""
    if not isinstance(value, np.ndarray):
        return value
    rows = value.reshape(-1, 32)
    first = state.mask().reshape(-1, 32).argmax(axis=1)
    return np.repeat(rows[np.arange(len(rows)), first], 32)


BUILDERS: dict[str, Builder] = {
    **dict.fromkeys(("SEL", "USEL"), select),
    **dict.fromkeys(("MOV", "UMOV", "MOV32I", "UR2R"), move),
    "R2UR": to_uniform,
}
