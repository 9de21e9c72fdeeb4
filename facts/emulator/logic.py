"""Bits: three-input logic, shifts, byte permutation, selection, moves, counting."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...parsers.listing import Instruction
from .integer import write_long
from .parts import Builder, Run, immediate, parts
from .state import State
from .values import MASK, Drift, Plain, lifted, pair, signed


def lookup(table: int, a: Plain, b: Plain, c: Plain) -> Any:
    """Apply a three-input truth table bit by bit; common tables have their own form."""
    direct = _TABLES.get(table)
    if direct is not None:
        return direct(a, b, c)
    result: Any = 0
    for row in range(8):
        if table >> row & 1:
            term = (a if row & 4 else a ^ MASK) & (b if row & 2 else b ^ MASK)
            result = result | (term & (c if row & 1 else c ^ MASK))
    return result


_TABLES: dict[int, Any] = {
    0xC0: lambda a, b, c: a & b,
    0xFC: lambda a, b, c: a | b,
    0x3C: lambda a, b, c: a ^ b,
    0x33: lambda a, b, c: b ^ MASK,
    0x96: lambda a, b, c: a ^ b ^ c,
    0xF8: lambda a, b, c: a | b & c,
    0xFE: lambda a, b, c: a | b | c,
    0x80: lambda a, b, c: a & b & c,
    0xEA: lambda a, b, c: a & b | c,
}


def logic(instruction: Instruction, state: State) -> Run | None:
    """LOP3.LUT, with the predicate that tells whether any bit is set."""
    p = parts(instruction)
    if len(p.sources) != 4:
        return None
    table = immediate(p.sources[3])
    if table is None:
        return None
    put, flags = state.target(p.to), [state.target(operand) for operand in p.out]
    a, b, c = (state.integer(operand) for operand in p.sources[:3])
    also = state.predicate(p.conditions[0]) if p.conditions else None
    both = "PAND" in instruction.modifiers

    def run() -> None:
        value = lifted(lookup, table, a(), b(), c())
        put(value)
        if flags:
            found = lifted(_any_bit, value)
            if also is not None:
                found = lifted(_and if both else _or, found, also())
            for flag in flags:
                flag(found)

    return run


def _any_bit(value: Any) -> Any:
    return value != 0


def _or(a: Any, b: Any) -> Any:
    return a | b


def _and(a: Any, b: Any) -> Any:
    return a & b


def funnel(instruction: Instruction, state: State) -> Run | None:
    """SHF: shift of a register pair, of which one word is kept."""
    p = parts(instruction)
    if len(p.sources) != 3:
        return None
    modifiers = set(instruction.modifiers)
    put = state.target(p.to)
    lo, by, hi = (state.integer(operand) for operand in p.sources)
    left, keep_high, wraps = "L" in modifiers, "HI" in modifiers, "W" in modifiers
    long = bool({"U64", "S64"} & modifiers)
    arithmetic = bool({"S32", "S64"} & modifiers)
    most = 63 if long else 32

    def shift(a: Any, n: Any, b: Any) -> Any:
        if type(a) is int and type(n) is int and type(b) is int:
            return _shift_int(a, n, b)
        return _shift_array(a, n, b)

    def _amount(n: Any) -> Any:
        if wraps:
            return n & (63 if long else 31)
        return min(n, most) if type(n) is int else np.minimum(n, most)

    def _shift_int(a: int, n: int, b: int) -> int:
        whole = a | b << 32
        n = _amount(n)
        if left:
            moved = whole << n
        else:
            if arithmetic and b >> 31:
                whole -= 1 << 64
            moved = whole >> n
        return (moved >> 32 if keep_high else moved) & MASK

    def _shift_array(a: Any, n: Any, b: Any) -> Any:
        whole = np.asarray(pair(a, b), np.uint64)
        n = np.asarray(_amount(n), np.uint64)
        if left:
            moved = whole << n
        elif arithmetic:
            moved = (whole.view(np.int64) >> n.astype(np.int64)).view(np.uint64)
        else:
            moved = whole >> n
        return (moved >> np.uint64(32) if keep_high else moved).astype(np.uint32)

    return lambda: put(lifted(shift, lo(), by(), hi()))


def permute(instruction: Instruction, state: State) -> Run | None:
    """PRMT: four bytes out of eight."""
    p = parts(instruction)
    if len(p.sources) != 3 or instruction.modifiers:
        return None
    put = state.target(p.to)
    a, selector, b = (state.integer(operand) for operand in p.sources)
    fixed = immediate(p.sources[1])
    if fixed == 0x7610 or fixed == 0x3210:
        return lambda: put(a()) if fixed == 0x3210 else put(lifted(_bytes, a(), fixed, b()))
    return lambda: put(lifted(_bytes, a(), selector(), b()))


def _bytes(a: Any, selector: Any, b: Any) -> Any:
    whole = pair(a, b)
    ints = type(whole) is int and type(selector) is int
    if not ints:
        whole = np.asarray(whole, np.uint64)
    result: Any = 0
    for position in range(4):
        nibble = selector >> 4 * position & 15
        if ints:
            byte = whole >> 8 * (nibble & 7) & 0xFF
            if nibble & 8:
                byte = 0xFF if byte & 0x80 else 0
            result |= byte << 8 * position
        else:
            byte = whole >> np.asarray(8 * (nibble & 7), np.uint64) & np.uint64(0xFF)
            sign = np.where(byte & np.uint64(0x80), np.uint64(0xFF), np.uint64(0))
            byte = np.where(np.asarray(nibble & 8, bool), sign, byte)
            result = result | byte << np.uint64(8 * position)
    return result if ints else result.astype(np.uint32)


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


def count_bits(instruction: Instruction, state: State) -> Run | None:
    """POPC."""
    p = parts(instruction)
    put, a = state.target(p.to), state.integer(p.sources[0])
    return lambda: put(lifted(_population, a()))


def _population(a: Any) -> Any:
    if type(a) is int:
        return a.bit_count()
    a = a - (a >> np.uint32(1) & 0x55555555)
    a = (a & 0x33333333) + (a >> np.uint32(2) & 0x33333333)
    a = a + (a >> np.uint32(4)) & 0x0F0F0F0F
    return a * np.uint32(0x01010101) >> np.uint32(24)


def leading(instruction: Instruction, state: State) -> Run | None:
    """FLO: position of the highest bit that is set (for signed: that differs from the sign)."""
    p = parts(instruction)
    put, a = state.target(p.to), state.integer(p.sources[0])
    unsigned, shift = "U32" in instruction.modifiers, "SH" in instruction.modifiers
    return lambda: put(lifted(lambda value: _leading(value, unsigned, shift), a()))


def _leading(a: Any, unsigned: bool, shift: bool) -> Any:
    array = np.asarray(a, np.uint32)
    if not unsigned:
        array = np.where(array >> np.uint32(31), array ^ np.uint32(MASK), array)
    exponent = np.frexp(array.astype(np.float64))[1].astype(np.int64) - 1
    place = np.where(array == 0, MASK, 31 - exponent if shift else exponent).astype(np.uint32)
    return int(place) if type(a) is int else place


def reverse(instruction: Instruction, state: State) -> Run | None:
    """BREV."""
    p = parts(instruction)
    put, a = state.target(p.to), state.integer(p.sources[0])
    return lambda: put(lifted(_reverse, a()))


def _reverse(a: Any) -> Any:
    if type(a) is int:
        return int(f"{a:032b}"[::-1], 2)
    for by, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        a = a >> np.uint32(by) & mask | (a & mask) << np.uint32(by)
    return a >> np.uint32(16) | a << np.uint32(16)


def extend(instruction: Instruction, state: State) -> Run | None:
    """SGXT: keep the low bits, extended by their sign or by zeros."""
    p = parts(instruction)
    width = immediate(p.sources[1]) if len(p.sources) > 1 else None
    if width is None or not 0 < width <= 32:
        return None
    put, a = state.target(p.to), state.integer(p.sources[0])
    unsigned = "U32" in instruction.modifiers

    def cut(value: Any) -> Any:
        kept = value & (1 << width) - 1
        if unsigned:
            return kept
        sign = 1 << width - 1
        flipped = kept ^ sign
        return flipped - sign & MASK if type(flipped) is int else flipped - np.uint32(sign)

    return lambda: put(lifted(cut, a()))


def mask_bits(instruction: Instruction, state: State) -> Run | None:
    """BMSK: a run of ones, by position and width."""
    p = parts(instruction)
    if len(p.sources) != 2:
        return None
    put, a, b = state.target(p.to), state.integer(p.sources[0]), state.integer(p.sources[1])
    wraps = "W" in instruction.modifiers

    def ones(position: Any, width: Any) -> Any:
        at = np.asarray(position, np.uint64)
        length = np.asarray(width, np.uint64)
        if wraps:
            at, length = at & np.uint64(31), length & np.uint64(31)
        at, length = np.minimum(at, np.uint64(32)), np.minimum(length, np.uint64(32))
        run = ((np.uint64(1) << length) - np.uint64(1)) << at
        word = (run & np.uint64(MASK)).astype(np.uint32)
        return int(word) if word.ndim == 0 else word

    return lambda: put(lifted(ones, a(), b()))


def shift(instruction: Instruction, state: State) -> Run | None:
    """SHL and SHR of one word."""
    p = parts(instruction)
    if len(p.sources) != 2:
        return None
    put, a, b = state.target(p.to), state.integer(p.sources[0]), state.integer(p.sources[1])
    left, wraps = instruction.opcode.endswith("L"), "W" in instruction.modifiers
    unsigned = "U32" in instruction.modifiers

    def moved(value: Any, by: Any) -> Any:
        ints = type(value) is int and type(by) is int
        n = (
            np.asarray(by, np.uint64) & np.uint64(31)
            if wraps
            else np.minimum(np.asarray(by, np.uint64), np.uint64(63))
        )
        word = np.asarray(value, np.uint32)
        if left:
            result = (word.astype(np.uint64) << n).astype(np.uint32)
        elif unsigned:
            result = (word.astype(np.uint64) >> n).astype(np.uint32)
        else:
            result = (np.asarray(signed(word)).astype(np.int64) >> n.astype(np.int64)).astype(
                np.uint32
            )
        return int(result) if ints else result

    return lambda: put(lifted(moved, a(), b()))


BUILDERS: dict[str, Builder] = {
    **dict.fromkeys(("LOP3", "ULOP3"), logic),
    **dict.fromkeys(("SHF", "USHF"), funnel),
    **dict.fromkeys(("SHL", "SHR", "USHL", "USHR"), shift),
    **dict.fromkeys(("PRMT", "UPRMT"), permute),
    **dict.fromkeys(("SEL", "USEL"), select),
    **dict.fromkeys(("MOV", "UMOV", "MOV32I", "UR2R"), move),
    "R2UR": to_uniform,
    **dict.fromkeys(("POPC", "UPOPC"), count_bits),
    **dict.fromkeys(("FLO", "UFLO"), leading),
    **dict.fromkeys(("BREV", "UBREV"), reverse),
    **dict.fromkeys(("SGXT", "USGXT"), extend),
    **dict.fromkeys(("BMSK", "UBMSK"), mask_bits),
}
