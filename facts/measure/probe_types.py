"""What a micro-benchmark is and what a run of it gives; all of it data or plain records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Literal

from ...parsers.record import dataclass
from .device import DeviceInfo

Quantity = Literal[
    "cycles_per_instruction", "per_sm_clock", "per_ns", "latency_cycles", "latency_ns"
]
Loops = Mapping[str, Mapping[str, Mapping[str, Mapping[str, int]]]]  # source, arch, kernel, opcode


@dataclass(frozen=True, slots=True)
class BufferSize:
    """How large the buffer of a probe is: the smallest of what is given."""

    bytes: int | None = None
    l2: float | None = None  # share of L2
    free: float | None = None  # share of the free memory
    most: int | None = None
    per_block: int | None = None
    power_of_two: bool = False


@dataclass(frozen=True, slots=True)
class ProbeLaunch:
    """A block size and how many blocks each SM gets."""

    threads: int
    per_sm: int = 1
    dynamic_smem: int = 0


@dataclass(frozen=True, slots=True)
class ProbeSpec:
    """One entry of probes.yaml."""

    id: str
    source: str
    kernel: str
    values: Mapping[str, Quantity]
    opcodes: tuple[str, ...] = ()
    per_instruction: float = 1
    sweep: float | None = None
    contents: str = "u32"
    buffer: BufferSize = BufferSize(bytes=1 << 20)
    prepare: str | None = None
    each_time: bool = False
    launches: tuple[ProbeLaunch, ...] = ()
    one_warp: bool = False
    tensor: bool = False
    target_ms: float | None = None
    oldest: str | None = None
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProbeSettings:
    """How often and how long; see probes.yaml."""

    passes: int
    repeats: int
    target_ms: float
    one_warp_target_ms: float
    tensor_target_ms: float
    launches: tuple[ProbeLaunch, ...]
    tensor_launches: tuple[ProbeLaunch, ...]
    stable_fraction: float
    warm_up_ms: float
    time_limit_s: float
    sub_partitions: int
    lanes: int


@dataclass(frozen=True, slots=True)
class Sample:
    """One launch: its time from outside, the median time of its blocks from inside."""

    event_ms: float
    cycles: float
    nanoseconds: float
    iterations: int
    blocks: int
    warps: int  # of a block

    @property
    def clock_ghz(self) -> float:
        """SM clock during the launch."""
        return self.cycles / self.nanoseconds


@dataclass(frozen=True, slots=True)
class Measured:
    """One figure of the device file."""

    name: str
    value: float
    unit: str
    spread_fraction: float  # largest minus smallest pass, over the value
    clock_ghz: float
    stable: bool
    probe: str
    note: str = ""


@dataclass
class ProbeReport:
    """What a run of `kneck probe` found, and what it had to leave out, with the reason."""

    device: DeviceInfo
    measured: list[Measured] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)


def unsupported(spec: ProbeSpec, arch: str) -> str | None:
    """Say why a probe cannot run on an architecture, None where it can."""
    if spec.only and arch not in spec.only:
        return f"only on {', '.join(spec.only)}"
    if spec.oldest is not None and int(arch[3:]) < int(spec.oldest[3:]):
        return f"from {spec.oldest} on"
    return None


@dataclass(frozen=True, slots=True)
class LoopCounts:
    """Opcodes of one trip through a probe's loop, and the architecture they were counted for.

    `exact` is False where the driver compiles PTX for a GPU that no cubin was made for.
    """

    opcodes: Mapping[str, int]
    arch: str | None
    exact: bool

    def count(self, prefixes: Iterable[str]) -> int:
        """Number of instructions whose mnemonic starts with one of these opcodes."""
        wanted = tuple(prefixes)
        return sum(
            number
            for mnemonic, number in self.opcodes.items()
            if any(mnemonic.startswith(prefix) for prefix in wanted)
        )


def loop_counts(loops: Loops, spec: ProbeSpec, arch: str) -> LoopCounts:
    """Find the counts of the cubin that the driver picks: same generation, not newer."""
    number = int(arch[3:])
    built = {int(name[3:].rstrip("af")): name for name in loops.get(spec.source, {})}
    fitting = [n for n in built if n // 10 == number // 10 and n <= number]
    older = [n for n in built if n <= number]
    if not older:
        return LoopCounts({}, None, False)
    name = built[max(fitting or older)]
    return LoopCounts(loops[spec.source][name].get(spec.kernel, {}), name, bool(fitting))


@dataclass
class Plan:
    """A probe with what its passes gave."""

    spec: ProbeSpec
    counts: LoopCounts
    passes: list[Sample] = field(default_factory=list)
    launch: ProbeLaunch | None = None
    iterations: int = 0
    buffer_bytes: int = 0
