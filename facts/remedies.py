"""What a remedy would leave of the work: the accesses and executions of a launch after a change.

Each remedy changes counts as its advice says (no bank conflicts, whole sectors, fewer loads for the
same products); bounds of what is left then say how short the time can become. Nothing is said of
what the new code costs beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from ..parsers.record import dataclass
from .accesses import Access
from .anchor import loop_regions
from .bounds import Work
from .emulator.emulate import Emulation
from .executed import Executed, lane_shares
from .l1_cache import Hits
from .launch_work import LaunchWork
from .spans import NOTHING, Span, exactly

LINE_BYTES = 128
SECTOR_BYTES = 32
WIDEST_BYTES = 16  # of one lane in one access
LOADS = ("load", "copy")
BARRIER = "BAR"
FILLED = 0.9  # of the bytes of the sectors touched; edges of arrays leave some empty


@dataclass(frozen=True)
class Figures:
    """Figures of kb/method.yaml that remedies rest on.

    `ops_per_load`: what register tiles reach. `loads_of_row`: loads per product when a thread
    computes a row of outputs, over those of one output. `traffic_of_larger_tile`: bytes per product
    of a tile with one side doubled, over those of a square one. `random_ways`: wavefronts of a
    shared atomic whose 32 lanes fall anywhere.
    """

    ops_per_load: float
    loads_of_row: float
    traffic_of_larger_tile: float
    random_ways: float


@dataclass
class _Draft:
    """Work that is being changed: accesses by address, and factors of the executions."""

    found: LaunchWork
    accesses: dict[int, Access]
    hits: dict[int, Hits]
    counts: dict[int, Span]
    most_dram_bytes: float = math.inf

    def scale(self, address: int, factor: float) -> None:
        """Let an instruction run that often, and touch as much less."""
        if address in self.counts:
            self.counts[address] = self.counts[address].times(factor)
        access = self.accesses.get(address)
        if access is not None:
            self.accesses[address] = _scaled(access, factor)

    def drop(self, address: int) -> None:
        """Take an instruction away."""
        self.counts.pop(address, None)
        self.accesses.pop(address, None)

    def finished(self) -> Work:
        """Give the work, with the traffic that its accesses cause."""
        work = self.found.work
        accesses = tuple(self.accesses.values())
        executed = Executed(self.counts, work.executed.basis, work.executed.doubts)
        flow = self.found.flow(accesses, self.hits)
        if flow is not None and flow.dram_bytes.value > self.most_dram_bytes:
            moved = flow.dram_bytes.times(self.most_dram_bytes / flow.dram_bytes.value)
            flow = replace(flow, dram_bytes=moved)
        return replace(work, executed=executed, accesses=accesses, traffic=flow)


Remedy = Callable[[_Draft, Figures], bool]  # False: there is nothing to change


def remade(found: LaunchWork, figures: Figures) -> dict[str, Work]:
    """Give the work after each remedy that would change something, by its name."""
    result = {}
    for name, remedy in REMEDIES.items():
        draft = unchanged(found)
        if remedy(draft, figures):
            result[name] = draft.finished()
    return result


def unchanged(found: LaunchWork) -> _Draft:
    """Start from the work as it is."""
    work = found.work
    accesses = {access.address: access for access in work.accesses}
    return _Draft(found, accesses, dict(found.hits), dict(work.executed.counts))


def _scaled(access: Access, factor: float) -> Access:
    return replace(
        access,
        executions=access.executions * factor,
        lanes=access.lanes * factor,
        sectors=access.sectors.times(factor),
        lines=access.lines.times(factor),
        requests=access.requests.times(factor),
        wavefronts=access.wavefronts.times(factor),
        ideal_wavefronts=access.ideal_wavefronts * factor,
        ideal_sectors=access.ideal_sectors * factor,
        bytes=access.bytes * factor,
    )


def _looping(emulation: Emulation) -> Callable[[int], bool]:
    """Tell what stands in a loop; without loops, everything does."""
    regions = loop_regions(emulation)
    return lambda address: not regions or any(a <= address <= b for a, b in regions)


def _conflict_free(draft: _Draft, _: Figures) -> bool:
    changed = False
    for address, access in draft.accesses.items():
        if access.space == "shared" and access.wavefronts.value > access.ideal_wavefronts > 0:
            least = exactly(access.ideal_wavefronts)
            draft.accesses[address] = replace(access, wavefronts=least)
            changed = True
    return changed


def _coalesced(draft: _Draft, _: Figures) -> bool:
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


def _wider(draft: _Draft, _: Figures) -> bool:
    """Let a lane move 16 bytes at once: its own neighbours, or what the next lanes took.

    The bytes are the same, so only requests are saved, and passes where lanes share bytes.
    """
    merged = {a: merge for merge in draft.found.merges for a in merge.addresses}
    for address, merge in merged.items():
        if address in draft.accesses:
            _widen(draft, address, merge.width / merge.wider, merge.passes)
    alone = [a for a in widenable(draft.accesses.values()) if a not in merged]
    for address in alone:
        _widen(draft, address, draft.accesses[address].width / WIDEST_BYTES, 1.0)
    return bool(merged or alone)


def _widen(draft: _Draft, address: int, factor: float, passes: float) -> None:
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


def widenable(accesses: Iterable[Access]) -> list[int]:
    """Find narrow global accesses whose lanes fill their sectors: they can be dealt out anew."""
    return [
        a.address
        for a in accesses
        if a.space == "global"
        and a.kind in ("load", "store")
        and a.width < WIDEST_BYTES
        and not a.depends_on_data
        and a.bytes >= FILLED * a.sectors.value * SECTOR_BYTES
    ]


def _no_spills(draft: _Draft, _: Figures) -> bool:
    local = [a.address for a in draft.accesses.values() if a.space == "local"]
    for address in local:
        draft.drop(address)
    return bool(local)


def _shuffled(draft: _Draft, _: Figures) -> bool:
    """Let a shuffle do what stores, loads and a barrier did: one per barrier and warp."""
    code = draft.found.emulation.program.function.instructions
    barriers = [i.address for i in code if i.opcode == BARRIER]
    steps = sum(draft.counts.get(address, NOTHING).value for address in barriers)
    shared = [a for a in draft.accesses.values() if a.space == "shared"]
    loads = [a for a in shared if a.kind == "load"]
    loaded = sum(a.executions for a in loads)
    if not steps or not loaded:
        return False
    for address in (*barriers, *(a.address for a in shared if a.kind != "load")):
        draft.drop(address)
    for access in loads:
        draft.scale(access.address, min(1.0, steps / loaded))
        one = draft.accesses[access.address]
        draft.accesses[access.address] = replace(one, wavefronts=exactly(one.executions))
    return True


def _full_lanes(draft: _Draft, _: Figures) -> bool:
    """Let all lanes of a warp go the same way: as many lanes in fewer warp instructions."""
    changed = False
    for address, share in lane_shares(draft.found.emulation).items():
        if 0.0 < share < 1.0:
            draft.scale(address, share)
            changed = True
    return changed


def _private_atomics(draft: _Draft, figures: Figures) -> bool:
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


def _register_tile(draft: _Draft, figures: Figures) -> bool:
    """Let a load feed as many operations as a square tile of outputs in registers lets it."""
    return _feed(draft, figures.ops_per_load, None)


def _register_row(draft: _Draft, figures: Figures) -> bool:
    """Let a thread compute a row of outputs: one of the two operands serves them all."""
    return _feed(draft, figures.ops_per_load, figures.loads_of_row)


def _feed(draft: _Draft, wanted: float, factor: float | None) -> bool:
    """Scale the loads of the products, with the addresses, conditions and loops around them."""
    found = draft.found
    looping = _looping(found.emulation)
    loads = [a for a in draft.accesses.values() if a.kind == "load" and looping(a.address)]
    feeding = [a for a in loads if a.space == "shared"] or [a for a in loads if a.space == "global"]
    ops = found.products(draft.counts)
    loaded = sum(a.executions for a in feeding)
    if not ops or not loaded or ops / loaded >= wanted:
        return False
    if factor is None:
        factor = ops / loaded / wanted
    kept = {a.address for a in draft.accesses.values()} - {a.address for a in feeding}
    for instruction in found.work.function.instructions:
        address = instruction.address
        computes = found.flops_of(instruction) or instruction.opcode == BARRIER
        if looping(address) and address not in kept and not computes:
            draft.scale(address, factor)
    return True


def _read_once(draft: _Draft, _: Figures) -> bool:
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


def _larger_tile(draft: _Draft, figures: Figures) -> bool:
    looping = _looping(draft.found.emulation)
    feeding = [
        a.address
        for a in draft.accesses.values()
        if looping(a.address) and a.space in ("global", "shared", "bulk") and a.kind in LOADS
    ]
    for address in feeding:
        draft.scale(address, figures.traffic_of_larger_tile)
    return bool(feeding)


REMEDIES: Mapping[str, Remedy] = {
    "conflict_free": _conflict_free,
    "coalesced": _coalesced,
    "wider": _wider,
    "no_spills": _no_spills,
    "shuffled": _shuffled,
    "full_lanes": _full_lanes,
    "private_atomics": _private_atomics,
    "register_tile": _register_tile,
    "register_row": _register_row,
    "read_once": _read_once,
    "larger_tile": _larger_tile,
}
