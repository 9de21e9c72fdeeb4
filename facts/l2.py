"""What reaches L2 and DRAM: tags, sectors and port slots of L2, bytes of DRAM.

A load that misses L1 asks L2 for lines; a store passes L1. What L2 must fetch from DRAM is what the
launch touches at least once (each array at most once), in units of 64 bytes where lone sectors are
touched. Rules and costs: kb/pipes, measured with counters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..parsers.record import dataclass
from .accesses import Access
from .footprint import Fetches, Footprint, distinct_bytes, fetches
from .l1_cache import Hits
from .pipes import L2Path
from .spans import NOTHING, Span

SECTOR_BYTES = 32
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
    dram_share: float = 1.0  # of L2's answers, what DRAM had to bring

    @property
    def reread_factor(self) -> float | None:
        """Bytes that blocks fetch from L2 over the distinct bytes among them."""
        return self.requested_bytes / self.unique_bytes if self.unique_bytes else None


def traffic(
    accesses: Sequence[Access],
    hits: Mapping[int, Hits],
    prints: list[Footprint],
    grid: tuple[int, int, int],
    resident: int,
    sizes: Mapping[int, int],
    problem_bytes: float | None,
    l2_bytes: int | None,
    path: L2Path,
    is_guess: bool = False,
) -> Traffic:
    """Add up the requests of all accesses.

    Where the arguments are guesses (`is_guess`), the problem's bytes stand for what DRAM moves,
    and without them that is unknown.
    `sizes` maps an array's number to its bytes, where they are known; so many `resident` blocks
    run at once.
    """
    tags = sectors = slots = NOTHING
    for access in accesses:
        more = _requests(access, hits.get(access.address), path)
        tags, sectors, slots = tags + more[0], sectors + more[1], slots + more[2]
    all_fetches = [fetches(one, prints, grid, resident, sizes, l2_bytes) for one in prints]
    dram, random_lines = _dram(accesses, all_fetches, sizes, problem_bytes, l2_bytes)
    fetched = sum(f.fetched_lines for f in all_fetches) + random_lines
    written = sum(f.written_lines for f in all_fetches)
    if is_guess and problem_bytes is not None:
        share = min(1.0, problem_bytes / dram.value) if dram.value else 1.0
        dram = Span(min(dram.low, problem_bytes), problem_bytes, max(dram.high, problem_bytes))
        fetched, written = fetched * share, written * share
        once = problem_bytes / SECTOR_BYTES  # L1 may find the rest, if the guesses are wrong
        tags = Span(min(tags.low, once / SECTORS_PER_LINE), tags.value, tags.high)
        sectors = Span(min(sectors.low, once), sectors.value, sectors.high)
    elif is_guess:
        dram = Span(0.0, 0.0, dram.high)  # rests on nothing
        fetched = written = 0.0
    extra = fetched * path.dram_tags_per_line + written * path.dram_tags_per_written_line
    reads = [one for one in prints if not one.writes]
    unique = sum(distinct_bytes(one, grid, sizes.get(one.array)) for one in reads)
    cached = any(a.kind == "load" and a.space == "global" for a in accesses)
    if cached and unique:  # blocks of an SM may find each other's lines in L1
        shared = min(1.0, unique / SECTOR_BYTES / sectors.value) if sectors.value else 1.0
        tags = Span(tags.low * shared, tags.value, tags.high)
        sectors = Span(sectors.low * shared, sectors.value, sectors.high)
    least = dram.low / dram.value if dram.value else 1.0
    tags = tags + Span(extra * min(1.0, least), extra, extra)
    asked = sectors.value * SECTOR_BYTES
    share = min(1.0, dram.value / asked) if asked else 1.0
    is_random = any(access.random_lanes for access in accesses)
    if is_guess and is_random and problem_bytes and l2_bytes:
        share = max(share, 1 - l2_bytes / problem_bytes)  # what the loop counts do not tell
    return Traffic(tags, sectors, slots, dram, asked, unique, share)


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
        if access.space == "bulk":
            merged = path.bulk_read_share
            return lines.times(merged), sectors.times(merged), lines.times(path.read_slots)
        requests = access.requests
        return requests, sectors, requests.times(path.read_slots)
    miss = 1.0 - hits.rate if hits is not None else 1.0
    missed_sectors = Span(sectors.low * miss, sectors.value * miss, sectors.high)
    missed_lines = Span(lines.low * miss, lines.value * miss, lines.high)
    if access.space == "local" and hits is None:
        missed_sectors, missed_lines = sectors, lines
    return missed_lines, missed_sectors, missed_lines.times(path.read_slots)


def _is_partial(access: Access) -> bool:
    """Tell whether a store writes sectors in part: fewer bytes than its sectors hold."""
    return access.bytes < 0.99 * access.sectors.value * SECTOR_BYTES


def _dram(
    accesses: Sequence[Access],
    all_fetches: Sequence[Fetches],
    sizes: Mapping[int, int],
    problem_bytes: float | None,
    l2_bytes: int | None,
) -> tuple[Span, float]:
    """Give DRAM bytes, and the lines that random accesses fetch."""
    read = sum(f.read_bytes for f in all_fetches)
    written = sum(f.written_bytes for f in all_fetches)
    if l2_bytes is not None and read + written <= l2_bytes:
        written = 0.0  # it all stays in L2 until the kernel has ended
    known = read + written
    random = 0.0
    for access in accesses:
        for array, lanes in access.random_lanes.items():
            size = sizes.get(array)
            moved = lanes * DRAM_UNIT_BYTES
            if size is not None and l2_bytes is not None:
                if size <= l2_bytes:
                    moved = min(moved, float(size))  # it soon lies in L2
                else:
                    moved *= 1 - l2_bytes / size  # the rest lies there when it is asked for
            random += moved
    bulk = sum(access.bytes for access in accesses if access.space == "bulk")
    most = known + random + bulk
    if problem_bytes is None:
        return Span(known, most, most), random / DRAM_UNIT_BYTES
    low = max(known, min(problem_bytes, most))
    return Span(low, max(low, known + random), most), random / DRAM_UNIT_BYTES
