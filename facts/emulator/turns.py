"""Differences of cells from window to window, and when a comparison of linear values turns."""

from __future__ import annotations

from typing import Any

import numpy as np

from .values import Array, Cell, Partly, same, unknown

NEVER = 1 << 40


def is_zero(change: Any) -> bool:
    return not np.any(change)


def as_signed(delta: Any) -> Any:
    return (np.asarray(delta).astype(np.int64) + (1 << 31)) % (1 << 32) - (1 << 31)


def until_turn(name: str, unsigned: bool, values: Any, deltas: Any, lanes: Array) -> int:
    """Count windows until a comparison first gives another result, over the given threads."""
    a, b = (_number(value, unsigned) for value in values)
    da, db = (as_signed(delta) for delta in deltas)
    x, dx = np.broadcast_arrays(a - b, da - db)
    if x.ndim and x.shape == lanes.shape:
        x, dx = x[lanes], dx[lanes]
    x, dx = np.atleast_1d(x), np.atleast_1d(dx)
    wrap = min(_until_leaving(a, da, unsigned), _until_leaving(b, db, unsigned))
    if not np.any(dx):
        return wrap
    size = np.maximum(np.abs(dx), 1)
    if name in ("EQ", "NE"):
        meets = (dx != 0) & (x * -np.sign(dx) > 0) & (np.abs(x) % size == 0)
        count = np.where(meets, np.abs(x) // size, NEVER)
        count = np.where((x == 0) & (dx != 0), 1, count)
        return min(wrap, int(count.min()))
    if name in ("LE", "GT"):  # turns where x leaves or enters x <= 0
        rising = np.where(x <= 0, -x // size + 1, NEVER)
        falling = np.where(x > 0, -(-x // size), NEVER)
    else:  # LT, GE: x < 0
        rising = np.where(x < 0, -(x // size), NEVER)
        falling = np.where(x >= 0, x // size + 1, NEVER)
    count = np.where(dx > 0, rising, np.where(dx < 0, falling, NEVER))
    return min(wrap, int(count.min()))


def _until_leaving(value: Any, delta: Any, unsigned: bool) -> int:
    """Count windows until a value leaves the range of its type."""
    low, high = (0, (1 << 32) - 1) if unsigned else (-(1 << 31), (1 << 31) - 1)
    value, delta = np.broadcast_arrays(value, delta)
    size = np.maximum(np.abs(delta), 1)
    count = np.where(delta > 0, (high - value) // size + 1, (value - low) // size + 1)
    return int(np.min(np.where(delta == 0, NEVER, count)))


def _number(value: Any, unsigned: bool) -> Any:
    number = np.asarray(value).astype(np.int64)
    return number if unsigned else (number + (1 << 31)) % (1 << 32) - (1 << 31)


def change_of(a: Cell, b: Cell) -> Any:
    """Give b - a modulo 2^32, 0 for equal cells, None where that cannot be said."""
    if same(a, b):
        return 0
    for cell in (a, b):
        if unknown(cell) or type(cell) is Partly or isinstance(cell, bool):
            return None
        if getattr(cell, "dtype", None) == np.bool_:
            return None
    result = b - a  # type: ignore[operator]
    return result & 0xFFFFFFFF if type(result) is int else result
