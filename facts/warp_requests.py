"""The requests of a memory instruction: a row of 32 addresses per warp, and what is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..parsers.record import dataclass
from .emulator.emulate import Emulation
from .emulator.launch import array_of
from .emulator.trace import Touch
from .emulator.values import Cell, Drift, known_in, plain_values, unknown

Array = NDArray[Any]
WARP = 32
CHUNK_LANES = 1 << 19  # lanes handled at once, which bounds memory
PERIOD = np.uint64(512)  # bytes; no count of `wavefronts` changes when a row moves by so many
WORD = (1 << 32) - 1
MOST_COLUMNS = 2 * WARP + 1
MIXER = np.multiply.accumulate(np.full(MOST_COLUMNS, 0x9E3779B97F4A7C15, np.uint64))  # all odd


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


def merged(requests: Requests) -> Requests:
    """Give requests of one shape as one row, with their weights together: the counts are the same.

    Two rows have one shape where the same lanes ask for the same places, 512 bytes or a multiple
    further on. Rows are told apart by a hash; where two shapes meet in one, nothing is merged.
    """
    shape = _shapes(requests)
    order = np.argsort(shape @ MIXER[: shape.shape[1]], kind="stable")
    ordered = shape[order]
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    starts = np.flatnonzero(fresh)
    first = order[starts]
    return Requests(
        addresses=requests.addresses[first],
        targets=None if requests.targets is None else requests.targets[first],
        active=requests.active[first],
        known=requests.known[first],
        data=requests.data[first],
        weight=np.add.reduceat(requests.weight[order], starts),
        uncertain=requests.uncertain[first],
    )


@dataclass(frozen=True, slots=True)
class _Spread:
    """Distances of all lanes to the first one, numbered, and the ends of them in bytes."""

    number: int
    least: int
    greatest: int


class Shapes:
    """Tells what the counts of an instruction depend on, for many instructions of one emulation.

    As for rows: the same lanes at the same places, a multiple of 512 bytes further on. Addresses
    of many instructions are the same registers with other offsets, so those are looked at once.
    """

    def __init__(self) -> None:
        self._spreads: dict[bytes, _Spread] = {}
        self._known: dict[int, tuple[int, _Spread]] = {}  # by identity of the registers
        self._lanes: dict[int, bytes] = {}

    def of(self, touches: Sequence[Touch]) -> tuple[object, ...] | None:
        """Give the shape of an instruction; None where it is not compared."""
        shapes = [self._shape(touch) for touch in touches]
        return None if None in shapes else (touches[0].instruction.mnemonic, *shapes)

    def _shape(self, touch: Touch) -> tuple[object, ...] | None:
        base, high, offset = touch.base, touch.high, touch.offset
        if touch.shared_low is not None or not isinstance(base, np.ndarray):
            return None
        if type(high) is np.ndarray and (high != high[0]).any():
            return None
        if high is not None and type(high) not in (int, np.ndarray):
            return None
        known = self._known.get(id(base))
        if known is None:
            known = self._known[id(base)] = (int(base[0]), self._spread(base - base[0]))
        place, spread = known[0] + offset & WORD, known[1]
        if place + spread.least < 0 or place + spread.greatest > WORD:
            return None  # a difference of low words alone would not tell the distance
        lanes = self._lanes.get(id(touch.lanes))
        if lanes is None:
            lanes = self._lanes[id(touch.lanes)] = touch.lanes.tobytes()
        return (lanes, touch.weight, touch.uncertain, spread.number, place % int(PERIOD))

    def _spread(self, distances: Array) -> _Spread:
        key = distances.tobytes()
        found = self._spreads.get(key)
        if found is None:
            signed = distances.view(np.int32)
            found = _Spread(len(self._spreads), int(signed.min()), int(signed.max()))
            self._spreads[key] = found
        return found


def _shapes(requests: Requests) -> Array:
    """Give what the counts of a row depend on, as rows of whole numbers."""
    tables = [requests.addresses] + ([] if requests.targets is None else [requests.targets])
    moved = [table - table[:, :1] // PERIOD * PERIOD for table in tables]
    flags = np.stack([requests.known, requests.data, requests.uncertain], axis=1)
    bits = np.packbits(np.concatenate([requests.active, flags], axis=1), axis=1)
    padded = np.zeros((len(bits), 8), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.concatenate([*moved, padded.view(np.uint64)], axis=1)


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
