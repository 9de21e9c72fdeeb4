"""Counts that follow from the time alone: the loop runs as often as the busiest unit allows.

Where neither arguments nor operations nor bytes tell how often a loop runs, the shape of an
iteration still says which unit it fills most, and how long the chain of one warp is beside that.
Both grow with the trip count, so their proportion needs none: the count is set so that the larger
of the two takes the measured time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .anchor import Anchor, Region, loop_regions, scale_accesses, scaled
from .bounds import Bound, Work
from .executed import Executed
from .l2 import Traffic
from .latency import Latency
from .launch_arguments import Settings
from .launch_work import LaunchWork

DOUBT = "how often loops run follows from the time: shares are proportions"
REFUTED = "the problem's operations or bytes would take longer than the time"
UNEXPLAINED = "the problem's operations or bytes would leave most of the time unexplained"

BoundsOf = Callable[[Work], Sequence[Bound]]


def settled(
    found: LaunchWork,
    bounds_of: BoundsOf,
    chain: Latency | None,
    time_ms: float,
    settings: Settings,
) -> LaunchWork:
    """Give the work with counts that the time allows.

    Counts that rest on nothing follow from the time. So do anchored ones that need more than the
    time, and those of an anchor that is a convention or a least (what a special function costs, how
    often a byte is read) where bounds and chain together leave most of the time unexplained.
    """
    if not found.scale_known:
        return anchor_on_time(found, bounds_of, chain, time_ms, settings)
    anchor = found.anchor
    if anchor is None or found.work.executed.basis != "anchor":
        return found
    bounds = bounds_of(found.work)
    if any(b.time_ms.low > settings.plausible_share * time_ms for b in bounds):
        return _instead(found, REFUTED, bounds_of, chain, time_ms, settings)
    if anchor.is_exact(settings.special_operations):
        return found
    explained = max(
        max((b.time_ms.value for b in bounds), default=0.0), _chain_ms(chain, (), 1.0, anchor)
    )
    if explained < settings.explained_share * time_ms:
        return _instead(found, UNEXPLAINED, bounds_of, chain, time_ms, settings)
    return found


def _instead(
    found: LaunchWork,
    because: str,
    bounds_of: BoundsOf,
    chain: Latency | None,
    time_ms: float,
    settings: Settings,
) -> LaunchWork:
    """Let the time decide in the place of the anchor, and say why."""
    executed = replace(found.work.executed, doubts=(*found.work.executed.doubts, because))
    doubted = replace(found, work=replace(found.work, executed=executed))
    return anchor_on_time(doubted, bounds_of, chain, time_ms, settings)


def anchor_on_time(
    found: LaunchWork,
    bounds_of: BoundsOf,
    chain: Latency | None,
    time_ms: float,
    settings: Settings,
) -> LaunchWork:
    """Scale all loops alike until bounds or chain take the time; unchanged where none runs."""
    loops = outer_loops(loop_regions(found.emulation))
    if not any(c.value and _inside(a, loops) for a, c in found.work.executed.counts.items()):
        return found
    scale, least = 1.0, settings.time_smallest
    applied = found.anchor if found.work.executed.basis == "anchor" else None
    for _ in range(settings.time_rounds):
        bound = _largest_ms(bounds_of, _scaled(found, loops, scale, scale, least))
        needed = max(bound, _chain_ms(chain, loops, scale, applied))
        if not needed:
            return found
        scale *= time_ms / needed
    bound = _largest_ms(bounds_of, _scaled(found, loops, scale, scale, least))
    most = scale * max(1.0, time_ms / bound) if bound else scale
    return _scaled(found, loops, scale, most, least)


def outer_loops(regions: Sequence[Region]) -> tuple[Region, ...]:
    """Join loops that lie in each other or overlap."""
    joined: list[Region] = []
    for first, last in sorted(regions):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return tuple(joined)


def _inside(address: int, loops: Sequence[Region]) -> bool:
    return any(first <= address <= last for first, last in loops)


def _largest_ms(bounds_of: BoundsOf, found: LaunchWork) -> float:
    return max((b.time_ms.value for b in bounds_of(found.work)), default=0.0)


def _chain_ms(
    chain: Latency | None, loops: Sequence[Region], scale: float, anchor: Anchor | None
) -> float:
    """Add up the chain as emulated, with its loops scaled and the anchor's one besides."""
    if chain is None:
        return 0.0
    region = (anchor.region,) if anchor is not None and anchor.region is not None else ()
    by_anchor = anchor.scale if anchor is not None else 1.0
    total = 0.0
    for address, time in chain.by_address.items():
        factor = scale if _inside(address, loops) else 1.0
        total += time * factor * (by_anchor if _inside(address, region) else 1.0)
    return total


def _scaled(
    found: LaunchWork, loops: Sequence[Region], scale: float, most: float, least: float
) -> LaunchWork:
    """Scale counts and accesses inside the loops; `least` is a part of the scaled count."""
    work = found.work
    counts, accesses = dict(work.executed.counts), tuple(work.accesses)
    for region in loops:
        anchor = Anchor(region, scale, 0.0, 0.0, most)
        counts = scaled(counts, anchor, 0.0)
        accesses = scale_accesses(accesses, anchor)
    counts = {
        address: replace(c, low=min(c.low, c.value * least)) if _inside(address, loops) else c
        for address, c in counts.items()
    }
    executed = Executed(counts, "time", (*work.executed.doubts, DOUBT))
    traffic = _scaled_traffic(work.traffic, found, loops, scale)
    changed = replace(work, executed=executed, accesses=accesses, traffic=traffic)
    return replace(found, work=changed, scale_known=True)


def _scaled_traffic(
    traffic: Traffic | None, found: LaunchWork, loops: Sequence[Region], scale: float
) -> Traffic | None:
    """Scale what L2 is asked for, by the share of it that the loops ask for."""
    if traffic is None:
        return None
    asked = [(a.sectors.value, a.address) for a in found.work.accesses if a.space != "shared"]
    total = sum(sectors for sectors, _ in asked)
    inside = sum(sectors for sectors, address in asked if _inside(address, loops))
    factor = 1 + inside / total * (scale - 1) if total else 1.0
    return replace(
        traffic,
        tags=traffic.tags.times(factor),
        read_sectors=traffic.read_sectors.times(factor),
        write_slots=traffic.write_slots.times(factor),
    )
