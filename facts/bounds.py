"""Lower bounds on the time of a launch: what each resource needs at least for the work that runs.

Compute side: issue slots, arithmetic pipes, the pipes that take memory and address instructions.
Memory side: wavefronts of L1 and shared memory, requests and ports of L2, bytes of DRAM. A bound is
work / rate, as if the work were spread evenly over the chip and nothing waited. The grouping is
that of Nsight Compute's two throughputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from ..parsers.listing import Function, Instruction
from ..parsers.record import dataclass
from .accesses import Access
from .executed import Executed
from .hardware import Architecture
from .instructions import InstructionTable
from .l2 import Traffic
from .pipes import Clocks, PipeTable, kind_of
from .spans import NOTHING, Span, exactly, total

Side = Literal["compute", "memory"]
WAVEFRONT_BYTES = 128
WARPS_PER_GROUP = 4
L1_GROUPS = frozenset({"memory"})  # opcode groups that pass the L1 data stage


@dataclass(frozen=True, slots=True)
class Chip:
    """What a bound needs of the device; None where it is not known."""

    id: str
    sm_count: int
    boost_ghz: float
    product_class: str | None = None
    l2_bytes: int | None = None
    dram_gb_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class Bound:
    """The time that one resource needs at least.

    `group` joins parts of one unit (l1, l2). `share` is bound / measured time, None without a time.
    """

    resource: str
    group: str
    side: Side
    time_ms: Span
    share: Span | None
    basis: str


@dataclass(frozen=True)
class Work:
    """Everything that runs and is touched, as far as it is known."""

    function: Function
    executed: Executed
    accesses: Sequence[Access] = ()
    traffic: Traffic | None = None
    dram_bytes: float | None = None  # of the problem, where no access tells


@dataclass(frozen=True)
class Pipes:
    """Cycles of a sub-partition by pipe, and opcodes that no pipe is known for."""

    cycles: Mapping[str, Span]
    issued: Span
    stage: Span  # wavefronts of L1 that are no access: shuffles, thread indices
    tensor_share_cycles: float
    warpgroup: bool
    unknown: tuple[str, ...]


def pipe_cycles(
    work: Work,
    pipes: PipeTable,
    table: InstructionTable,
    architecture: Architecture,
    product_class: str | None,
) -> Pipes:
    """Add up executions times cost for each pipe."""
    cycles: dict[str, Span] = {}
    issued = stage = NOTHING
    unknown: set[str] = set()
    hot = 0.0
    warpgroup = False
    accesses = {access.address: access for access in work.accesses}
    for instruction, executions in _of_each_kind(work):
        count = total(executions.values())
        issued = issued + count
        uses = pipes.uses(instruction, table, architecture, product_class)
        if uses is None:
            unknown.add(instruction.mnemonic)
            continue
        for pipe, cost in uses.items():
            cycles[pipe] = cycles.get(pipe, NOTHING) + count.times(cost)
        group = pipes.group(instruction)
        if group in L1_GROUPS:
            stage = stage + _without_access(executions, accesses)
        if group in pipes.warpgroup_groups:
            stage = stage + count.times(warpgroup_wavefronts(instruction))
        if group in pipes.hot_groups:
            hot += count.value * uses.get("tensor", 0.0)
        warpgroup = warpgroup or group in pipes.warpgroup_groups
    return Pipes(cycles, issued, stage, hot, warpgroup, tuple(sorted(unknown)))


def _of_each_kind(work: Work) -> Iterator[tuple[Instruction, dict[int, Span]]]:
    """Give one instruction of each kind, and the executions of all of them by address."""
    counts = work.executed.counts
    for one, addresses in _kinds(work.function.instructions):
        executions = {
            address: count
            for address in addresses
            if (count := counts.get(address)) is not None and count.high
        }
        if executions:
            yield one, executions


Kinds = Sequence[tuple[Instruction, Sequence[int]]]  # one instruction, the addresses of all alike
_sorted: tuple[Sequence[Instruction], Kinds] = ((), ())


def _kinds(code: Sequence[Instruction]) -> Kinds:
    """Sort the instructions of a function by kind; the last answer is kept.

    The bounds of one function are asked for again and again, after each remedy.
    """
    global _sorted
    if _sorted[0] is not code:
        found: dict[tuple[object, ...], tuple[Instruction, list[int]]] = {}
        for instruction in code:
            wide = instruction.opcode.endswith("GMMA")  # A from registers, or from shared memory
            key = (*kind_of(instruction), instruction.operands[1].kind if wide else "")
            found.setdefault(key, (instruction, []))[1].append(instruction.address)
        _sorted = (code, list(found.values()))
    return _sorted[1]


def _without_access(executions: Mapping[int, Span], accesses: Mapping[int, Access]) -> Span:
    """Count executions that touch nothing, which still take one pass: shuffles, false guards."""
    idle = []
    for address, count in executions.items():
        access = accesses.get(address)
        if access is None:
            idle.append(count)
        elif access.space != "bulk" and count.value > access.executions:
            idle.append(exactly(count.value - access.executions))
    return total(idle)


def warpgroup_wavefronts(instruction: Instruction) -> float:
    """Count wavefronts that a warpgroup product reads from shared memory, per warp.

    Rows and columns of one step, (M + N) K elements; A may come from registers. 128 bytes a
    wavefront, a quarter of it for each of the four warps.
    """
    shape = next((m for m in instruction.modifiers if m.count("x") == 2), None)
    if shape is None:
        return 0.0
    rows, columns, depth = map(int, shape.split("x"))
    size = 1 if instruction.opcode[0] in "IQ" else 4 if "TF32" in instruction.modifiers else 2
    from_shared = (
        instruction.operands[1].kind == "memory" if len(instruction.operands) > 1 else True
    )
    elements = ((rows if from_shared else 0) + columns) * depth
    return elements * size / WAVEFRONT_BYTES / WARPS_PER_GROUP


def clock_ghz(
    chip: Chip, clocks: Clocks | None, pipes: Pipes, time_ms: float | None, lanes: int
) -> float:
    """Choose the clock: as measured with or without tensor work, else the data sheet's."""
    if clocks is None:
        return chip.boost_ghz
    if time_ms is None or not pipes.tensor_share_cycles:
        return clocks.plain
    share = pipes.tensor_share_cycles / lanes / (time_ms * 1e6 * clocks.tensor)
    if share < clocks.tensor_from_share:
        return clocks.plain
    return clocks.warpgroup if pipes.warpgroup else clocks.tensor


def bounds(
    work: Work,
    chip: Chip,
    pipes: PipeTable,
    table: InstructionTable,
    architecture: Architecture,
    time_ms: float | None = None,
    plausible_share: float = 1.0,
) -> tuple[Bound, ...]:
    """Give the bound of every resource whose work and rate are known, the largest first.

    The time is a measured upper limit on the work: what may be less than `plausible_share` of it
    is cut there.
    """
    lanes = chip.sm_count * architecture.limits.sub_partitions
    used = pipe_cycles(work, pipes, table, architecture, chip.product_class)
    ghz = clock_ghz(chip, pipes.clocks.get(chip.id), used, time_ms, lanes)
    per_ms = ghz * 1e6
    found = [
        _bound(
            "issue",
            "issue",
            "compute",
            used.issued.times(1 / (lanes * per_ms)),
            "warp instructions",
        )
    ]
    for pipe, cycles in used.cycles.items():
        time = cycles.times(1 / (lanes * per_ms))
        found.append(_bound(pipe, pipe, "compute", time, f"executions x cycles of the {pipe} pipe"))
    found += _l1_bounds(work, used, pipes, chip.sm_count * per_ms, lanes * per_ms)
    found += _l2_bounds(work, pipes, chip)
    found += _dram_bound(work, pipes, chip)
    kept = (one for one in found if one.time_ms.high > 0)
    shared = (_shared(one, time_ms, plausible_share) for one in kept)
    return tuple(sorted(shared, key=lambda b: -b.time_ms.value))


def _bound(resource: str, group: str, side: Side, time_ms: Span, basis: str) -> Bound:
    return Bound(resource, group, side, time_ms, None, basis)


def _shared(bound: Bound, time_ms: float | None, plausible_share: float) -> Bound:
    if time_ms is None:
        return bound
    time, basis = bound.time_ms, bound.basis
    if time.low <= plausible_share * time_ms < time.value:
        time = Span(time.low, time_ms, time_ms)
        basis = f"{basis}, as many as the time allows"
    elif time.value <= plausible_share * time_ms < time.high:
        time = Span(time.low, time.value, max(time.value, time_ms))
    return replace(bound, time_ms=time, share=time.times(1 / time_ms), basis=basis)


def _l1_bounds(
    work: Work,
    used: Pipes,
    pipes: PipeTable,
    sm_cycles_per_ms: float,
    lane_cycles_per_ms: float,
) -> list[Bound]:
    if not work.accesses and not used.stage.high:
        return []
    rate = 1 / (pipes.wavefronts_per_clock * sm_cycles_per_ms)
    shared = total = NOTHING
    for access in work.accesses:
        total = total + access.wavefronts
        if access.space == "shared":
            shared = shared + access.wavefronts
    basis = "wavefronts of the L1 data stage"
    found = [_bound("l1", "l1", "memory", (total + used.stage).times(rate), basis)]
    if shared.high:
        found.append(
            _bound("shared", "l1", "memory", shared.times(rate), "wavefronts of shared memory")
        )
    lsu = used.cycles.get("lsu")
    if lsu is not None:  # the same requests, seen from the memory side
        time = lsu.times(1 / lane_cycles_per_ms)
        found.append(_bound("l1_requests", "l1", "memory", time, "requests that enter L1"))
    return found


def _l2_bounds(work: Work, pipes: PipeTable, chip: Chip) -> list[Bound]:
    path, traffic = pipes.l2.get(chip.id), work.traffic
    if path is None or traffic is None:
        return []
    parts = (
        ("l2_tags", traffic.tags, path.tags_per_ns, "tag look-ups of L2"),
        ("l2_read", traffic.read_sectors, path.read_sectors_per_ns, "sectors that L2 sends"),
        ("l2_write", traffic.write_slots, path.write_slots_per_ns, "slots of the port into L2"),
    )
    return [
        _bound(name, "l2", "memory", span.times(1 / (rate * 1e6)), basis)
        for name, span, rate, basis in parts
    ]


def _dram_bound(work: Work, pipes: PipeTable, chip: Chip) -> list[Bound]:
    rate = pipes.dram_gb_per_s.get(chip.id) or chip.dram_gb_per_s
    if rate is None:
        return []
    if work.traffic is not None:
        span, basis = work.traffic.dram_bytes, "distinct bytes of all accesses"
    elif work.dram_bytes is not None:
        span = exactly(work.dram_bytes)
        basis = "unique bytes of the problem"
    else:
        return []
    return [_bound("dram", "dram", "memory", span.times(1 / (rate * 1e6)), basis)]
