"""Bits: three-input logic, shifts and byte permutation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...parsers.listing import Instruction
from .parts import Builder, Run, immediate, parts
from .state import State
from .values import MASK, Plain, lifted, pair, signed


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
}
