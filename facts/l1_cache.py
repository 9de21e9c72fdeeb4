"""Which sectors of loads L1 already holds: a small cache over one block's accesses.

The accesses of one emulated block pass, in the order they ran, through lines of 128 bytes with a
flag per sector, of which the least recently used one is dropped. A block gets its share of what
shared memory leaves. Blocks that share an SM help each other in reality; that is not modelled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..parsers.record import dataclass
from .emulator.emulate import Emulation
from .emulator.launch import POINTER_SPACING
from .emulator.trace import Touch
from .emulator.values import Drift, known_in, plain_values, unknown

Array = NDArray[Any]
LINE_BITS = 7
SECTOR_BITS = 5
APART = 1 << 24  # bytes between warps whose places are data
LOCAL_SPACE = 1 << 60  # local lines never meet global ones
CACHED_LOADS = frozenset({"LDG", "LD"})
MOST_LOOKUPS = 400_000  # lines looked up; what follows is left out
ARRAY_BITS = POINTER_SPACING.bit_length() - 1 - LINE_BITS  # line number -> array
WORD_BYTES = 4


@dataclass(frozen=True, slots=True)
class Hits:
    """Sectors that one instruction asked for and found, weighted over the launch."""

    sectors: float
    hits: float

    @property
    def rate(self) -> float:
        """Share of sectors found."""
        return self.hits / self.sectors if self.sectors else 0.0


def capacity_lines(
    l1_bytes: int, usable_fraction: float, smem_bytes_per_block: int, blocks_per_sm: int
) -> int:
    """Give the lines that one resident block can call its own.

    usable_fraction * (L1 - shared memory of the resident blocks) / blocks / 128 bytes.
    """
    blocks = max(1, blocks_per_sm)
    left = max(0, l1_bytes - smem_bytes_per_block * blocks)
    return int(usable_fraction * left / blocks) >> LINE_BITS


def simulate(
    emulation: Emulation, lines: int, kept: Mapping[int, float] = MappingProxyType({})
) -> dict[int, Hits]:
    """Pass the middle block's loads through a cache of so many lines; by instruction address.

    `kept` are arrays that stay in L1 from one block of an SM to the next, each with the share of
    its sectors that still miss. Loads at unknown places of a frame in local memory hit as far as
    all frames of the block fit.
    """
    launch = emulation.launch
    sample = int(np.argmax(launch.weights))
    rows = slice(sample * launch.warps, (sample + 1) * launch.warps)
    cache: dict[int, int] = {}
    found: dict[int, list[float]] = {}
    lookups = 0
    for touch in emulation.log.touches:
        if lookups > MOST_LOOKUPS:
            break
        requests = _requests(touch, emulation, rows)
        if requests is None:
            if touch.instruction.opcode == "LDL" and unknown(touch.low):
                found[touch.instruction.address] = [1.0, _frame_share(emulation, lines)]
            continue
        total, hit = 0, 0.0
        store = touch.instruction.opcode == "STL"
        last_use = "LU" in touch.instruction.modifiers
        for line, sectors in requests:
            lookups += 1
            have = cache.pop(line, 0)
            total += sectors.bit_count()
            hit += (sectors & have).bit_count()
            hit += (sectors & ~have).bit_count() * (1.0 - kept.get(line >> ARRAY_BITS, 1.0))
            if last_use:
                continue
            cache[line] = have | sectors
            if len(cache) > lines:
                del cache[next(iter(cache))]
        if store:
            continue
        entry = found.setdefault(touch.instruction.address, [0.0, 0.0])
        entry[0] += total * touch.weight
        entry[1] += hit * touch.weight
    return {address: Hits(*pair) for address, pair in found.items()}


def _frame_share(emulation: Emulation, lines: int) -> float:
    """Give the share of a block's local memory that fits, 0 where its size is not known."""
    launch = emulation.launch
    words = (launch.frame_bytes or 0) // WORD_BYTES * launch.warps
    return min(1.0, lines / words) if words else 0.0


def _requests(touch: Touch, emulation: Emulation, rows: slice) -> list[tuple[int, int]] | None:
    """Give (line, sector bits) of each warp request; None for what passes L1 by."""
    instruction = touch.instruction
    local = instruction.opcode in ("LDL", "STL")
    if not local and (instruction.opcode not in CACHED_LOADS or "STRONG" in instruction.modifiers):
        return None
    if not local:
        return global_lines(touch, emulation, rows)
    low, usable = _addresses(touch, emulation, rows)
    return _local_lines(low, usable, instruction.modifiers) if usable.any() else None


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


def global_lines(touch: Touch, emulation: Emulation, rows: slice) -> list[tuple[int, int]] | None:
    """Give (line, sector bits) of each warp's request in one sampled block."""
    low, usable = _addresses(touch, emulation, rows)
    if not usable.any():
        return None
    warp = np.broadcast_to(np.arange(len(low), dtype=np.uint64)[:, None], low.shape)[usable]
    sector = low[usable] >> np.uint64(SECTOR_BITS)
    return _by_line(warp, sector)


def _by_line(warp: Array, sector: Array) -> list[tuple[int, int]]:
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


def _local_lines(low: Array, usable: Array, modifiers: Sequence[str]) -> list[tuple[int, int]]:
    """Local words of a warp lie side by side: one line per word of the thread, all sectors."""
    words = 4 if "128" in modifiers else 2 if "64" in modifiers else 1
    result: list[tuple[int, int]] = []
    for warp in range(len(low)):
        if not usable[warp].any():
            continue
        for word in sorted(set((low[warp][usable[warp]] >> np.uint64(2)).tolist())):
            base = LOCAL_SPACE + (warp << 32) + int(word)
            result += [(base + i, 15) for i in range(words)]
    return result
