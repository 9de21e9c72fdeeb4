"""How accesses and warps are shaped: what could be wider, what a copy brings, lanes that are on."""

from __future__ import annotations

from collections.abc import Sequence

from .accesses import Access
from .executed import lane_shares
from .launch_work import LaunchWork
from .mix import at_addresses
from .model import Fact, Source
from .remedies_memory import LOADS, widenable


def shape_facts(found: LaunchWork, filled: float) -> list[Fact]:
    """Give merged and wider accesses, the tile of bulk copies, and the lanes that are on.

    `filled`: part of the bytes of its sectors from which an access fills them.
    """
    accesses = [access for access in found.work.accesses if access.executions]
    loads = [a for a in accesses if a.space == "global" and a.kind in LOADS]
    merges, narrow = _merge_facts(found), _widenable(loads, filled)
    return [*merges, *narrow, *_stage(accesses), *_lanes(found)]


def _merge_facts(found: LaunchWork) -> list[Fact]:
    """Count the loads that wider ones would save, per space, and the bytes of the widest."""
    loads = [merge for merge in found.merges if merge.mnemonic.startswith("LD")]
    facts = []
    for space in ("global", "shared"):
        merges = [m for m in loads if m.mnemonic.startswith("LDS") == (space == "shared")]
        where = at_addresses(sorted(a for m in merges for a in m.addresses)).detail
        saved = sum(len(m.addresses) - 1 for m in merges)
        source = Source("emulated", where)
        facts.append(Fact(f"access.{space}.merge_saved", saved, "instructions", source))
    widest = max((merge.wider for merge in loads), default=0)
    addresses = sorted(a for m in loads for a in m.addresses if m.wider == widest)
    source = Source("emulated", at_addresses(addresses).detail)
    return [*facts, Fact("access.merged_bytes", widest, "B", source)]


def _widenable(loads: Sequence[Access], filled: float) -> list[Fact]:
    executions = sum(access.executions for access in loads)
    if not executions:
        return []
    narrow = set(widenable(loads, filled))
    some = [access for access in loads if access.address in narrow]
    share = sum(access.executions for access in some) / executions
    where = at_addresses(sorted(access.address for access in some)).detail
    return [Fact("access.global.widenable_fraction", share, "", Source("emulated", where))]


def _stage(accesses: Sequence[Access]) -> list[Fact]:
    """Give the bytes that one barrier of bulk copies waits for: a tile."""
    bulk = [access for access in accesses if access.space == "bulk" and access.bytes]
    if not bulk:
        return []
    most = max(bulk, key=lambda access: access.bytes / access.executions)
    value = most.bytes / most.executions
    source = Source("emulated", at_addresses([most.address]).detail)
    return [Fact("access.bulk.stage_bytes", value, "B", source)]


def _lanes(found: LaunchWork) -> list[Fact]:
    """Weigh the lanes that are on by how often each instruction runs."""
    counts = found.work.executed.counts
    shares = lane_shares(found.emulation)
    weights = {address: counts[address].value for address in shares if address in counts}
    total = sum(weights.values())
    if not total:
        return []
    on = sum(weight * shares[address] for address, weight in weights.items()) / total
    source = Source("emulated", "lanes that are on / lanes, over all warp instructions")
    return [Fact("lanes.active_fraction", on, "", source)]
