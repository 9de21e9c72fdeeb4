"""Floating point, as far as control flow and integer division need it.

Single precision as the hardware rounds it; MUFU.RCP is rounded correctly here where the hardware
may be one unit off, which the compiler's division sequences correct for.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...parsers.listing import Instruction, Operand
from .compare import joined, relation
from .integer import write_long
from .logic import choose
from .parts import Builder, Run, parts
from .state import Getter, State
from .values import MASK, lifted

_ROUND: dict[str, Callable[[Any], Any]] = {
    "TRUNC": np.trunc, "FLOOR": np.floor, "CEIL": np.ceil,
}  # fmt: skip


def single(bits: Any) -> Any:
    """Read bits as single precision."""
    return np.asarray(bits, np.uint32).view(np.float32)


def bits_of(value: Any) -> Any:
    """Give the bits of a single-precision value; one value becomes an int."""
    word = np.asarray(value, np.float32).view(np.uint32)
    return int(word) if word.ndim == 0 else word


def _source(state: State, operand: Operand) -> Getter:
    """Read a float operand as bits, its sign changed where the operand says so."""
    if operand.kind == "immediate":
        value = operand.value if operand.value is not None else 0.0
        constant = bits_of(np.float32(value)) if value == value else 0x7FFFFFFF
        return lambda: constant
    get = state.bits(operand)
    if operand.absolute:
        inner = get
        get = lambda: lifted(lambda v: v & 0x7FFFFFFF, inner())  # noqa: E731
    if operand.negated:
        plain = get
        return lambda: lifted(lambda v: v ^ 0x80000000, plain())
    return get


def _elementwise(function: Callable[..., Any]) -> Callable[[Instruction, State], Run | None]:
    """Make a builder for an operation on single-precision values.

    The function gets double precision, in which sums and products of singles are exact (a fused
    multiply-add nearly so), and the result is rounded once.
    """

    def build(instruction: Instruction, state: State) -> Run | None:
        p = parts(instruction)
        put = state.target(p.to)
        sources = [_source(state, operand) for operand in p.sources]
        direction = next((m for m in instruction.modifiers if m in ("RZ", "RP", "RM")), "RN")

        def compute(*words: Any) -> Any:
            with np.errstate(all="ignore"):
                exact = function(*(single(word).astype(np.float64) for word in words))
                return bits_of(rounded(exact, direction))

        return lambda: put(lifted(compute, *(source() for source in sources)))

    return build


def rounded(exact: Any, direction: str) -> Any:
    """Round double to single precision: to nearest, to zero (RZ), up (RP) or down (RM)."""
    nearest = np.asarray(exact).astype(np.float32)
    if direction == "RN":
        return nearest
    if direction == "RZ":
        wrong = np.abs(nearest.astype(np.float64)) > np.abs(exact)
        goal = np.float32(0)
    else:
        up = direction == "RP"
        wrong = nearest < exact if up else nearest > exact
        goal = np.float32(np.inf if up else -np.inf)
    return np.where(wrong, np.nextafter(nearest, goal), nearest)


def float_extreme(instruction: Instruction, state: State) -> Run | None:
    """FMNMX: smaller with PT, larger with !PT."""
    p = parts(instruction)
    if len(p.sources) != 2 or not p.conditions:
        return None
    put, a, b = state.target(p.to), *(_source(state, operand) for operand in p.sources)
    smaller = state.predicate(p.conditions[0])

    def run() -> None:
        left, right = a(), b()
        low = lifted(lambda x, y: bits_of(np.fmin(single(x), single(y))), left, right)
        high = lifted(lambda x, y: bits_of(np.fmax(single(x), single(y))), left, right)
        put(choose(smaller(), low, high, np.uint32))

    return run


def float_select(instruction: Instruction, state: State) -> Run | None:
    """FSEL."""
    p = parts(instruction)
    if len(p.sources) != 2 or not p.conditions:
        return None
    put, a, b = state.target(p.to), *(_source(state, operand) for operand in p.sources)
    condition = state.predicate(p.conditions[0])
    return lambda: put(choose(condition(), a(), b(), np.uint32))


_ORDERED: dict[str, Callable[[Any, Any], Any]] = {
    "LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal,
    "EQ": np.equal, "NE": lambda a, b: (a < b) | (a > b),
}  # fmt: skip
_UNORDERED = {"LTU": "GE", "LEU": "GT", "GTU": "LE", "GEU": "LT", "EQU": "NE", "NEU": "EQ"}


def float_predicate(instruction: Instruction, state: State) -> Run | None:
    """FSETP and DSETP; a relation with U also holds for operands that do not compare."""
    operands = instruction.operands
    name = relation(instruction.modifiers)
    opposite = next((_UNORDERED[m] for m in instruction.modifiers if m in _UNORDERED), None)
    if len(operands) < 5 or (name is None and opposite is None):
        return None
    true, false = state.target(operands[0]), state.target(operands[1])
    double = instruction.opcode == "DSETP"
    read = _double_source if double else _source
    view = _double if double else single
    a, b = read(state, operands[2]), read(state, operands[3])
    also = state.predicate(operands[4])
    join = operator.or_ if "OR" in instruction.modifiers else operator.and_

    def test(x: Any, y: Any) -> Any:
        with np.errstate(all="ignore"):
            result = (
                _ORDERED[name](view(x), view(y))
                if name
                else ~_ORDERED[opposite or ""](view(x), view(y))
            )
        return bool(result) if np.ndim(result) == 0 else result

    def run() -> None:
        result, other = lifted(test, a(), b()), also()
        true(joined(join, result, other))
        false(joined(join, lifted(_not, result), other))

    return run


def _not(value: Any) -> Any:
    return not value if isinstance(value, bool) else ~value


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
            state, p.to, lambda: lifted(lambda w: _bits64(value(w).astype(np.float64)), get())
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
    source = _double_source(state, p.sources[0]) if double else _source(state, p.sources[0])
    view = _double if double else single
    rounding = next((_ROUND[m] for m in modifiers if m in _ROUND), np.rint)
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


def special_function(instruction: Instruction, state: State) -> Run | None:
    """MUFU on single precision."""
    functions: dict[str, Callable[[Any], Any]] = {
        "RCP": lambda x: 1 / x, "RSQ": lambda x: 1 / np.sqrt(x),
        "SQRT": np.sqrt, "EX2": np.exp2, "LG2": np.log2, "TANH": np.tanh,
        "SIN": lambda x: np.sin(x * (2 * np.pi)), "COS": lambda x: np.cos(x * (2 * np.pi)),
    }  # fmt: skip
    name = next((m for m in instruction.modifiers if m in functions), None)
    if name is None:
        return None
    return _elementwise(functions[name])(instruction, state)


def float_to_float(instruction: Instruction, state: State) -> Run | None:
    """F2F between single and double precision, and FRND."""
    p = parts(instruction)
    kinds = [m for m in instruction.modifiers if m in ("F16", "F32", "F64", "BF16")]
    if instruction.opcode == "FRND" and not kinds:
        rounding = next((_ROUND[m] for m in instruction.modifiers if m in _ROUND), np.rint)
        return _elementwise(rounding)(instruction, state)
    if kinds[:2] == ["F64", "F32"]:
        get = _source(state, p.sources[0])
        return write_long(
            state, p.to, lambda: lifted(lambda w: _bits64(single(w).astype(np.float64)), get())
        )
    if kinds[:2] == ["F32", "F64"]:
        put, long = state.target(p.to), _double_source(state, p.sources[0])
        return lambda: put(lifted(lambda w: bits_of(_double(w).astype(np.float32)), long()))
    return None


def _double(word: Any) -> Any:
    return np.asarray(word, np.uint64).view(np.float64)


def _bits64(value: Any) -> Any:
    word = np.asarray(value, np.float64).view(np.uint64)
    return int(word) if word.ndim == 0 else word


def _double_source(state: State, operand: Operand) -> Getter:
    if operand.kind == "immediate":
        constant = _bits64(np.float64(operand.value if operand.value is not None else 0.0))
        return lambda: constant
    plain = Operand(
        operand.text.lstrip("-|"), operand.kind, operand.registers, operand.uniforms,
        offset=operand.offset, bank=operand.bank, space=operand.space,
    )  # fmt: skip
    get = state.long(plain)
    if operand.absolute:
        inner = get
        get = lambda: lifted(lambda v: v & ((1 << 63) - 1), inner())  # noqa: E731
    if not operand.negated:
        return get
    positive = get
    return lambda: lifted(lambda v: v ^ (1 << 63), positive())


def double_arithmetic(instruction: Instruction, state: State) -> Run | None:
    """DADD, DMUL, DFMA."""
    p = parts(instruction)
    sources = [_double_source(state, operand) for operand in p.sources]
    functions: dict[str, Callable[..., Any]] = {
        "DADD": lambda a, b: a + b, "DMUL": lambda a, b: a * b, "DFMA": lambda a, b, c: a * b + c,
    }  # fmt: skip
    function = functions[instruction.opcode]

    def compute(*words: Any) -> Any:
        with np.errstate(all="ignore"):
            return _bits64(function(*map(_double, words)))

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
    "FADD": _elementwise(lambda a, b: a + b),
    "FMUL": _elementwise(lambda a, b: a * b),
    "FFMA": _elementwise(lambda a, b, c: a * b + c),
    "FMNMX": float_extreme,
    "FSEL": float_select,
    **dict.fromkeys(("FSETP", "DSETP"), float_predicate),
    **dict.fromkeys(("I2F", "I2FP", "UI2F", "UI2FP"), integer_to_float),
    **dict.fromkeys(("F2I", "UF2I"), float_to_integer),
    "MUFU": special_function,
    **dict.fromkeys(("F2F", "FRND"), float_to_float),
    **dict.fromkeys(("DADD", "DMUL", "DFMA"), double_arithmetic),
    "HFMA2": half_constant,
}
