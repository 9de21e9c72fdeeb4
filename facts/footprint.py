"""Which bytes of each array a launch touches, and how often DRAM must bring them.

One block's distinct sectors come from its emulated accesses. How blocks overlap is read off where
the sampled blocks start in an array: a start that does not move along a grid axis means that the
blocks of that axis share the data. Shared data is fetched again when what lies between two uses
does not fit in L2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise

import numpy as np

from ..parsers.record import dataclass
from .emulator.emulate import Emulation
from .emulator.launch import POINTER_SPACING
from .emulator.trace import Touch
from .emulator.values import Array, Partly, plain_values, unknown
from .sampled_lines import ARRAY_BITS, GLOBAL, WRITES, SampledLines

SECTOR_BYTES = 32
DRAM_UNIT_BYTES = 64
SECTORS_PER_LINE = 4
LINE_BYTES = SECTORS_PER_LINE * SECTOR_BYTES


@dataclass(frozen=True, slots=True)
class Evenness:
    """When steps between blocks count as those of index arithmetic, by figures of kb/method.yaml.

    `uneven` is the relative difference that it does not make, `edge_bytes` what another first
    thread may shift a start at the edge of the grid.
    """

    uneven: float
    edge_bytes: float


@dataclass
class Footprint:
    """What one block touches of an array, reading or writing; sectors are distinct.

    `moves` tells per grid axis whether the start of a block's part moves with it, None where the
    samples do not show it; `affine` that it moves evenly, as index arithmetic does.
    """

    array: int
    writes: bool
    sectors: float = 0.0
    lines: float = 0.0
    stored_bytes: float = 0.0
    moves: tuple[bool | None, ...] = (None, None, None)
    affine: bool = True
    starts: dict[int, int] = field(default_factory=dict)  # sample -> first address

    @property
    def bytes(self) -> float:
        """Distinct bytes of one block."""
        return self.sectors * SECTOR_BYTES

    @property
    def is_partial(self) -> bool:
        """Tell whether stores leave their sectors incomplete."""
        return self.writes and self.stored_bytes < 0.99 * self.bytes


def footprints(
    emulation: Emulation,
    sampled: SampledLines,
    most_arrays: int,
    evenness: Evenness,
    factor: Callable[[int], float],
) -> list[Footprint]:
    """Count the distinct sectors of the sampled block, array by array, the largest arrays first.

    `factor` says how many times more often than emulated the instruction at an address runs.
    """
    seen: dict[tuple[int, bool], int] = {}
    firsts: dict[int, tuple[Array, Array]] = {}
    found: dict[tuple[int, bool], Footprint] = {}
    for touch, requests in zip(emulation.log.touches, sampled.requests, strict=True):
        opcode = touch.instruction.opcode
        if opcode not in GLOBAL:
            continue
        writes = opcode in WRITES
        weight = touch.weight * factor(touch.instruction.address)
        for line, sectors in requests or ():
            array = line >> ARRAY_BITS
            entry = found.get((array, writes))
            if entry is None:
                entry = found[array, writes] = Footprint(array, writes)
            have = seen.get((line, writes), 0)
            fresh = sectors & ~have
            if fresh:
                seen[line, writes] = have | sectors
                entry.sectors += fresh.bit_count() * weight
                entry.lines += (have == 0) * weight
        _note_starts(touch, emulation, writes, found, firsts)
    _note_bytes(emulation, sampled.rows, found, factor)
    largest = sorted(found.values(), key=lambda entry: -entry.sectors)[:most_arrays]
    kept = {id(entry) for entry in largest}
    chosen = [entry for entry in found.values() if id(entry) in kept]
    for entry in chosen:
        _find_moves(entry, emulation, evenness)
    return chosen


def _note_starts(
    touch: Touch,
    emulation: Emulation,
    writes: bool,
    found: Mapping[tuple[int, bool], Footprint],
    firsts: dict[int, tuple[Array, Array]],
) -> None:
    """Keep the first address of each sample in each array; `firsts` remembers first lanes."""
    launch = emulation.launch
    if unknown(touch.low) or unknown(touch.high) or type(touch.low) is Partly:
        return
    chosen = firsts.get(id(touch.lanes))
    if chosen is None:
        lanes = touch.lanes.reshape(len(launch.samples), -1)
        samples = np.flatnonzero(lanes.any(axis=1))
        first = samples * lanes.shape[1] + lanes[samples].argmax(axis=1)
        chosen = firsts[id(touch.lanes)] = samples, first
    samples, first = chosen
    shape = (launch.size,)
    places = plain_values(touch.low, shape)[first].astype(np.int64) | (
        plain_values(touch.high, shape)[first].astype(np.int64) << 32
    )
    for sample, place in zip(samples.tolist(), places.tolist(), strict=True):
        entry = found.get((place // POINTER_SPACING, writes))
        if entry is not None:
            entry.starts.setdefault(sample, place)


def _note_bytes(
    emulation: Emulation,
    rows: slice,
    found: Mapping[tuple[int, bool], Footprint],
    factor: Callable[[int], float],
) -> None:
    from .accesses import width_of

    launch = emulation.launch
    for touch in emulation.log.touches:
        if touch.instruction.opcode not in WRITES or touch.high is None:
            continue
        high = int(plain_values(touch.high, (launch.size,))[0]) << 32
        entry = found.get((high // POINTER_SPACING, True))
        if entry is not None:
            lanes = int(touch.lanes.reshape(-1, 32)[rows].sum())
            weight = touch.weight * factor(touch.instruction.address)
            entry.stored_bytes += lanes * width_of(touch.instruction) * weight


def _find_moves(entry: Footprint, emulation: Emulation, evenness: Evenness) -> None:
    """Compare the starts of samples that differ along one axis only, inside the grid if possible.

    At the edges of the grid the first active thread is another one, which shifts the start.
    """
    moves: list[bool | None] = []
    for axis in range(3):
        apart = list(_neighbours(entry, emulation, axis))
        trusted = [pair for pair in apart if pair[0]] or apart
        if not trusted:
            moves.append(None)
            continue
        step = trusted[0][2] / trusted[0][1]
        moves.append(any(size for _, _, size in trusted))
        for _, distance, size in apart:
            allowed = evenness.uneven * abs(step * distance) + evenness.edge_bytes
            if abs(size - step * distance) > allowed:
                entry.affine = False
    entry.moves = (moves[0], moves[1], moves[2])


def _neighbours(
    entry: Footprint, emulation: Emulation, axis: int
) -> Iterator[tuple[bool, int, int]]:
    """Give samples that follow each other along an axis: inside the grid?, blocks and bytes apart.

    Only neighbours, so that the work grows with the samples and not with their pairs.
    """
    launch = emulation.launch
    last = launch.grid[axis] - 1
    rows: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for sample, start in entry.starts.items():
        index = launch.samples[sample].index
        others = tuple(index[q] for q in range(3) if q != axis)
        rows.setdefault(others, []).append((index[axis], start))
    for row in rows.values():
        for (a, start), (b, end) in pairwise(sorted(row)):
            yield 0 < a and b < last, b - a, end - start


def kept_in_l1(
    found: Sequence[Footprint], sizes: Mapping[int, int], lines: int, sms: int, blocks: int
) -> dict[int, float]:
    """Give the arrays that the blocks of an SM find in L1, each with the share that they fetch.

    They are those that all blocks read at the same places, or that are small as a whole, if what
    they take fits into so many lines; every SM fetches them once.
    """
    taken = 0.0
    shares: dict[int, float] = {}
    for entry in found:
        size = sizes.get(entry.array)
        same = entry.affine and True not in entry.moves and False in entry.moves
        if entry.writes or not entry.bytes or (size is None and not same):
            continue
        held = entry.bytes if same else min(float(size or 0), entry.bytes * blocks)
        if held > lines * LINE_BYTES:
            continue
        taken += held
        shares[entry.array] = min(1.0, sms * held / (blocks * entry.bytes))
    return shares if taken <= lines * LINE_BYTES else {}


@dataclass(frozen=True, slots=True)
class Fetches:
    """What DRAM moves for one array: bytes, lines that L2 fetches, lines that it writes back."""

    read_bytes: float
    written_bytes: float
    fetched_lines: float
    written_lines: float


def distinct_bytes(entry: Footprint, grid: tuple[int, int, int], size: int | None) -> float:
    """Give the distinct bytes of all blocks: a block's, times the blocks that do not share them."""
    count = 1.0
    for axis in range(3):
        count *= 1 if entry.moves[axis] is False else grid[axis]
    touched = entry.bytes * count
    return touched if size is None else min(touched, float(size))


def fetches(
    entry: Footprint,
    others: list[Footprint],
    grid: tuple[int, int, int],
    resident: int,
    sizes: Mapping[int, int],
    l2_bytes: int | None,
) -> Fetches:
    """Work out what DRAM moves for one array.

    `resident` blocks run at once. Lone sectors come in units of 64 bytes; stores that leave a
    sector incomplete make L2 fetch it first.
    """
    size = sizes.get(entry.array)
    unique = distinct_bytes(entry, grid, size)
    blocks = grid[0] * grid[1] * grid[2]
    if l2_bytes is not None:
        if entry.affine:
            unique *= _passes(entry, others, grid, resident, sizes, l2_bytes)
        elif size is not None and size > l2_bytes:
            unique = entry.bytes * blocks * (1 - l2_bytes / size)  # random: rarely met again
    density = entry.sectors / entry.lines if entry.lines else SECTORS_PER_LINE
    lines = unique / SECTOR_BYTES / max(density, 1.0)
    if entry.writes:
        filled = unique if entry.is_partial else 0.0
        return Fetches(filled, unique, lines if filled else 0.0, lines)
    units = max(1.0, DRAM_UNIT_BYTES / SECTOR_BYTES / max(density, 1.0))
    return Fetches(unique * units, 0.0, lines, 0.0)


def _passes(
    entry: Footprint,
    others: list[Footprint],
    grid: tuple[int, int, int],
    resident: int,
    sizes: Mapping[int, int],
    l2_bytes: int,
) -> float:
    """Count how often shared data is fetched again: once where it stays in L2 between two uses."""
    passes = 1.0
    for axis in range(3):
        if entry.moves[axis] is not False or grid[axis] == 1:
            continue
        inner = 1
        for faster in range(axis):
            inner *= grid[faster]
        span = (grid[0] if axis > 0 else 1, grid[1] if axis > 1 else 1, 1)
        between = sum(distinct_bytes(one, span, sizes.get(one.array)) for one in others)
        if between > l2_bytes:
            passes *= max(1.0, grid[axis] * inner / max(resident, inner))
    return passes
