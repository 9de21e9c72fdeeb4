"""Which sectors of loads L1 already holds: a small cache over one block's accesses.

The accesses of one emulated block pass, in the order they ran, through lines of 128 bytes with a
flag per sector, of which the least recently used one is dropped. A block gets its share of what
shared memory leaves. Blocks that share an SM help each other in reality; that is not modelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ..parsers.record import dataclass
from .emulator.emulate import Emulation
from .emulator.trace import Touch
from .emulator.values import unknown
from .sampled_lines import ARRAY_BITS, CACHED_LOADS, LINE_BITS, LOCAL, SampledLines

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
    emulation: Emulation,
    sampled: SampledLines,
    lines: int,
    kept: Mapping[int, float] = MappingProxyType({}),
    sizes: Mapping[int, int] = MappingProxyType({}),
) -> dict[int, Hits]:
    """Pass the sampled block's loads through a cache of so many lines; by instruction address.

    `kept` are arrays that stay in L1 from one block of an SM to the next, each with the share of
    its sectors that still miss; `sizes` gives the bytes of arrays. Loads at unknown places of a
    frame in local memory hit as far as all frames of the block fit.
    """
    again = _rounds(emulation, sampled, lines, sizes)
    cache: dict[int, int] = {}
    found: dict[int, list[float]] = {}
    for touch, requests in zip(emulation.log.touches, sampled.requests, strict=True):
        if not _is_cached(touch):
            continue
        if requests is None:
            if touch.instruction.opcode == "LDL" and unknown(touch.low):
                found[touch.instruction.address] = [1.0, _frame_share(emulation, lines)]
            continue
        total, hit = 0, 0.0
        last_use = "LU" in touch.instruction.modifiers
        for line, sectors in requests:
            have = cache.pop(line, 0)
            total += sectors.bit_count()
            hit += (sectors & have).bit_count()
            hit += (sectors & ~have).bit_count() * (1.0 - kept.get(line >> ARRAY_BITS, 1.0))
            if last_use:
                continue
            cache[line] = have | sectors
            if len(cache) > lines:
                del cache[next(iter(cache))]
        if touch.instruction.opcode == "STL":
            continue
        entry = found.setdefault(touch.instruction.address, [0.0, 0.0])
        entry[0] += total * touch.weight
        entry[1] += (hit + (total - hit) * again.get(id(touch), 0.0)) * touch.weight
    return {address: Hits(*pair) for address, pair in found.items()}


def _rounds(
    emulation: Emulation, sampled: SampledLines, lines: int, sizes: Mapping[int, int]
) -> dict[int, float]:
    """Give loads of closed loops that come by the same places again, each with the share of that.

    A loop whose places would move further than the array is long goes around in it. What it finds
    in L1 then is there if all that the block asks for in one round fits.
    """
    shares: dict[int, float] = {}
    held = 0.0
    for touch, requests in zip(emulation.log.touches, sampled.requests, strict=True):
        if not touch.travel or not requests or not _is_cached(touch):
            continue
        size = sizes.get(requests[0][0] >> ARRAY_BITS, touch.travel)
        if size < touch.travel:
            shares[id(touch)] = 1.0 - size / touch.travel
            held += len(requests) * touch.weight * size / touch.travel
    return shares if held <= lines else {}


def _is_cached(touch: Touch) -> bool:
    """Tell whether L1 may answer an access, or takes in what it writes."""
    opcode = touch.instruction.opcode
    if opcode in LOCAL:
        return True
    return opcode in CACHED_LOADS and "STRONG" not in touch.instruction.modifiers


def _frame_share(emulation: Emulation, lines: int) -> float:
    """Give the share of a block's local memory that fits, 0 where its size is not known."""
    launch = emulation.launch
    words = (launch.frame_bytes or 0) // WORD_BYTES * launch.warps
    return min(1.0, lines / words) if words else 0.0
