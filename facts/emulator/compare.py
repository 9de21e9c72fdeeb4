"""Comparisons of integers, and how they join other predicates."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...parsers.listing import Instruction
from .parts import Builder, Run
from .state import State
from .values import Cell, Partly, known_in, lifted, partly, plain_values, signed, unknown

_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge,
    "EQ": operator.eq, "NE": operator.ne,
}  # fmt: skip
_JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "AND": operator.and_, "OR": operator.or_, "XOR": operator.xor,
}  # fmt: skip


def relation(modifiers: tuple[str, ...]) -> str | None:
    """Give the relation that a comparison's modifiers name."""
    return next((name for name in modifiers if name in _RELATIONS), None)


def set_predicate(instruction: Instruction, state: State) -> Run | None:
    """ISETP: two predicates, the comparison and its opposite, each joined with a third one."""
    modifiers = instruction.modifiers
    name = relation(modifiers)
    operands = instruction.operands
    if name is None or len(operands) < 5:
        return None
    true, false = state.target(operands[0]), state.target(operands[1])
    long = "U64" in modifiers or "S64" in modifiers
    read = state.long if long else state.integer
    a, b = read(operands[2]), read(operands[3])
    also = state.predicate(operands[4])
    join = next((_JOINS[m] for m in modifiers if m in _JOINS), operator.and_)
    unsigned = "U32" in modifiers or "U64" in modifiers
    test = _comparison(name, unsigned, long)
    carried = state.predicate(operands[5]) if "EX" in modifiers and len(operands) > 5 else None
    extended = _extended(name, unsigned)

    def run() -> Any:
        left, right, other = a(), b(), also()
        if carried is None:
            result = lifted(test, left, right)
        else:
            result = lifted(extended, left, right, carried())
        true(joined(join, result, other))
        false(joined(join, lifted(_opposite, result), other))
        return left, right

    return run


def joined(join: Any, a: Cell, b: Cell) -> Any:
    """Join two predicates; one that decides alone makes the result known."""
    deciding = {operator.and_: False, operator.or_: True}.get(join)
    if deciding is None or (_whole(a) and _whole(b)):
        return lifted(join, a, b)
    for cell in (a, b):
        if cell is deciding:
            return deciding
    arrays = [c for c in (a, b) if isinstance(c, (np.ndarray, Partly))]
    if not arrays:
        return lifted(join, a, b)
    first = arrays[0]
    shape = first.values.shape if isinstance(first, Partly) else first.shape
    values = [plain_values(c, shape).astype(np.bool_) for c in (a, b)]
    known = [known_in(c, shape) for c in (a, b)]
    sure = known[0] & known[1]
    for value, is_known in zip(values, known, strict=True):
        sure = sure | is_known & (value == deciding)
    decided = (
        np.where(known[0], values[0], not deciding),
        np.where(known[1], values[1], not deciding),
    )
    return partly(join(*decided), sure)


def _whole(cell: Cell) -> bool:
    return not unknown(cell) and type(cell) is not Partly


def _opposite(value: Any) -> Any:
    return not value if isinstance(value, bool) else ~value


def _comparison(name: str, unsigned: bool, long: bool) -> Callable[[Any, Any], Any]:
    test = _RELATIONS[name]
    if unsigned or name in ("EQ", "NE"):
        return lambda a, b: plain_of(test(a, b))
    if long:
        return lambda a, b: plain_of(test(_signed_long(a), _signed_long(b)))
    return lambda a, b: plain_of(test(signed(a), signed(b)))


def _signed_long(a: Any) -> Any:
    if type(a) is int:
        return a - (1 << 64) if a >> 63 else a
    return a.view(np.int64)


def plain_of(value: Any) -> Any:
    return bool(value) if np.ndim(value) == 0 else value


def _extended(name: str, unsigned: bool) -> Callable[[Any, Any, Any], Any]:
    """Compare high words; equal ones leave it to the comparison of the low words."""

    def test(a: Any, b: Any, low: Any) -> Any:
        equal = a == b
        if name == "EQ":
            return plain_of(equal & low)
        if name == "NE":
            return plain_of((a != b) | low)
        strict = _RELATIONS[name[0] + "T"]
        apart = strict(a, b) if unsigned else strict(signed(a), signed(b))
        return plain_of(apart | (equal & low))

    return test


BUILDERS: dict[str, Builder] = {
    **dict.fromkeys(("ISETP", "UISETP"), set_predicate),
}
