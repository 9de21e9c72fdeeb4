"""What a register holds over all emulated threads: a value that may be unknown.

A cell is one of five things, so that the common cases cost nothing:
  int      the same known value in every thread
  array    a known value per thread (uint32, or bool for predicates)
  None     unknown in every thread
  Partly   known in some threads only
  Drift    unknown, but a sum of a known part and something that all threads of a warp may share
Operations are plain functions on ints and arrays; `lifted` makes them work on cells. Arrays are
never changed in place, so cells can be shared and kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...parsers.record import dataclass

Array = NDArray[Any]
Plain = Any  # int | Array, told apart by type(), which checkers do not narrow
MASK = 0xFFFFFFFF
SIGN = 0x80000000


@dataclass(frozen=True, slots=True, eq=False)
class Partly:
    """Values with a flag per thread that tells whether they are known."""

    values: Array
    known: Array


@dataclass(frozen=True, slots=True, eq=False)
class Drift:
    """A value of which only a part is known: the rest is data.

    `uniform` tells that the rest is the same for all threads of a warp, as after a load from one
    address: the distances between lanes are then known. Only sums and multiples keep it.
    """

    values: Plain
    uniform: bool


Cell = int | Array | None | Partly | Drift


def unknown(cell: Cell) -> bool:
    """Tell whether nothing definite is known in any thread."""
    return cell is None or type(cell) is Drift


def additive(function: Callable[..., Any], *cells: Cell) -> Any:
    """Apply a sum or multiple: what is known of a drifting value goes on."""
    if not any(unknown(cell) for cell in cells):
        return lifted(function, *cells)
    if any(type(cell) is Partly for cell in cells):
        return None
    uniform, known = True, False
    parts: list[Plain] = []
    for cell in cells:
        if cell is None:
            uniform = False
            parts.append(0)
        elif type(cell) is Drift:
            uniform = uniform and cell.uniform
            known = known or type(cell.values) is not int or cell.values != 0
            parts.append(cell.values)
        else:
            known = known or type(cell) is not int or cell != 0
            parts.append(cell)
    return Drift(function(*parts), uniform) if uniform or known else None


def wrap(value: Plain) -> Plain:
    """Cut a Python integer to 32 bits; arrays of uint32 wrap by themselves."""
    return value & MASK if type(value) is int else value


def add(a: Plain, b: Plain) -> Plain:
    """Add modulo 2^32."""
    total = a + b
    return total & MASK if type(total) is int else total


def negate(a: Plain) -> Plain:
    """Negate modulo 2^32."""
    return -a & MASK if type(a) is int else 0 - a


def invert(a: Plain) -> Plain:
    """Flip all bits."""
    return a ^ MASK


def wide(a: Plain) -> Plain:
    """Give unsigned 64-bit room."""
    return a if type(a) is int else a.astype(np.uint64)


def signed(a: Plain) -> Plain:
    """Read 32 bits as two's complement; arrays become int32."""
    if type(a) is int:
        return a - (1 << 32) if a & SIGN else a
    return a.view(np.int32)


def signed_wide(a: Plain) -> Plain:
    """Read 32 bits as two's complement, with 64-bit room."""
    if type(a) is int:
        return a - (1 << 32) if a & SIGN else a
    return a.view(np.int32).astype(np.int64)


def low(a: Plain) -> Plain:
    """Give the low word of a 64-bit value."""
    return a & MASK if type(a) is int else a.astype(np.uint32)


def high(a: Plain) -> Plain:
    """Give the high word of a 64-bit value."""
    if type(a) is int:
        return (a >> 32) & MASK
    return (a.view(np.uint64) >> np.uint64(32)).astype(np.uint32)


def pair(lo: Plain, hi: Plain) -> Plain:
    """Join two words to an unsigned 64-bit value."""
    if type(lo) is int and type(hi) is int:
        return lo | hi << 32
    return np.bitwise_or(
        np.asarray(lo, np.uint64), np.left_shift(np.asarray(hi, np.uint64), np.uint64(32))
    )


def lifted(function: Callable[..., Any], *cells: Cell) -> Any:
    """Apply a function of plain values to cells: unknown in, unknown out.

    A function that returns several values gives several cells (None for each when unknown is
    not possible to tell apart): the caller unpacks with `results`.
    """
    known: Array | None = None
    for cell in cells:
        if cell is None or type(cell) is Drift:
            return None
        if type(cell) is Partly:
            known = cell.known if known is None else known & cell.known
    if known is None:
        return function(*cells)
    plain = [cell.values if type(cell) is Partly else cell for cell in cells]
    result = function(*plain)
    if type(result) is tuple:
        return tuple(partly(each, known) for each in result)
    return partly(result, known)


def partly(value: Plain, known: Array) -> Cell:
    """Give a cell that is known in some threads."""
    if known.all():
        return cast(Cell, value)
    if not known.any():
        return None
    kind = np.bool_ if isinstance(value, (bool, np.bool_)) else np.uint32
    values = np.full(known.shape, value, kind) if not isinstance(value, np.ndarray) else value
    return Partly(values, known)


def merge(mask: Array, new: Cell, old: Cell) -> Cell:
    """Give `new` in the threads of the mask and `old` in the others."""
    if new is old:
        return new
    if type(new) is Drift or type(old) is Drift:
        return _merge_drift(mask, new, old)
    if new is not None and old is not None and type(new) is not Partly and type(old) is not Partly:
        if isinstance(new, int) and isinstance(old, int):
            if new == old:
                return new
            return np.asarray(np.where(mask, _typed(new), _typed(old)))
        both: tuple[Any, Any] = (new, old)
        return np.asarray(np.where(mask, *both).astype(_kind(new, old), copy=False))
    size = mask.shape
    new_known, old_known = known_in(new, size), known_in(old, size)
    known = np.where(mask, new_known, old_known)
    if not known.any():
        return None
    values = np.where(mask, _values(new, old, size), _values(old, new, size))
    return Partly(values, known) if not known.all() else values


def _merge_drift(mask: Array, new: Cell, old: Cell) -> Cell:
    if not (unknown(new) and unknown(old)):
        return None
    uniform = all(type(cell) is not Drift or cell.uniform for cell in (new, old))
    values = [cell.values if type(cell) is Drift else 0 for cell in (new, old)]
    if new is None:
        return None
    return Drift(np.where(mask, *values).astype(np.uint32), uniform)


def known_in(cell: Cell, shape: tuple[int, ...]) -> Array:
    """Tell in which threads a cell is known."""
    if cell is None or type(cell) is Drift:
        return np.zeros(shape, np.bool_)
    if type(cell) is Partly:
        return cell.known
    return np.ones(shape, np.bool_)


def plain_values(cell: Cell, shape: tuple[int, ...]) -> Array:
    """Give a value per thread; 0 where unknown everywhere."""
    if cell is None:
        return np.zeros(shape, np.uint32)
    if type(cell) is Drift:
        return plain_values(cell.values, shape)
    if type(cell) is Partly:
        return cell.values
    if isinstance(cell, np.ndarray):
        return cell
    return np.full(shape, cell, np.bool_ if isinstance(cell, bool) else np.uint32)


def same(a: Cell, b: Cell) -> bool:
    """Tell whether two cells hold the same knowledge."""
    if a is b:
        return True
    if unknown(a) or unknown(b):
        return unknown(a) and unknown(b)
    if type(a) is Partly or type(b) is Partly:
        return (
            type(a) is Partly
            and type(b) is Partly
            and np.array_equal(a.known, b.known)
            and bool(((a.values == b.values) | ~a.known).all())
        )
    return bool(np.all(a == b))


def _typed(value: int) -> Any:
    return np.bool_(value) if isinstance(value, bool) else np.uint32(value)


def _kind(a: Any, b: Any) -> Any:
    for value in (a, b):
        if isinstance(value, np.ndarray):
            return value.dtype
    return np.uint32


def _values(cell: Cell, other: Cell, shape: tuple[int, ...]) -> Array:
    if cell is None:
        return np.zeros(shape, plain_values(other, shape).dtype)
    return plain_values(cell, shape)
