"""Products and shifted sums of integers: IMAD and LEA in their forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...parsers.listing import Instruction
from .integer import add_longs, add_words, as_number, is_above, long_sum
from .parts import Builder, Parts, Run, immediate, parts
from .state import Getter, State
from .values import (
    MASK,
    Cell,
    Drift,
    Partly,
    additive,
    high,
    lifted,
    low,
    pair,
    signed_wide,
    unknown,
    wide,
)


def multiply_add(instruction: Instruction, state: State) -> Run | None:
    """IMAD: low, high or wide product plus addend."""
    p = parts(instruction)
    if len(p.sources) < 3:
        return None
    modifiers = instruction.modifiers
    if "WIDE" in modifiers or "HI" in modifiers:
        return _multiply_wide(instruction, state, p)
    put = state.target(p.to)
    a, b, c = (state.integer(operand) for operand in p.sources[:3])
    carry = [state.predicate(x) for x in p.conditions] if "X" in modifiers else []
    by, plus = immediate(p.sources[1]), p.sources[2]
    if carry:
        into = as_number(carry[0])
        return lambda: put(additive(add_words, _multiple(a(), b()), c(), into()))
    if p.sources[0].text.startswith("RZ") or p.sources[0].text.startswith("URZ"):
        return lambda: put(c())
    if by == 1:
        return lambda: put(additive(add_words, a(), c()))
    if plus.text in ("RZ", "URZ"):
        return lambda: put(_multiple(a(), b()))

    def run() -> None:
        left, right, addend = a(), b(), c()
        if unknown(left) or unknown(right) or unknown(addend):
            put(additive(add_words, _multiple(left, right), addend))
        else:
            put(lifted(_product, left, right, addend))

    return run


def _multiple(a: Cell, b: Cell) -> Any:
    """Multiply; a drifting value times a known number drifts on."""
    if type(a) is Drift and not unknown(b) and type(b) is not Partly:
        return Drift(_times(a.values, b), a.uniform)
    if type(b) is Drift and not unknown(a) and type(a) is not Partly:
        return Drift(_times(a, b.values), b.uniform)
    return lifted(_times, a, b)


def _times(a: Any, b: Any) -> Any:
    result = a * b
    return result & MASK if type(result) is int else result


def _product(a: Any, b: Any, c: Any, carry: Any = 0) -> Any:
    return add_words(_times(a, b), c, carry)


def _multiply_wide(instruction: Instruction, state: State, p: Parts) -> Run:
    unsigned = "U32" in instruction.modifiers
    a, b = state.bits(p.sources[0]), state.bits(p.sources[1])
    signs = [operand.negated and operand.kind != "immediate" for operand in p.sources[:2]]
    c = state.long(p.sources[2])
    carries = [state.target(operand) for operand in p.out]
    into = [as_number(state.predicate(x)) for x in p.conditions if "X" in instruction.modifiers]
    spread = wide if unsigned else signed_wide
    negative = signs[0] != signs[1]

    def exact(x: Any, y: Any) -> Any:
        product = spread(x) * spread(y)
        if negative:
            product = -product if type(product) is int else 0 - product
        return product & (1 << 64) - 1 if type(product) is int else product.view(np.uint64)

    def value() -> Any:
        return lifted(add_longs, lifted(exact, a(), b()), c(), *(carry() for carry in into))

    if "WIDE" in instruction.modifiers:
        write: Run = _write_wide(state, p, (a, b), value)
    else:
        put = state.target(p.to)
        write = lambda: put(lifted(high, value()))  # noqa: E731
    if not carries:
        return write

    def run() -> None:
        overflow = lifted(_overflows, lifted(exact, a(), b()), c())
        write()
        for carry in carries:
            carry(overflow)

    return run


def _write_wide(state: State, p: Parts, factors: tuple[Getter, Getter], value: Getter) -> Run:
    """Write a wide product and sum; of an unknown index what the addend tells goes on."""
    put_low, put_high = state.target(p.to), state.target(p.to, 1)
    base_low, base_high = state.integer(p.sources[2]), state.integer(p.sources[2], 1)

    def run() -> None:
        left, right = factors[0](), factors[1]()
        if unknown(left) or unknown(right) or unknown(base_low()) or unknown(base_high()):
            lo = additive(add_words, _multiple(left, right), base_low())
            put_high(_beyond(base_high()))
            put_low(lo)
            return
        total = value()
        put_low(lifted(low, total))
        put_high(lifted(high, total))

    return run


def _beyond(word: Cell) -> Cell:
    """Give the high word of a sum whose low word drifts: that of the base, give or take a carry."""
    if word is None or type(word) in (Drift, Partly):
        return word if type(word) is Drift else None
    return Drift(word, False)


def _overflows(product: Any, addend: Any) -> Any:
    if type(product) is int and type(addend) is int:
        return product + addend >> 64 != 0
    return add_longs(product, addend) < np.asarray(addend, np.uint64)


def shift_add(instruction: Instruction, state: State) -> Run | None:
    """LEA: shifted base plus index, or its high half."""
    p = parts(instruction)
    modifiers = instruction.modifiers
    scale = immediate(p.sources[-1])
    if scale is None:
        return None
    put = state.target(p.to)
    if "HI" not in modifiers:
        a, b = state.integer(p.sources[0]), state.integer(p.sources[1])
        carries = [state.target(operand) for operand in p.out]
        into = [as_number(state.predicate(x)) for x in p.conditions if "X" in modifiers]

        def run() -> None:
            left, right = a(), b()
            if unknown(left) or unknown(right):
                put(additive(add_words, _multiple(left, 1 << scale), right))
                for carry in carries:
                    carry(None)
                return
            total = lifted(_shifted_sum, left, right, scale, *(carry() for carry in into))
            put(lifted(low, total))
            for carry in carries:
                carry(lifted(is_above, lifted(high, total), 0))

        return run
    a, b = state.integer(p.sources[0]), state.integer(p.sources[1])
    into = [as_number(state.predicate(x)) for x in p.conditions if "X" in modifiers]
    c = state.integer(p.sources[2]) if "SX32" not in modifiers else None

    def upper() -> None:
        left, right, carried = a(), b(), [carry() for carry in into]
        top: Cell = c() if c is not None else 0
        if unknown(left) or unknown(top) or any(map(unknown, carried)):
            put(_beyond(right) if into else None)
        elif c is None:
            put(lifted(_high_signed, left, right, scale, *carried))
        else:
            put(lifted(_high_sum, left, top, right, scale, *carried))

    return upper


def _shifted_sum(a: Any, b: Any, scale: int, carry: Any = 0) -> Any:
    if type(a) is int:
        return long_sum((a << scale) & MASK, b, carry)
    return long_sum(a << np.uint32(scale), b, carry)


def _high_sum(a: Any, c: Any, b: Any, scale: int, carry: Any = 0) -> Any:
    return add_words(_shifted_right(pair(a, c), 32 - scale), b, carry)


def _shifted_right(value: Any, by: int) -> Any:
    if type(value) is int:
        return value >> by & MASK
    return (value >> np.uint64(by)).astype(np.uint32)


def _high_signed(a: Any, b: Any, scale: int, carry: Any = 0) -> Any:
    value = signed_wide(a)
    top = (
        value >> 32 - scale & MASK
        if type(value) is int
        else (value >> 32 - scale).astype(np.uint32)
    )
    return add_words(top, b, carry)


BUILDERS: dict[str, Builder] = {
    **dict.fromkeys(("IMAD", "UIMAD"), multiply_add),
    **dict.fromkeys(("LEA", "ULEA"), shift_add),
}
