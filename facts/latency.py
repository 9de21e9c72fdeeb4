"""Why a kernel that fills no unit takes its time: what one warp waits for, and how blocks fill SMs.

    time >= rounds of blocks * cycles of one warp / clock + launch
    cycles of one warp = issue + stalls + what its waits for scoreboards and barriers leave exposed

It gives the cause of a latency verdict and decides none: other warps of an SM hide nothing of this
chain, and they add to it where a unit is shared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..parsers.listing import Instruction
from ..parsers.record import dataclass
from .accesses import Access
from .emulator.emulate import Emulation
from .emulator.launch import array_of
from .emulator.values import plain_values
from .l1_cache import Hits
from .launch_work import LaunchWork
from .pipes import Latencies, PipeTable
from .sampled_lines import LINE_BITS
from .warp_timeline import CHAIN, ISSUE, play

LAUNCH, LAST_WAVE, IDLE_SMS, SAME_ADDRESS = (
    "launch", "last wave", "SMs without a block", "atomics on the same addresses",
)  # fmt: skip
ATOMICS = frozenset({"RED", "REDG", "ATOM", "ATOMG"})


@dataclass(frozen=True, slots=True)
class Part:
    """Time that one cause takes at least, and the instructions where, the worst first."""

    cause: str
    time_ms: float
    addresses: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Latency:
    """The chain of one launch: its time, and its parts, the largest first.

    `rounds` of blocks follow each other on an SM; `tail_fill` is the share of SM slots that the
    last round uses. `bytes_in_flight` per SM: what resident warps ask for, over their time, times
    the DRAM latency (Little's law).
    """

    time_ms: float
    warp_cycles: float
    rounds: int
    tail_fill: float
    idle_sms: float
    bytes_in_flight: float
    parts: tuple[Part, ...]
    by_address: Mapping[int, float]  # ms of the chain at each instruction

    @property
    def cause(self) -> str | None:
        """Name the largest part that is a wait, not the issue of instructions itself."""
        return next((part.cause for part in self.parts if part.cause != ISSUE), None)


@dataclass(frozen=True, slots=True)
class Slots:
    """How the grid meets the chip."""

    blocks: int
    blocks_per_sm: int
    sms: int

    @property
    def rounds(self) -> int:
        """Blocks that follow each other on one slot, the last round rounded up."""
        return max(1, -(-self.blocks // (self.blocks_per_sm * self.sms)))

    @property
    def tail_fill(self) -> float:
        """Share of the slots that the last round uses."""
        slots = self.blocks_per_sm * self.sms
        return (self.blocks - (self.rounds - 1) * slots) / slots

    @property
    def idle_sms(self) -> float:
        """Share of the SMs that get no block at all."""
        return max(0.0, 1 - self.blocks / self.sms)


def latency(
    found: LaunchWork, pipes: PipeTable, sms: int, ghz: float, launch_ms: float | None = None
) -> Latency | None:
    """Estimate the chain; None where latencies or control words are not known."""
    costs, emulation, work = pipes.latencies, found.emulation, found.work
    if costs is None:
        return None
    accesses = {access.address: access for access in work.accesses}
    share = work.traffic.dram_share if work.traffic is not None else 1.0
    unit = _Units(costs, pipes, found.hits, share, accesses)
    timeline = play(emulation, unit.of, costs.operands)
    if timeline is None:
        return None
    slots = Slots(emulation.launch.blocks, found.blocks_per_sm, sms)
    warp_ms = timeline.cycles / (ghz * 1e6)
    parts: dict[str, float] = {
        LAUNCH: launch_ms or 0.0,
        SAME_ADDRESS: _serialised_ms(found, costs),
        LAST_WAVE: warp_ms * (1 - slots.tail_fill) if slots.rounds > 1 else 0.0,
        IDLE_SMS: warp_ms * slots.rounds * slots.idle_sms,
    }
    places: dict[str, dict[int, float]] = {}
    by_address: dict[int, float] = {}
    for (cause, address), cycles in timeline.parts.items():
        time = cycles * slots.rounds / (ghz * 1e6)
        parts[cause] = parts.get(cause, 0.0) + time
        by_address[address] = by_address.get(address, 0.0) + time
        places.setdefault(cause, {})[address] = cycles
    shown = (Part(cause, time, _worst(places.get(cause, {}))) for cause, time in parts.items())
    chain = warp_ms * slots.rounds + parts[LAUNCH]
    return Latency(
        time_ms=max(chain, parts[SAME_ADDRESS]),
        warp_cycles=timeline.cycles,
        rounds=slots.rounds,
        tail_fill=slots.tail_fill,
        idle_sms=slots.idle_sms,
        bytes_in_flight=_in_flight(work.accesses, slots, timeline.cycles, costs),
        parts=tuple(sorted((p for p in shown if p.time_ms), key=lambda p: -p.time_ms)),
        by_address=by_address,
    )


def _in_flight(accesses: Sequence[Access], slots: Slots, cycles: float, costs: Latencies) -> float:
    moved = sum(a.bytes for a in accesses if a.space in ("global", "bulk") and a.kind != "store")
    per_sm = moved / slots.blocks * min(slots.blocks_per_sm, -(-slots.blocks // slots.sms))
    return per_sm / cycles * costs.dram if cycles else 0.0


def _worst(places: Mapping[int, float]) -> tuple[int, ...]:
    return tuple(sorted(places, key=lambda a: -places[a]))


def _serialised_ms(found: LaunchWork, costs: Latencies) -> float:
    """Give the time of atomics that meet in few lines: one slice of L2 takes them one by one."""
    asked = sum(a.sectors.value for a in found.work.accesses if a.opcode in ATOMICS)
    if not asked:
        return 0.0
    arrays = _atomic_arrays(found.emulation)
    lines = 0.0
    for entry in found.footprints:
        if entry.writes and entry.array in arrays and True not in entry.moves:
            lines += entry.lines
        elif entry.writes and entry.array in arrays:
            lines += found.sizes.get(entry.array, float("inf")) / (1 << LINE_BITS)
    lines = lines or sum(found.sizes.get(array, float("inf")) for array in arrays) / (
        1 << LINE_BITS
    )
    return asked / max(1.0, lines) * costs.atomic_sector_ns * 1e-6


def _atomic_arrays(emulation: Emulation) -> frozenset[int]:
    """Name the arrays that atomics reach."""
    size = (emulation.launch.size,)
    found = set()
    for touch in emulation.log.touches:
        if touch.instruction.opcode in ATOMICS and touch.high is not None:
            high = int(plain_values(touch.high, size)[touch.lanes.argmax()])
            found.add(array_of(high << 32))
    return frozenset(found)


@dataclass
class _Units:
    """Names the unit that a result comes from, and how long it takes."""

    costs: Latencies
    pipes: PipeTable
    hits: Mapping[int, Hits]
    dram_share: float
    accesses: Mapping[int, Access]

    def of(self, instruction: Instruction) -> tuple[str, float] | None:
        """Give cause and cycles; None for what the stalls alone cover."""
        opcode, costs = instruction.opcode, self.costs
        if opcode in ("LDG", "LD", "LDGSTS"):
            return "global loads", self._cached(instruction)
        if opcode == "LDL":
            return "local memory", self._cached(instruction)
        if opcode in ("LDS", "LDSM", "ATOMS", "STS", "STSM"):
            access = self.accesses.get(instruction.address)
            ways = 1.0
            if access is not None and access.executions:
                ways = access.wavefronts.value / access.executions
            return "shared memory", costs.shared + ways - 1
        if opcode in ATOMICS:
            return "atomics", costs.atomic
        if opcode == "BAR":
            return "barriers", costs.barrier
        if opcode == "SHFL":
            return "shuffles", costs.shuffle
        group = self.pipes.group(instruction)
        if group == "special":
            return "special functions", costs.special
        if group == "address" or opcode == "ULDC":
            return "constants and indices", costs.constant
        return (CHAIN, costs.other) if self._is_waited_for(instruction) else None

    def _cached(self, instruction: Instruction) -> float:
        rate = 0.0
        hit = self.hits.get(instruction.address)
        if hit is not None and instruction.opcode != "LDGSTS":
            rate = hit.rate
        costs = self.costs
        miss = self.dram_share * costs.dram + (1 - self.dram_share) * costs.l2
        return rate * costs.l1 + (1 - rate) * miss

    @staticmethod
    def _is_waited_for(instruction: Instruction) -> bool:
        control = instruction.control
        return control is not None and control.write_barrier is not None
