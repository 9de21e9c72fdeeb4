"""Sums of integers: IADD3 in its forms, with carries, and words of 64-bit values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...parsers.listing import Instruction, Operand
from .parts import Builder, Run, parts
from .state import Getter, Setter, State
from .values import (
    MASK,
    additive,
    high,
    lifted,
    low,
    unknown,
)


def _terms(state: State, sources: tuple[Operand, ...]) -> list[Getter]:
    """Read addends as 64-bit numbers; `-x` is 2^32 - x, so that its carry comes out right."""
    getters: list[Getter] = []
    for operand in sources:
        get = state.bits(operand) if operand.kind != "immediate" else state.integer(operand)
        if operand.negated and operand.kind != "immediate":
            change = _flip if operand.text.startswith("~") else _borrow
            getters.append(_changed(get, change))
        else:
            getters.append(get)
    return getters


def _changed(get: Getter, change: Callable[[Any], Any]) -> Getter:
    return lambda: lifted(change, get())


def _flip(value: Any) -> Any:
    return value ^ MASK


def _borrow(value: Any) -> Any:
    return (1 << 32) - value if type(value) is int else np.uint64(1 << 32) - value.astype(np.uint64)


def add3(instruction: Instruction, state: State) -> Run | None:
    """IADD3 and relatives: three addends, two carries in and out."""
    if "64" in instruction.modifiers:
        return _add_long(instruction, state)
    p = parts(instruction)
    put, carries = state.target(p.to), [state.target(operand) for operand in p.out]
    extended = "X" in instruction.modifiers
    into = [state.predicate(c) for c in p.conditions] if extended else []
    if not any(operand.predicates or operand.uniform_predicates for operand in p.out):
        words = [state.integer(operand) for operand in p.sources]
        return _plain_sum(put, [*words, *map(as_number, into)])
    terms = [*_terms(state, p.sources), *map(as_number, into)]

    def run() -> None:
        values = [term() for term in terms]
        if any(map(unknown, values)):
            put(additive(_low_sum, *values))
            for carry in carries:
                carry(None)
            return
        total = lifted(long_sum, *values)
        put(lifted(low, total))
        over = lifted(high, total)
        for position, carry in enumerate(carries):
            carry(lifted(is_above, over, position))

    return run


def _plain_sum(put: Setter, words: list[Getter]) -> Run:
    if len(words) == 3:
        first, second, third = words
        return lambda: put(additive(add_words, first(), second(), third()))
    return lambda: put(additive(add_words, *(word() for word in words)))


def as_number(get: Getter) -> Getter:
    return lambda: lifted(_one, get())


def _one(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value.astype(np.uint32)


def add_words(*values: Any) -> Any:
    total = values[0]
    for value in values[1:]:
        total = total + value
        if type(total) is int:
            total &= MASK
    return total


def long_sum(*values: Any) -> Any:
    total: Any = 0
    for value in values:
        total = total + (value if type(value) is int else value.astype(np.uint64))
    return total


def _low_sum(*values: Any) -> Any:
    return low(long_sum(*values))


def is_above(value: Any, limit: int) -> Any:
    return value > limit


def _add_long(instruction: Instruction, state: State) -> Run:
    p = parts(instruction)
    words = [state.long(operand) for operand in p.sources]
    return write_long(state, p.to, lambda: lifted(add_longs, *(word() for word in words)))


def add_longs(*values: Any) -> Any:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total & (1 << 64) - 1 if type(total) is int else total


def write_long(state: State, to: Operand, get: Getter) -> Run:
    """Write a 64-bit value to a register pair."""
    put_low, put_high = state.target(to), state.target(to, 1)

    def run() -> None:
        value = get()
        put_low(lifted(low, value))
        put_high(lifted(high, value))

    return run


BUILDERS: dict[str, Builder] = {
    **dict.fromkeys(("IADD3", "UIADD3", "IADD", "UIADD", "VIADD", "UVIADD", "IADD32I"), add3),
}
