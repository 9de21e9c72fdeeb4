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
from .moves import choose
from .parts import Builder, Run, parts
from .state import Getter, State
from .values import lifted

ROUNDING: dict[str, Callable[[Any], Any]] = {
    "TRUNC": np.trunc, "FLOOR": np.floor, "CEIL": np.ceil,
}  # fmt: skip


def single(bits: Any) -> Any:
    """Read bits as single precision."""
    return np.asarray(bits, np.uint32).view(np.float32)


def bits_of(value: Any) -> Any:
    """Give the bits of a single-precision value; one value becomes an int."""
    word = np.asarray(value, np.float32).view(np.uint32)
    return int(word) if word.ndim == 0 else word


def float_source(state: State, operand: Operand) -> Getter:
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


def elementwise(function: Callable[..., Any]) -> Callable[[Instruction, State], Run | None]:
    """Make a builder for an operation on single-precision values.

    The function gets double precision, in which sums and products of singles are exact (a fused
    multiply-add nearly so), and the result is rounded once.
    """

    def build(instruction: Instruction, state: State) -> Run | None:
        p = parts(instruction)
        put = state.target(p.to)
        sources = [float_source(state, operand) for operand in p.sources]
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
    put, a, b = state.target(p.to), *(float_source(state, operand) for operand in p.sources)
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
    put, a, b = state.target(p.to), *(float_source(state, operand) for operand in p.sources)
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
    read = double_source if double else float_source
    view = to_double if double else single
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
    return elementwise(functions[name])(instruction, state)


def to_double(word: Any) -> Any:
    return np.asarray(word, np.uint64).view(np.float64)


def bits64(value: Any) -> Any:
    word = np.asarray(value, np.float64).view(np.uint64)
    return int(word) if word.ndim == 0 else word


def double_source(state: State, operand: Operand) -> Getter:
    if operand.kind == "immediate":
        constant = bits64(np.float64(operand.value if operand.value is not None else 0.0))
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


BUILDERS: dict[str, Builder] = {
    "FADD": elementwise(lambda a, b: a + b),
    "FMUL": elementwise(lambda a, b: a * b),
    "FFMA": elementwise(lambda a, b, c: a * b + c),
    "FMNMX": float_extreme,
    "FSEL": float_select,
    **dict.fromkeys(("FSETP", "DSETP"), float_predicate),
    "MUFU": special_function,
}
