"""What reaches L2 and DRAM: tags, sectors and port slots of L2, bytes of DRAM.

A load that misses L1 asks L2 for lines; a store passes L1. What L2 must fetch from DRAM is what the
launch touches at least once (each array at most once), in units of 64 bytes where lone sectors are
touched. Rules and costs: kb/pipes, measured with counters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .accesses import NOTHING, Access, Span
from .l1_cache import Footprint, Hits
from .pipes import L2Path

SECTOR_BYTES = 32
LINE_BYTES = 128
DRAM_UNIT_BYTES = 64
SECTORS_PER_LINE = 4


@dataclass(frozen=True, slots=True)
class Traffic:
    """What all accesses ask of L2 over the launch; low: best hits, high: worst addresses."""

    tags: Span
    read_sectors: Span
    write_slots: Span
    dram_bytes: Span
    requested_bytes: float
    unique_bytes: float

    @property
    def reread_factor(self) -> float | None:
        """Bytes that blocks fetch from L2 over the distinct bytes among them."""
        return self.requested_bytes / self.unique_bytes if self.unique_bytes else None


def traffic(
    accesses: Sequence[Access],
    hits: Mapping[int, Hits],
    footprints: Mapping[tuple[int, bool], Footprint],
    array_bytes: Mapping[int, int],
    problem_bytes: float | None,
    l2_bytes: int | None,
    path: L2Path,
) -> Traffic:
    """Add up the requests of all accesses.

    `array_bytes` maps the upper part of an array's made-up address to its size, where it is known.
    """
    tags = sectors = slots = NOTHING
    for access in accesses:
        more = _requests(access, hits.get(access.address), path)
        tags, sectors, slots = tags + more[0], sectors + more[1], slots + more[2]
    dram, lines, written = _dram(accesses, footprints, array_bytes, problem_bytes, l2_bytes)
    tags = tags + Span(lines, lines, lines).times(path.dram_tags_per_line)
    tags = tags + Span(written, written, written).times(path.dram_tags_per_written_line)
    unique = sum(_bounded(f, array_bytes.get(key[0])) for key, f in footprints.items())
    return Traffic(tags, sectors, slots, dram, sectors.value * SECTOR_BYTES, unique)


def _requests(access: Access, hits: Hits | None, path: L2Path) -> tuple[Span, Span, Span]:
    """Give tags, read sectors and write slots of one instruction."""
    if access.space == "shared":
        return NOTHING, NOTHING, NOTHING
    lines, sectors = access.lines, access.sectors
    if access.kind == "store":
        partial = _is_partial(access)
        return (
            lines.times(path.store_tags_per_line),
            NOTHING,
            sectors + lines if partial else sectors,
        )
    if access.kind == "atomic":
        returned = sectors if access.opcode.startswith("ATOM") else NOTHING
        return lines.times(path.store_tags_per_line), returned, sectors + lines
    if access.kind == "copy":
        if access.space == "global" and "BYPASS" in access.mnemonic:
            per_line = sectors.value / lines.value if lines.value else 1.0
            lines = sectors.times(bypass_tags(per_line, path))
        return lines, sectors, lines
    miss = 1.0 - hits.rate if hits is not None else 1.0
    missed_sectors = Span(sectors.low * miss, sectors.value * miss, sectors.high)
    missed_lines = Span(lines.low * miss, lines.value * miss, lines.high)
    if access.space == "local" and hits is None:
        missed_sectors, missed_lines = sectors, lines
    return missed_lines, missed_sectors, missed_lines


def _is_partial(access: Access) -> bool:
    """Tell whether a store writes sectors in part: fewer bytes than its sectors hold."""
    return access.bytes < 0.99 * access.sectors.value * SECTOR_BYTES


def bypass_tags(sectors_per_line: float, path: L2Path) -> float:
    """Give tags per sector of a copy past L1, by how many sectors of a line it takes."""
    table = path.bypass_tags_per_sector
    nearest = min(table, key=lambda known: abs(known - sectors_per_line))
    return table[nearest]


def _bounded(footprint: Footprint, size: int | None) -> float:
    """Give distinct bytes of an array: what blocks touch, at most the array."""
    touched = footprint.sectors * SECTOR_BYTES
    return touched if size is None else min(touched, float(size))


def _dram(
    accesses: Sequence[Access],
    footprints: Mapping[tuple[int, bool], Footprint],
    array_bytes: Mapping[int, int],
    problem_bytes: float | None,
    l2_bytes: int | None,
) -> tuple[Span, float, float]:
    """Give DRAM bytes, the lines that L2 fetches, and the lines that it writes back."""
    read = written = lines = written_lines = 0.0
    for (array, writes), footprint in footprints.items():
        unique = _bounded(footprint, array_bytes.get(array))
        density = footprint.sectors / footprint.lines if footprint.lines else SECTORS_PER_LINE
        if writes:
            written += unique
            written_lines += unique / SECTOR_BYTES / density
            continue
        units = max(1.0, DRAM_UNIT_BYTES / SECTOR_BYTES / density)
        read += unique * units
        lines += unique / SECTOR_BYTES / density
    if l2_bytes is not None and read + written <= l2_bytes:
        written = written_lines = 0.0  # it all stays in L2 until the kernel has ended
    known = read + written
    random = 0.0
    for access in accesses:
        for array, lanes in access.random_lanes.items():
            size = array_bytes.get(array)
            moved = lanes * DRAM_UNIT_BYTES
            if size is not None and l2_bytes is not None and size <= l2_bytes:
                moved = min(moved, float(size))  # it soon lies in L2
            random += moved
    low = known if problem_bytes is None else max(known, min(problem_bytes, known + random))
    lines += random / DRAM_UNIT_BYTES
    return Span(low, known + random, known + random), lines, written_lines
