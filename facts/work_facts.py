"""What the emulation of a launch says as facts: accesses, and the bound of each resource."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .accesses import Access
from .bounds import Bound
from .emulator.launch import WARP
from .launch_work import LaunchWork
from .mix import at_addresses
from .model import Fact, Missing, Source, Value
from .shape_facts import shape_facts

ACCESS_NAMES = (
    "access.global.sectors_per_request",
    "access.global.ideal_sectors_per_request",
    "access.global.store_sectors_per_request",
    "access.global.ideal_store_sectors_per_request",
    "access.global.lane_stride_bytes",
    "access.global.data_dependent_fraction",
    "access.global.reuse_by_block",
    "access.global.reread_factor",
    "access.global.merge_saved",
    "access.global.widenable_fraction",
    "access.shared.merge_saved",
    "access.merged_bytes",
    "access.bulk.stage_bytes",
    "access.shared.conflict_ways",
    "access.shared.stride_bytes",
    "access.shared.padding_bytes",
    "access.active_lanes_fraction",
    "lanes.active_fraction",
)
SIDES = ("compute", "memory")
Weight = Callable[[Access], float]


def work_facts(
    found: LaunchWork, bounds: Sequence[Bound], filled: float
) -> tuple[list[Fact], list[Missing]]:
    """Give accesses and bounds; counts that rest on nothing give no bounds."""
    facts = [*emulation_facts(found), *access_facts(found), *shape_facts(found, filled)]
    known = {fact.name for fact in facts}
    missing = [
        Missing(name, "the kernel has no such access", applies=False)
        for name in ACCESS_NAMES
        if name not in known
    ]
    if found.scale_known:
        facts += bound_facts(found, bounds)
    return facts, missing


def emulation_facts(found: LaunchWork) -> list[Fact]:
    """Tell what the emulation left out for its budgets."""
    ended, blocks = found.emulation.doubt.ended_early, len(found.emulation.log)
    said = f"budget spent after {blocks} executions of a block of code" if ended else "all ran"
    left = "first accesses only" if found.lines_left_out else "all accesses"
    given = "--args" if found.arguments_known else "no --args: values are made up"
    return [
        Fact("emulation.arguments_known", found.arguments_known, "", Source("option", given)),
        Fact("emulation.ended_early", ended, "", Source("emulated", said)),
        Fact("emulation.lines_left_out", found.lines_left_out, "", Source("emulated", left)),
    ]


def bound_facts(found: LaunchWork, bounds: Sequence[Bound]) -> list[Fact]:
    """Give `bounds.R.time_ms` of every resource, of each unit, and of both sides: the largest."""
    executed = found.work.executed
    counted = f"counts by {executed.basis}"
    doubts = f"; {'; '.join(executed.doubts)}" if executed.doubts else ""
    facts: dict[str, Fact] = {}
    for bound in bounds:
        source = Source("emulated", f"{bound.basis}, {counted}{doubts}")
        for name in dict.fromkeys((bound.resource, bound.group, bound.side)):
            best = facts.get(f"bounds.{name}.time_ms")
            if best is None or float(best.value) < bound.time_ms.value:
                facts |= _spans(f"bounds.{name}.time", bound, source)
    largest = max(bounds, key=lambda bound: bound.time_ms.value, default=None)
    if largest is not None:
        source = Source("emulated", f"{largest.basis}, {counted}")
        name = "bounds.largest.resource"
        facts[name] = Fact(name, largest.resource, "", source)
        name = "bounds.largest.time_ms"
        facts[name] = Fact(name, largest.time_ms.value, "ms", source)
    traffic = found.work.traffic
    if traffic is not None:
        name = "bounds.dram.bytes"
        source = Source("emulated", "distinct bytes of all accesses")
        facts[name] = Fact(name, traffic.dram_bytes.value, "B", source)
    return list(facts.values())


def _spans(name: str, bound: Bound, source: Source) -> dict[str, Fact]:
    time = bound.time_ms
    values = {f"{name}_ms": time.value, f"{name}_low_ms": time.low, f"{name}_high_ms": time.high}
    return {key: Fact(key, value, "ms", source) for key, value in values.items()}


def access_facts(found: LaunchWork) -> list[Fact]:
    """Give the means over all executions, and stride and padding where conflicts cost most."""
    accesses = [access for access in found.work.accesses if access.executions]
    loads = [a for a in accesses if a.space == "global" and a.kind in ("load", "copy")]
    stores = [a for a in accesses if a.space == "global" and a.kind == "store"]
    shared = [a for a in accesses if a.space == "shared" and a.ideal_wavefronts]
    facts: list[Fact] = []
    for prefix, group in (("", loads), ("store_", stores)):
        ideal = f"access.global.ideal_{prefix}sectors_per_request"
        _mean(facts, f"access.global.{prefix}sectors_per_request", group, lambda a: a.sectors.value)
        _mean(facts, ideal, group, lambda a: a.ideal_sectors)
    both = loads + stores
    _mean(facts, "access.global.data_dependent_fraction", both, _data)
    worst = max(both, key=lambda a: a.sectors.value - a.ideal_sectors, default=None)
    if worst is not None and worst.stride is not None:
        _add(facts, "access.global.lane_stride_bytes", worst.stride, "B", [worst])
    if shared:
        _add_conflicts(facts, shared)
    if accesses:
        lanes = sum(a.lanes for a in accesses) / sum(a.executions for a in accesses)
        _add(facts, "access.active_lanes_fraction", lanes / WARP, "", accesses)
    traffic = found.work.traffic
    if traffic is not None and traffic.reread_factor is not None and loads:
        _add(facts, "access.global.reread_factor", traffic.reread_factor, "", loads)
    distinct = sum(one.bytes for one in found.footprints if not one.writes)
    if loads and distinct:
        asked = sum(a.bytes for a in loads) / found.emulation.launch.blocks
        _add(facts, "access.global.reuse_by_block", asked / distinct, "", loads)
    return facts


def _data(access: Access) -> float:
    return access.data_share * access.executions


def _add_conflicts(facts: list[Fact], shared: Sequence[Access]) -> None:
    """A row stride that is a multiple of all banks is broken by one access width more per row."""
    ways = sum(a.wavefronts.value for a in shared) / sum(a.ideal_wavefronts for a in shared)
    _add(facts, "access.shared.conflict_ways", ways, "", shared)
    worst = max(shared, key=lambda a: a.wavefronts.value - a.ideal_wavefronts)
    if worst.wavefronts.value > worst.ideal_wavefronts and worst.stride:
        _add(facts, "access.shared.stride_bytes", abs(worst.stride), "B", [worst])
        _add(facts, "access.shared.padding_bytes", worst.width, "B", [worst])


def _mean(facts: list[Fact], name: str, group: Sequence[Access], total: Weight) -> None:
    executions = sum(access.executions for access in group)
    if executions:
        _add(facts, name, sum(map(total, group)) / executions, "", group)


def _add(facts: list[Fact], name: str, value: Value, unit: str, accesses: Iterable[Access]) -> None:
    where = at_addresses(sorted({access.address for access in accesses}))
    facts.append(Fact(name, value, unit, Source("emulated", where.detail)))
