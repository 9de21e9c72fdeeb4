"""Remedies of accesses: no conflicts, whole sectors, wider, once, in another memory."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..parsers.record import replace
from .accesses import Access
from .l1_cache import Hits
from .remedy_draft import Draft, Figures
from .spans import NOTHING, exactly

LINE_BYTES = 128
SECTOR_BYTES = 32
WIDEST_BYTES = 16  # of one lane in one access
LOADS = ("load", "copy")


def conflict_free(draft: Draft, _: Figures) -> bool:
    changed = False
    for address, access in draft.accesses.items():
        if access.space == "shared" and access.wavefronts.value > access.ideal_wavefronts > 0:
            least = exactly(access.ideal_wavefronts)
            draft.accesses[address] = replace(access, wavefronts=least)
            changed = True
    return changed


def coalesced(draft: Draft, _: Figures) -> bool:
    """Let neighbouring lanes take neighbouring bytes; DRAM then moves only what is asked for."""
    plain = [a for a in draft.accesses.values() if a.space == "global"]
    if not any(a.depends_on_data for a in plain):
        draft.most_dram_bytes = sum(a.bytes for a in plain)
    changed = False
    for address, access in draft.accesses.items():
        is_plain = access.space == "global" and access.kind in ("load", "store")
        if not is_plain or access.depends_on_data or access.sectors.value <= access.ideal_sectors:
            continue
        hits = draft.hits.get(address)
        missed = access.sectors.value * (1.0 - hits.rate) if hits is not None else math.inf
        left = min(1.0, missed / access.ideal_sectors)
        draft.hits[address] = Hits(1.0, 1.0 - left)
        lines = exactly(min(access.lines.value, _lines(access)))
        draft.accesses[address] = replace(
            access,
            sectors=exactly(access.ideal_sectors),
            lines=lines,
            requests=lines,
            wavefronts=exactly(min(access.wavefronts.value, access.ideal_wavefronts)),
        )
        changed = True
    return changed


def _lines(access: Access) -> float:
    return max(access.executions, access.ideal_sectors * SECTOR_BYTES / LINE_BYTES)


def wider(draft: Draft, figures: Figures) -> bool:
    """Let a lane move 16 bytes at once: its own neighbours, or what the next lanes took.

    The bytes are the same, so only requests are saved, and passes where lanes share bytes.
    """
    merged = {a: merge for merge in draft.found.merges for a in merge.addresses}
    for address, merge in merged.items():
        if address in draft.accesses:
            _widen(draft, address, merge.width / merge.wider, merge.passes)
    narrow = widenable(draft.accesses.values(), figures.filled)
    alone = [address for address in narrow if address not in merged]
    for address in alone:
        _widen(draft, address, draft.accesses[address].width / WIDEST_BYTES, 1.0)
    return bool(merged or alone)


def _widen(draft: Draft, address: int, factor: float, passes: float) -> None:
    before = draft.accesses[address]
    draft.scale(address, factor)
    lines = before.lines
    if before.space == "global":  # a wider request covers whole lines where narrow ones met
        lines = exactly(min(lines.value, before.bytes / LINE_BYTES))
    draft.accesses[address] = replace(
        before,
        executions=draft.accesses[address].executions,
        wavefronts=before.wavefronts.times(passes),
        lines=lines,
        requests=lines,
    )


def widenable(accesses: Iterable[Access], filled: float) -> list[int]:
    """Find narrow global accesses whose lanes fill their sectors: they can be dealt out anew."""
    return [
        a.address
        for a in accesses
        if a.space == "global"
        and a.kind in ("load", "store")
        and a.width < WIDEST_BYTES
        and not a.depends_on_data
        and a.bytes >= filled * a.sectors.value * SECTOR_BYTES
    ]


def no_spills(draft: Draft, _: Figures) -> bool:
    local = [a.address for a in draft.accesses.values() if a.space == "local"]
    for address in local:
        draft.drop(address)
    return bool(local)


def private_atomics(draft: Draft, figures: Figures) -> bool:
    changed = False
    for address, access in draft.accesses.items():
        if access.space == "global" and access.kind == "atomic":
            draft.accesses[address] = replace(
                access,
                space="shared",
                sectors=NOTHING,
                lines=NOTHING,
                requests=NOTHING,
                wavefronts=exactly(access.executions * figures.random_ways),
            )
            changed = True
    return changed


def read_once(draft: Draft, _: Figures) -> bool:
    """Let every byte come from L2 once, as if it were kept where it is used."""
    loads = [a for a in draft.accesses.values() if a.space == "global" and a.kind == "load"]
    traffic = draft.found.work.traffic
    asked = sum(a.bytes for a in loads)
    if traffic is None or any(a.depends_on_data for a in loads):
        return False
    if not traffic.unique_bytes or traffic.unique_bytes >= asked:
        return False
    for access in loads:
        draft.scale(access.address, traffic.unique_bytes / asked)
        draft.hits[access.address] = Hits(1.0, 0.0)
    return True
