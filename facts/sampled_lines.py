"""The lines that one sampled block asks for, access by access, in the order they ran.

They are worked out once, for the cache and for the footprints, and up to a number of lines: what
follows is left out and said to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..parsers.record import dataclass
from .emulator.emulate import Emulation
from .emulator.launch import POINTER_SPACING
from .emulator.trace import Touch
from .emulator.values import Drift, known_in, plain_values

Array = NDArray[Any]
Line = tuple[int, int]  # number of the line, a bit for each sector of it
LINE_BITS = 7
SECTOR_BITS = 5
AT_ONCE = 64  # touches, which bounds memory
APART = 1 << 24  # bytes between warps whose places are data
LOCAL_SPACE = 1 << 60  # local lines never meet global ones
ARRAY_BITS = POINTER_SPACING.bit_length() - 1 - LINE_BITS  # line number -> array
LOCAL = frozenset({"LDL", "STL"})
WRITES = frozenset({"STG", "ST", "RED", "REDG", "ATOM", "ATOMG"})
CACHED_LOADS = frozenset({"LDG", "LD"})
GLOBAL = WRITES | CACHED_LOADS | {"LDGSTS"}


@dataclass(frozen=True)
class SampledLines:
    """Lines of each touch of the log, None where it asks for none or its places are unknown.

    `rows` are the warps of the sampled block; `complete` tells that no touch was left out.
    """

    rows: slice
    requests: Sequence[list[Line] | None]
    complete: bool


def sampled_lines(emulation: Emulation, most: int) -> SampledLines:
    """Work out the lines of the heaviest sampled block, until there are more than `most`."""
    launch = emulation.launch
    sample = int(np.argmax(launch.weights))
    rows = slice(sample * launch.warps, (sample + 1) * launch.warps)
    requests: list[list[Line] | None] = []
    total, touches = 0, emulation.log.touches
    for start in range(0, len(touches), AT_ONCE):
        for found in _lines_of(touches[start : start + AT_ONCE], emulation, rows):
            requests.append(found if total <= most else None)
            total += len(requests[-1] or ())
    return SampledLines(rows, requests, total <= most)


def _lines_of(
    touches: Sequence[Touch], emulation: Emulation, rows: slice
) -> Sequence[list[Line] | None]:
    found: list[list[Line] | None] = [None] * len(touches)
    places: list[tuple[int, Array, Array]] = []  # index of a touch, addresses, where they are used
    for index, touch in enumerate(touches):
        opcode = touch.instruction.opcode
        if opcode not in GLOBAL and opcode not in LOCAL:
            continue
        low, usable = _addresses(touch, emulation, rows)
        if not usable.any():
            continue
        if opcode in LOCAL:
            found[index] = _local_lines(low, usable, touch.instruction.modifiers)
        else:
            places.append((index, low, usable))
    if places:
        used = np.stack([usable for _, _, usable in places])
        sectors = np.stack([low for _, low, _ in places]) >> np.uint64(SECTOR_BITS)
        for (index, _, _), lines in zip(places, _by_line(sectors, used), strict=True):
            found[index] = lines
    return found


def _addresses(touch: Touch, emulation: Emulation, rows: slice) -> tuple[Array, Array]:
    """Give the addresses of one sampled block's warps, and where they are known and used."""
    shape = (emulation.launch.size,)
    low = plain_values(touch.low, shape).reshape(-1, 32)[rows].astype(np.uint64)
    usable = touch.lanes.reshape(-1, 32)[rows]
    if type(touch.low) is Drift and touch.low.uniform:  # somewhere, but side by side
        low = low + np.arange(len(low), dtype=np.uint64)[:, None] * np.uint64(APART)
    elif not isinstance(touch.low, (int, np.ndarray)):
        usable = usable & known_in(touch.low, shape).reshape(-1, 32)[rows]
    if touch.high is not None:
        high = plain_values(touch.high, shape).reshape(-1, 32)[rows].astype(np.uint64)
        low = low | high << np.uint64(32)
    return low, usable


def _by_line(sectors: Array, used: Array) -> list[list[Line]]:
    """Join the sectors of each warp's request into lines, warp after warp; by touch.

    Both have the shape (touches, warps, lanes).
    """
    touches = np.repeat(np.arange(len(used)), used.shape[1])
    sectors, used = sectors.reshape(-1, 32), used.reshape(-1, 32)
    some = used.any(axis=1)
    touches, sectors, used = touches[some], sectors[some], used[some]
    first = sectors[np.arange(len(used)), used.argmax(axis=1)]
    ordered = np.sort(np.where(used, sectors, first[:, None]), axis=1)  # idle lanes repeat one
    line = ordered >> np.uint64(LINE_BITS - SECTOR_BITS)
    fresh = np.ones(line.shape, np.bool_)
    fresh[:, 1:] = line[:, 1:] != line[:, :-1]
    starts = np.flatnonzero(fresh)
    bits = np.bitwise_or.reduceat((np.uint64(1) << (ordered & np.uint64(3))).reshape(-1), starts)
    lines = list(zip(line.reshape(-1)[starts].tolist(), bits.tolist(), strict=True))
    ends = np.searchsorted(touches[starts // 32], np.arange(touches[-1] + 2))
    return [lines[a:b] for a, b in pairwise(ends.tolist())]


def _local_lines(low: Array, usable: Array, modifiers: Sequence[str]) -> list[Line]:
    """Local words of a warp lie side by side: one line per word of the thread, all sectors."""
    words = 4 if "128" in modifiers else 2 if "64" in modifiers else 1
    result: list[Line] = []
    for warp in range(len(low)):
        if not usable[warp].any():
            continue
        for word in sorted(set((low[warp][usable[warp]] >> np.uint64(2)).tolist())):
            base = LOCAL_SPACE + (warp << 32) + int(word)
            result += [(base + i, 15) for i in range(words)]
    return result
