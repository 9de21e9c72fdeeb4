"""The requests of a memory instruction: a row of 32 addresses per warp, and what is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .emulator.emulate import Emulation
from .emulator.launch import array_of
from .emulator.trace import Touch
from .emulator.values import Cell, Drift, known_in, plain_values, unknown

Array = NDArray[Any]
WARP = 32
CHUNK_LANES = 1 << 19  # lanes handled at once, which bounds memory


@dataclass
class Requests:
    """Warp requests of one instruction, stacked: one row of 32 lanes each.

    `weight` is the number of executions over the launch that a row stands for.
    """

    addresses: Array  # uint64 (rows, 32); inactive lanes repeat an active one
    targets: Array | None  # the same in shared memory, for copies into it
    active: Array  # bool (rows, 32)
    known: Array  # bool (rows,): at least the distances between lanes
    data: Array  # bool (rows,): the place is data
    weight: Array  # float (rows,)
    uncertain: Array  # bool (rows,): the guard is unknown

    @property
    def lanes(self) -> Array:
        """Active lanes per row."""
        return np.asarray(self.active.sum(axis=1).astype(float))


def stacked(emulation: Emulation, touches: Sequence[Touch]) -> Iterator[Requests]:
    """Stack the warps of many executions of one instruction, a chunk at a time."""
    size = emulation.launch.size
    per_chunk = max(1, CHUNK_LANES // size)
    for start in range(0, len(touches), per_chunk):
        yield _stack(emulation, touches[start : start + per_chunk])


def _stack(emulation: Emulation, touches: Sequence[Touch]) -> Requests:
    launch = emulation.launch
    shape = (len(touches), launch.size)
    addresses, known, data = (np.empty(shape, t) for t in (np.uint64, np.bool_, np.bool_))
    copies = touches[0].shared_low is not None
    targets = np.empty(shape, np.uint64) if copies else None
    for i, touch in enumerate(touches):
        addresses[i], known[i], data[i] = _places(touch.low, (launch.size,))
        if touch.high is not None:
            high = plain_values(touch.high, (launch.size,)).astype(np.uint64)
            addresses[i] |= high << np.uint64(32)
        if targets is not None:
            targets[i] = plain_values(touch.shared_low, (launch.size,))
    active = np.stack([touch.lanes for touch in touches]).reshape(-1, WARP)
    used = active.any(axis=1)
    lanes = active[used]
    by_warp = np.repeat(launch.weights, launch.warps)
    weights = np.array([touch.weight for touch in touches])[:, None] * by_warp[None, :]
    uncertain = np.repeat(np.array([t.uncertain for t in touches]), launch.size // WARP)
    return Requests(
        addresses=_filled(addresses.reshape(-1, WARP)[used], lanes),
        targets=None if targets is None else _filled(targets.reshape(-1, WARP)[used], lanes),
        active=lanes,
        known=(known.reshape(-1, WARP)[used] | ~lanes).all(axis=1),
        data=(data.reshape(-1, WARP)[used] & lanes).any(axis=1),
        weight=weights.reshape(-1)[used],
        uncertain=uncertain[used],
    )


def _places(cell: Cell, shape: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Give values, where the distances between lanes are known, and where the place is data."""
    sure = known_in(cell, shape)
    return plain_values(cell, shape), sure | (type(cell) is Drift and cell.uniform), ~sure


def _filled(table: Array, active: Array) -> Array:
    """Let lanes that do nothing repeat the first one that does."""
    first = active.argmax(axis=1)
    return np.where(active, table, table[np.arange(len(table)), first][:, None])


def random_lanes(emulation: Emulation, touches: Sequence[Touch]) -> dict[int, float]:
    """Count lanes at unknown places by the array whose address went into the sum (-1: unknown)."""
    launch = emulation.launch
    found: dict[int, float] = {}
    for touch in touches:
        if not unknown(touch.low) or (type(touch.low) is Drift and touch.low.uniform):
            continue
        high = int(plain_values(touch.high, (launch.size,))[touch.lanes.argmax()])
        array = array_of(high << 32) if high else -1
        by_sample = touch.lanes.reshape(len(launch.samples), -1).sum(axis=1)
        found[array] = found.get(array, 0.0) + float(launch.weights @ by_sample) * touch.weight
    return found
