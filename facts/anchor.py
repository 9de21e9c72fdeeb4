"""Counts anchored on the work: scale the loop that carries it until the operations are right.

Without arguments the emulation knows the grid, the block and the shape of every iteration, but not
how many iterations there are. The problem's operations tell: the loop with most of them runs as
often as it takes. Emulation and anchor also check each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..parsers.listing import Instruction
from ..parsers.record import dataclass
from .accesses import Access, repeated
from .emulator.emulate import Emulation
from .spans import NOTHING, Span

FlopsOf = Callable[[Instruction], float | None]  # operations of one warp instruction
Region = tuple[int, int]  # first and last address of a loop
MOST_SCALE = 1e9
WARP = 32
SPECIAL = "MUFU"
INDEX_ARITHMETIC = frozenset({"IMAD", "IADD3", "LEA", "VIADD", "UIMAD", "UIADD3", "ULEA"})


@dataclass(frozen=True, slots=True)
class Anchor:
    """How the counts inside one loop must be scaled; `region` None means all of the code.

    `most` is the scale if the problem counts one operation for each special function only: what one
    costs is a convention, and its code has many operations. `special` counts special functions as
    `emulated` counts operations; `of_bytes` tells that the work is bytes.
    """

    region: Region | None
    scale: float
    emulated: float
    wanted: float
    most: float = 0.0
    special: float = 0.0
    of_bytes: bool = False

    def factor(self, address: int) -> float:
        """Give how many times more often than emulated an instruction runs."""
        is_inside = self.region is not None and self.region[0] <= address <= self.region[1]
        return self.scale if is_inside else 1.0

    def is_exact(self, special_operations: float) -> bool:
        """Tell whether the work is more than a convention or a least.

        Bytes may be read several times. Operations around special functions are a convention where
        there are no more of them than the code of one special function has.
        """
        if self.of_bytes:
            return False
        return not self.special or self.emulated / self.special > special_operations

    @property
    def ratio(self) -> float:
        """What the emulation counted over what the problem says."""
        return self.emulated / self.wanted if self.wanted else 0.0


def loop_regions(emulation: Emulation) -> list[Region]:
    """Give the address ranges that jumps backwards span, inner loops too."""
    code = emulation.program.function.instructions
    regions: set[Region] = set()
    for block in emulation.program.blocks:
        last = block.last
        if last is None or last.opcode == "CALL":
            continue
        for target in block.targets:
            if target <= block.index:
                first = code[emulation.program.blocks[target].first].address
                if first < last.address:
                    regions.add((first, last.address))
    return sorted(regions)


def flop_anchor(
    emulation: Emulation, counts: Mapping[int, Span], flops_of: FlopsOf, wanted: float
) -> Anchor | None:
    """Scale the loop with most operations so that all operations are the problem's.

    None where no instruction counts, or where the code outside of loops does more already.
    """
    per_address = {
        instruction.address: (flops_of(instruction) or 0.0)
        * counts.get(instruction.address, NOTHING).value
        for instruction in emulation.program.function.instructions
        if instruction.opcode not in INDEX_ARITHMETIC
    }
    found = _anchor(emulation, per_address, wanted)
    if found is None or found.region is None:
        return found
    special = WARP * sum(
        counts[i.address].value
        for i in emulation.program.function.instructions
        if i.opcode == SPECIAL
        and found.region[0] <= i.address <= found.region[1]
        and i.address in counts
    )
    if not special:
        return found
    return replace(found, most=min(MOST_SCALE, wanted / special), special=special)


def byte_anchor(emulation: Emulation, accesses: Sequence[Access], wanted: float) -> Anchor | None:
    """The same with the bytes of global loads and stores, for kernels that only move data.

    None where places are data: how much of a line counts is then open.
    """
    moving = [a for a in accesses if a.space in ("global", "bulk")]
    if any(a.random_lanes for a in moving):
        return None
    found = _anchor(emulation, {a.address: a.bytes for a in moving}, wanted)
    return None if found is None else replace(found, of_bytes=True)


def _anchor(emulation: Emulation, per_address: Mapping[int, float], wanted: float) -> Anchor | None:
    total = sum(per_address.values())
    if not total or wanted <= 0:
        return None
    regions = loop_regions(emulation)
    inside = {
        region: sum(v for a, v in per_address.items() if region[0] <= a <= region[1])
        for region in regions
    }
    if not inside:
        return Anchor(None, 1.0, total, wanted)
    most = max(inside.values())
    if not most:
        return Anchor(None, 1.0, total, wanted)
    # of nested loops that carry the same work, the innermost one
    region = min((r for r in regions if inside[r] > 0.5 * most), key=lambda r: r[1] - r[0])
    outside = total - inside[region]
    scale = (wanted - outside) / inside[region]
    if not 0 < scale <= MOST_SCALE:
        return None
    return Anchor(region, scale, total, wanted)


def scaled(counts: Mapping[int, Span], anchor: Anchor, spread: float) -> dict[int, Span]:
    """Scale the counts inside the anchor's loop; `spread` is how far off an anchor usually is."""
    result = {}
    for address, span in counts.items():
        if anchor.region and anchor.region[0] <= address <= anchor.region[1]:
            value = span.value * anchor.scale
            most = span.value * max(anchor.most, anchor.scale)
            result[address] = Span(value * (1 - spread), value, most * (1 + spread))
        else:
            result[address] = span
    return result


def scale_accesses(accesses: Sequence[Access], anchor: Anchor) -> tuple[Access, ...]:
    """Scale the accesses inside the anchor's loop alike."""
    result = []
    for access in accesses:
        if not anchor.region or not anchor.region[0] <= access.address <= anchor.region[1]:
            result.append(access)
            continue
        factor = anchor.scale
        result.append(
            replace(
                repeated(access, factor),
                random_lanes={k: v * factor for k, v in access.random_lanes.items()},
            )
        )
    return tuple(result)
