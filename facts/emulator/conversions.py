"""Conversions between integers and floats, and the few operations on doubles and halves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...parsers.listing import Instruction, Operand
from .floats import (
    ROUNDING,
    bits64,
    bits_of,
    double_source,
    elementwise,
    float_source,
    single,
    to_double,
)
from .integer import write_long
from .parts import Builder, Run, parts
from .state import State
from .values import MASK, lifted


def integer_to_float(instruction: Instruction, state: State) -> Run | None:
    """I2F and I2FP from 8 to 64 bits, rounded to nearest, up or towards zero."""
    p = parts(instruction)
    modifiers = set(instruction.modifiers)
    if modifiers & {"F16", "BF16"}:
        return None
    long = bool(modifiers & {"U64", "S64"})
    unsigned = bool(modifiers & {"U32", "U64", "U16", "U8"})
    width = next((w for w in (8, 16) if modifiers & {f"U{w}", f"S{w}"}), 64 if long else 32)
    source = p.sources[0]
    get = state.long(source) if long else state.integer(source)
    byte = next((int(s[1]) for s in source.suffixes if s in ("B1", "B2", "B3")), 0)
    byte = byte or 2 * ("H1" in source.suffixes)
    upward, down = "RP" in modifiers, "RZ" in modifiers

    def value(word: Any) -> Any:
        number = np.asarray(word, np.uint64) >> np.uint64(8 * byte)
        if width < 64:
            number = number & np.uint64((1 << width) - 1)
        if unsigned:
            return number
        shifted = number << np.uint64(64 - width)
        return shifted.view(np.int64) >> np.int64(64 - width)

    if "F64" in modifiers:
        return write_long(
            state,
            p.to,
            lambda: lifted(lambda w: bits64(value(w).astype(np.float64)), get()),
        )
    put = state.target(p.to)

    def convert(word: Any) -> Any:
        exact = value(word)
        nearest = exact.astype(np.float32)
        if upward:
            nearest = np.where(
                _exceeds(exact, nearest), np.nextafter(nearest, np.float32(np.inf)), nearest
            )
        elif down:
            over = _exceeds(nearest, exact) if unsigned else np.abs(nearest) > np.abs(exact)
            nearest = np.where(over, np.nextafter(nearest, np.float32(0)), nearest)
        return bits_of(nearest)

    return lambda: put(lifted(convert, get()))


def _exceeds(a: Any, b: Any) -> Any:
    """Compare an integer with its single-precision neighbour exactly."""
    return np.asarray(a, np.longdouble) > np.asarray(b, np.longdouble)


def float_to_integer(instruction: Instruction, state: State) -> Run | None:
    """F2I to 32 or 64 bits, saturating."""
    p = parts(instruction)
    modifiers = instruction.modifiers
    double = "F64" in modifiers
    if {"F16", "U8", "S8", "U16", "S16"} & set(modifiers):
        return None
    source = double_source(state, p.sources[0]) if double else float_source(state, p.sources[0])
    view = to_double if double else single
    rounding = next((ROUNDING[m] for m in modifiers if m in ROUNDING), np.rint)
    unsigned = "U32" in modifiers or "U64" in modifiers
    long = "U64" in modifiers or "S64" in modifiers
    least = 0 if unsigned else -(1 << (63 if long else 31))
    most = (1 << (64 if long else 32)) - 1 if unsigned else (1 << (63 if long else 31)) - 1

    def convert(word: Any) -> Any:
        with np.errstate(all="ignore"):
            value = rounding(view(word).astype(np.longdouble))
            value = np.clip(
                np.nan_to_num(value, nan=0.0), np.longdouble(least), np.longdouble(most)
            )
            integer = (
                value.astype(np.uint64) if unsigned else value.astype(np.int64).view(np.uint64)
            )
        if long:
            return int(integer) if integer.ndim == 0 else integer
        integer = integer & np.uint64(MASK)
        return int(integer) if integer.ndim == 0 else integer.astype(np.uint32)

    if long:
        return write_long(state, p.to, lambda: lifted(convert, source()))
    put = state.target(p.to)
    return lambda: put(lifted(convert, source()))


def float_to_float(instruction: Instruction, state: State) -> Run | None:
    """F2F between single and double precision, and FRND."""
    p = parts(instruction)
    kinds = [m for m in instruction.modifiers if m in ("F16", "F32", "F64", "BF16")]
    if instruction.opcode == "FRND" and not kinds:
        rounding = next((ROUNDING[m] for m in instruction.modifiers if m in ROUNDING), np.rint)
        return elementwise(rounding)(instruction, state)
    if kinds[:2] == ["F64", "F32"]:
        get = float_source(state, p.sources[0])
        return write_long(
            state,
            p.to,
            lambda: lifted(lambda w: bits64(single(w).astype(np.float64)), get()),
        )
    if kinds[:2] == ["F32", "F64"]:
        put, long = state.target(p.to), double_source(state, p.sources[0])
        return lambda: put(lifted(lambda w: bits_of(to_double(w).astype(np.float32)), long()))
    return None


def double_arithmetic(instruction: Instruction, state: State) -> Run | None:
    """DADD, DMUL, DFMA."""
    p = parts(instruction)
    sources = [double_source(state, operand) for operand in p.sources]
    functions: dict[str, Callable[..., Any]] = {
        "DADD": lambda a, b: a + b, "DMUL": lambda a, b: a * b, "DFMA": lambda a, b, c: a * b + c,
    }  # fmt: skip
    function = functions[instruction.opcode]

    def compute(*words: Any) -> Any:
        with np.errstate(all="ignore"):
            return bits64(function(*map(to_double, words)))

    return write_long(state, p.to, lambda: lifted(compute, *(source() for source in sources)))


def _half_bits(operand: Operand) -> int:
    value = operand.value if operand.value is not None else 0.0
    if value != value:  # the hardware's quiet NaN has all bits set
        return 0xFFFF if operand.text.startswith("-") else 0x7FFF
    return int(np.float16(value).view(np.uint16))


def half_constant(instruction: Instruction, state: State) -> Run | None:
    """HFMA2 of zeros: how compilers move a constant through the half-precision pipe."""
    p = parts(instruction)
    if len(p.sources) != 4 or any(s.text.lstrip("-") != "RZ" for s in p.sources[:2]):
        return None
    if any(s.kind != "immediate" for s in p.sources[2:]) or "BF16_V2" in instruction.modifiers:
        return None
    high, low = map(_half_bits, p.sources[2:])
    value = high << 16 | low
    put = state.target(p.to)
    return lambda: put(value)


BUILDERS: dict[str, Builder] = {
    **dict.fromkeys(("I2F", "I2FP", "UI2F", "UI2FP"), integer_to_float),
    **dict.fromkeys(("F2I", "UF2I"), float_to_integer),
    **dict.fromkeys(("F2F", "FRND"), float_to_float),
    **dict.fromkeys(("DADD", "DMUL", "DFMA"), double_arithmetic),
    "HFMA2": half_constant,
}
