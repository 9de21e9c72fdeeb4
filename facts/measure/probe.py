"""`kneck probe`: run the micro-benchmarks of `kb/probes` and turn their stamps into ceilings.

Which kernels there are, how they are launched and what their work is, is data (probes.yaml,
loops.json); here stands how a figure follows from a run.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

from ...parsers.errors import KneckError
from ..arguments import Argument
from ..gpu import Gpu
from .bench import Support
from .device import DeviceInfo, Launch

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


def run_probes(
    gpu: Gpu,
    images: Mapping[str, bytes],
    loops: Loops,
    specs: Sequence[ProbeSpec],
    settings: ProbeSettings,
    now: Callable[[], float],
    on_step: Callable[[int, int, str], None] = lambda done, total, name: None,
) -> ProbeReport:
    """Run all probes that this GPU can run, the whole list `passes` times."""
    device = gpu.info
    report = ProbeReport(device)
    runner = Runner(gpu, device, images, settings)
    plans: list[_Plan] = []
    for spec in specs:
        reason = unsupported(spec, device.arch)
        counts = loop_counts(loops, spec, device.arch)
        if reason is None and spec.opcodes and not counts.count(spec.opcodes):
            reason = f"its loop holds no {'/'.join(spec.opcodes)} on {counts.arch or device.arch}"
        if reason is None:
            plans.append(_Plan(spec, counts))
        else:
            report.skipped[spec.id] = reason
    start, done, total = now(), 0, len(plans) * settings.passes
    for _ in range(settings.passes):
        for plan in plans:
            on_step(done, total, plan.spec.id)
            done += 1
            if now() - start > settings.time_limit_s:
                report.skipped.setdefault(plan.spec.id, "the time was up")
            else:
                plan.passes.append(runner.measure(plan))
    on_step(total, total, "")
    report.measured += [m for plan in plans if plan.passes for m in summarize(plan, settings)]
    report.measured += runner.launch_overhead()
    return report


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
class _Plan:
    """A probe with what its passes gave."""

    spec: ProbeSpec
    counts: LoopCounts
    passes: list[Sample] = field(default_factory=list)
    launch: ProbeLaunch | None = None
    iterations: int = 0
    buffer_bytes: int = 0


def summarize(plan: _Plan, settings: ProbeSettings) -> list[Measured]:
    """Turn the passes of one probe into its figures."""
    found = []
    clock = median(sample.clock_ghz for sample in plan.passes)
    for name, quantity in plan.spec.values.items():
        each = [figure(plan, sample, quantity, settings) for sample in plan.passes]
        value = median(each)
        spread = (max(each) - min(each)) / value
        stable = len(each) > 1 and spread <= settings.stable_fraction
        note = "" if plan.counts.exact or not plan.spec.opcodes else "compiled by the driver"
        unit = unit_of(name, quantity)
        found.append(Measured(name, value, unit, spread, clock, stable, plan.spec.id, note))
    return found


def figure(plan: _Plan, sample: Sample, quantity: Quantity, settings: ProbeSettings) -> float:
    """Compute one quantity from one run.

    Work is counted in warp instructions: of a block, loop count x iterations x warps.
    """
    spec = plan.spec
    of_warp = plan.counts.count(spec.opcodes) * sample.iterations
    per_sm = (plan.launch or settings.launches[0]).per_sm
    if quantity == "latency_cycles":
        return sample.cycles / of_warp
    if quantity == "latency_ns":
        return sample.nanoseconds / of_warp
    if quantity == "cycles_per_instruction":
        return sample.cycles * settings.sub_partitions / (of_warp * sample.warps * per_sm)
    if spec.sweep is not None:
        work = spec.sweep * plan.buffer_bytes * sample.iterations
    else:
        work = of_warp * sample.warps * spec.per_instruction * sample.blocks
    if quantity == "per_ns":
        return work / (sample.event_ms * 1e6)
    return work / sample.blocks * per_sm / sample.cycles


UNITS = (
    ("_gb_per_s", "GB/s"), ("_bytes_per_sm_clock", "B/cycle"), ("_lines_per_sm_clock", "1/cycle"),
    ("_sectors_per_ns", "1/ns"), ("_sector_per_ns", "1/ns"), ("_per_ns", "1/ns"),
    ("issue_per_sm_clock", "instructions/cycle"), ("_us", "us"), ("_ns", "ns"),
)  # fmt: skip


def unit_of(name: str, quantity: str) -> str:
    """Give the unit of a figure; a peak without a suffix counts 1e9 operations per second."""
    if quantity in ("cycles_per_instruction", "latency_cycles"):
        return "cycles"
    for suffix, unit in UNITS:
        if name.endswith(suffix):
            return unit
    return "GFLOP/s"


class Runner:
    """Launches probes on one GPU; keeps modules and buffers."""

    SHORTEST_MS = 0.5  # a launch that long gives a usable estimate of its rate
    LARGEST_ITERATIONS = 1 << 40

    def __init__(
        self, gpu: Gpu, device: DeviceInfo, images: Mapping[str, bytes], settings: ProbeSettings
    ) -> None:
        self._gpu, self._device, self._settings = gpu, device, settings
        self._images = images
        self._support = Support(gpu, images["support"])
        self._modules: dict[str, Any] = {}
        self._buffers: dict[tuple[int, str], int] = {}
        self._stamps = gpu.allocate(16 * 64 * device.sms)
        self._warm = False

    def measure(self, plan: _Plan) -> Sample:
        """Run one pass of one probe: the launch with the median rate of `repeats`."""
        spec = plan.spec
        function = self._gpu.function(self._module(spec.source), spec.kernel)
        if plan.launch is None:
            self._settle_launch(plan, function)
        if spec.tensor and not self._warm:
            self._warm_up(plan, function)
        assert plan.launch is not None
        samples = [
            self._launch(plan, function, plan.launch, plan.iterations)
            for _ in range(self._settings.repeats)
        ]
        return sorted(samples, key=lambda s: s.event_ms)[len(samples) // 2]

    def _module(self, source: str) -> Any:
        if source not in self._modules:
            self._modules[source] = self._gpu.load(self._images[source])
        return self._modules[source]

    def _settle_launch(self, plan: _Plan, function: Any) -> None:
        """Choose the fastest of the launches to try, and the iterations for the wanted time."""
        settings, spec = self._settings, plan.spec
        best: tuple[float, ProbeLaunch, int] | None = None
        target = spec.target_ms or (
            settings.one_warp_target_ms if spec.one_warp
            else settings.tensor_target_ms if spec.tensor
            else settings.target_ms
        )  # fmt: skip
        choices = (ProbeLaunch(settings.lanes),) if spec.one_warp else spec.launches
        for launch in choices or settings.launches:
            fitted = self._fitted(function, launch)
            iterations = self._calibrate(plan, function, fitted, target)
            sample = self._launch(plan, function, fitted, iterations)
            blocks = 1 if spec.sweep is not None else sample.blocks * sample.warps
            cost = sample.event_ms / (iterations * blocks)
            if best is None or cost < best[0]:
                best = (cost, fitted, iterations)
        assert best is not None
        _, plan.launch, plan.iterations = best

    def _fitted(self, function: Any, launch: ProbeLaunch) -> ProbeLaunch:
        """Lower the blocks per SM to what this GPU holds at once."""
        self._gpu.prepare(function, Launch((1, 1, 1), (1, 1, 1), launch.dynamic_smem))
        most = self._gpu.blocks_per_sm(function, launch.threads, launch.dynamic_smem)
        if most == 0:
            raise KneckError(
                f"a probe with {launch.threads} threads does not fit on an SM of this GPU",
                help="report this GPU, and leave the probe out of probes.yaml",
            )
        return ProbeLaunch(launch.threads, min(launch.per_sm, most), launch.dynamic_smem)

    def _calibrate(self, plan: _Plan, function: Any, launch: ProbeLaunch, target_ms: float) -> int:
        iterations = 1
        while True:
            sample = self._launch(plan, function, launch, iterations)
            inside_ms = sample.nanoseconds / 1e6
            if inside_ms >= self.SHORTEST_MS or iterations >= self.LARGEST_ITERATIONS:
                return max(1, round(iterations * target_ms / inside_ms))
            iterations *= 4

    def _warm_up(self, plan: _Plan, function: Any) -> None:
        """Keep the tensor cores busy until clock and power have settled."""
        assert plan.launch is not None
        spent = 0.0
        while spent < self._settings.warm_up_ms:
            spent += self._launch(plan, function, plan.launch, plan.iterations).event_ms
        self._warm = True

    def _launch(self, plan: _Plan, function: Any, choice: ProbeLaunch, iterations: int) -> Sample:
        spec = plan.spec
        blocks = 1 if spec.one_warp else choice.per_sm * self._device.sms
        launch = Launch((blocks, 1, 1), (choice.threads, 1, 1), choice.dynamic_smem)
        address, size = self._buffer(spec, blocks)
        plan.buffer_bytes = size
        self._gpu.prepare(function, launch)
        parameters = [
            number.to_bytes(8, "little") for number in (self._stamps, iterations, address, size)
        ]

        def run() -> None:
            self._gpu.launch(function, launch, parameters)

        before = (lambda: self._prepare(spec, address, size)) if spec.each_time else None
        (event_ms,) = self._gpu.time_ms([run], before)
        cycles, nanoseconds = self._read_stamps(blocks)
        warps = -(-choice.threads // self._settings.lanes)
        return Sample(event_ms, cycles, nanoseconds, iterations, blocks, warps)

    def _read_stamps(self, blocks: int) -> tuple[float, float]:
        """Give the medians of the blocks' cycles and nanoseconds."""
        words = struct.unpack(f"<{2 * blocks}Q", self._gpu.download(self._stamps, 16 * blocks))
        return median(words[0::2]), max(median(words[1::2]), 1)

    def _buffer(self, spec: ProbeSpec, blocks: int) -> tuple[int, int]:
        """Give address and size of the probe's buffer, filled with its contents."""
        size = buffer_bytes(spec.buffer, self._device, self._gpu.free_memory, blocks)
        key = (size, spec.prepare or spec.contents)
        if key not in self._buffers:
            self._buffers[key] = self._gpu.allocate(size)
            if spec.prepare is None:
                bits = {"f64": 8, "f32": 4, "u32": 4, "f16": 2, "bf16": 2}.get(spec.contents, 1)
                values = Argument("array", spec.contents, size // bits)
                self._support.fill(self._buffers[key], values, seed=1)
            else:
                self._prepare(spec, self._buffers[key], size)
            self._gpu.synchronize()
        return self._buffers[key], size

    def _prepare(self, spec: ProbeSpec, address: int, size: int) -> None:
        module = self._module(spec.source)
        function = self._gpu.function(module, spec.prepare or "")
        launch = Launch((8 * self._device.sms, 1, 1), (256, 1, 1))
        numbers = (self._stamps, 1, address, size)
        self._gpu.launch(function, launch, [n.to_bytes(8, "little") for n in numbers])

    def launch_overhead(self) -> list[Measured]:
        """Time a kernel that does nothing: alone between two events, and one after another."""
        gpu, empty = self._gpu, self._support.empty
        one = Launch((1, 1, 1), (self._settings.lanes, 1, 1))

        def single() -> None:
            gpu.launch(empty, one, ())

        def row() -> None:
            for _ in range(IN_A_ROW):
                gpu.launch(empty, one, ())

        def hold() -> None:
            self._support.spin(20_000)

        alone = [median(gpu.time_ms([single] * 50, None, hold)) * 1e3 for _ in range(2)]
        queued = [gpu.time_ms([row], None, hold)[0] * 1e3 / IN_A_ROW for _ in range(2)]
        clock = self._device.sm_clock_mhz or 0.0
        return [
            Measured(name, median(each), "us", (max(each) - min(each)) / median(each),
                     clock / 1e3, max(each) - min(each) <= self._settings.stable_fraction
                     * median(each), "empty launch")
            for name, each in (("empty_launch_us", alone), ("launch_interval_us", queued))
        ]  # fmt: skip


IN_A_ROW = 200


def buffer_bytes(
    size: BufferSize, device: DeviceInfo, free_memory: Callable[[], int], blocks: int
) -> int:
    """Settle the size of a buffer on this device, a multiple of 4 KiB."""
    choices: list[float] = []
    if size.bytes is not None:
        choices.append(size.bytes)
    if size.l2 is not None:
        choices.append(size.l2 * (device.l2_bytes or 1 << 22))
    if size.free is not None:
        choices.append(size.free * device.memory_bytes)
    if size.most is not None:
        choices.append(size.most)
    if size.per_block is not None:
        choices.append(size.per_block * blocks)
    smallest = int(min(choices))
    if size.power_of_two:
        return 1 << (smallest.bit_length() - 1)
    return max(smallest // 4096, 1) * 4096
