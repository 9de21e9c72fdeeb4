"""Integer addition, multiplication and comparison of magnitudes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...parsers.listing import Instruction, Operand
from .parts import Builder, Parts, Run, immediate, parts
from .state import Getter, Setter, State
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
    signed,
    signed_wide,
    unknown,
    wide,
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
        return _plain_sum(put, [*words, *map(_as_number, into)])
    terms = [*_terms(state, p.sources), *map(_as_number, into)]

    def run() -> None:
        values = [term() for term in terms]
        if any(map(unknown, values)):
            put(additive(_low_sum, *values))
            for carry in carries:
                carry(None)
            return
        total = lifted(_long_sum, *values)
        put(lifted(low, total))
        over = lifted(high, total)
        for position, carry in enumerate(carries):
            carry(lifted(_above, over, position))

    return run


def _plain_sum(put: Setter, words: list[Getter]) -> Run:
    if len(words) == 3:
        first, second, third = words
        return lambda: put(additive(_sum, first(), second(), third()))
    return lambda: put(additive(_sum, *(word() for word in words)))


def _as_number(get: Getter) -> Getter:
    return lambda: lifted(_one, get())


def _one(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value.astype(np.uint32)


def _sum(*values: Any) -> Any:
    total = values[0]
    for value in values[1:]:
        total = total + value
        if type(total) is int:
            total &= MASK
    return total


def _long_sum(*values: Any) -> Any:
    total: Any = 0
    for value in values:
        total = total + (value if type(value) is int else value.astype(np.uint64))
    return total


def _low_sum(*values: Any) -> Any:
    return low(_long_sum(*values))


def _above(value: Any, limit: int) -> Any:
    return value > limit


def _add_long(instruction: Instruction, state: State) -> Run:
    p = parts(instruction)
    words = [state.long(operand) for operand in p.sources]
    return write_long(state, p.to, lambda: lifted(_sum_long, *(word() for word in words)))


def _sum_long(*values: Any) -> Any:
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
        into = _as_number(carry[0])
        return lambda: put(additive(_sum, _multiple(a(), b()), c(), into()))
    if p.sources[0].text.startswith("RZ") or p.sources[0].text.startswith("URZ"):
        return lambda: put(c())
    if by == 1:
        return lambda: put(additive(_sum, a(), c()))
    if plus.text in ("RZ", "URZ"):
        return lambda: put(_multiple(a(), b()))

    def run() -> None:
        left, right, addend = a(), b(), c()
        if unknown(left) or unknown(right) or unknown(addend):
            put(additive(_sum, _multiple(left, right), addend))
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
    return _sum(_times(a, b), c, carry)


def _multiply_wide(instruction: Instruction, state: State, p: Parts) -> Run:
    unsigned = "U32" in instruction.modifiers
    a, b = state.bits(p.sources[0]), state.bits(p.sources[1])
    signs = [operand.negated and operand.kind != "immediate" for operand in p.sources[:2]]
    c = state.long(p.sources[2])
    carries = [state.target(operand) for operand in p.out]
    into = [_as_number(state.predicate(x)) for x in p.conditions if "X" in instruction.modifiers]
    spread = wide if unsigned else signed_wide
    negative = signs[0] != signs[1]

    def exact(x: Any, y: Any) -> Any:
        product = spread(x) * spread(y)
        if negative:
            product = -product if type(product) is int else 0 - product
        return product & (1 << 64) - 1 if type(product) is int else product.view(np.uint64)

    def value() -> Any:
        return lifted(_sum_long, lifted(exact, a(), b()), c(), *(carry() for carry in into))

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
            lo = additive(_sum, _multiple(left, right), base_low())
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
    return _sum_long(product, addend) < np.asarray(addend, np.uint64)


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
        into = [_as_number(state.predicate(x)) for x in p.conditions if "X" in modifiers]

        def run() -> None:
            left, right = a(), b()
            if unknown(left) or unknown(right):
                put(additive(_sum, _multiple(left, 1 << scale), right))
                for carry in carries:
                    carry(None)
                return
            total = lifted(_shifted_sum, left, right, scale, *(carry() for carry in into))
            put(lifted(low, total))
            for carry in carries:
                carry(lifted(_above, lifted(high, total), 0))

        return run
    a, b = state.integer(p.sources[0]), state.integer(p.sources[1])
    into = [_as_number(state.predicate(x)) for x in p.conditions if "X" in modifiers]
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
        return _long_sum((a << scale) & MASK, b, carry)
    return _long_sum(a << np.uint32(scale), b, carry)


def _high_sum(a: Any, c: Any, b: Any, scale: int, carry: Any = 0) -> Any:
    return _sum(_shifted_right(pair(a, c), 32 - scale), b, carry)


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
    return _sum(top, b, carry)


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
        total, other = lifted(_sum, a(), b()), c()
        put(lifted(_extreme, smaller(), unsigned, total, other))
        return total, other

    return run


BUILDERS: dict[str, Builder] = {
    **dict.fromkeys(("IADD3", "UIADD3", "IADD", "UIADD", "VIADD", "UVIADD", "IADD32I"), add3),
    **dict.fromkeys(("IMAD", "UIMAD"), multiply_add),
    **dict.fromkeys(("LEA", "ULEA"), shift_add),
    **dict.fromkeys(("IABS", "UIABS"), absolute),
    **dict.fromkeys(("IMNMX", "UIMNMX", "VIMNMX", "UVIMNMX", "VIMNMX3", "UVIMNMX3"), extreme),
    **dict.fromkeys(("VIADDMNMX", "UVIADDMNMX"), add_extreme),
}
