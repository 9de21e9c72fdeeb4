"""The lines that one sampled block asks for, access by access, in the order they ran.

They are worked out once, for the cache and for the footprints, and up to a number of lines: what
follows is left out and said to be.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    total = 0
    for touch in emulation.log.touches:
        found = _lines(touch, emulation, rows) if total <= most else None
        total += len(found or ())
        requests.append(found)
    return SampledLines(rows, requests, total <= most)


def _lines(touch: Touch, emulation: Emulation, rows: slice) -> list[Line] | None:
    opcode = touch.instruction.opcode
    if opcode not in GLOBAL and opcode not in LOCAL:
        return None
    low, usable = _addresses(touch, emulation, rows)
    if not usable.any():
        return None
    if opcode in LOCAL:
        return _local_lines(low, usable, touch.instruction.modifiers)
    warp = np.broadcast_to(np.arange(len(low), dtype=np.uint64)[:, None], low.shape)[usable]
    return _by_line(warp, low[usable] >> np.uint64(SECTOR_BITS))


def _addresses(touch: Touch, emulation: Emulation, rows: slice) -> tuple[Array, Array]:
    """Give the addresses of one sampled block's warps, and where they are known and used."""
    shape = (emulation.launch.size,)
    low = plain_values(touch.low, shape).reshape(-1, 32)[rows].astype(np.uint64)
    known = known_in(touch.low, shape).reshape(-1, 32)[rows]
    if type(touch.low) is Drift and touch.low.uniform:  # somewhere, but side by side
        known = np.ones_like(known)
        low = low + np.arange(len(low), dtype=np.uint64)[:, None] * np.uint64(APART)
    if touch.high is not None:
        high = plain_values(touch.high, shape).reshape(-1, 32)[rows].astype(np.uint64)
        low = low | high << np.uint64(32)
    return low, touch.lanes.reshape(-1, 32)[rows] & known


def _by_line(warp: Array, sector: Array) -> list[Line]:
    """Join the sectors of each warp's request into lines, warp after warp."""
    order = np.lexsort((sector, warp))
    warp, sector = warp[order], sector[order]
    line = sector >> np.uint64(LINE_BITS - SECTOR_BITS)
    bit = np.uint64(1) << (sector & np.uint64(3))
    fresh = np.ones(len(line), np.bool_)
    fresh[1:] = (line[1:] != line[:-1]) | (warp[1:] != warp[:-1])
    starts = np.flatnonzero(fresh)
    bits = np.bitwise_or.reduceat(bit, starts)
    return list(zip(line[starts].tolist(), bits.tolist(), strict=True))


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
