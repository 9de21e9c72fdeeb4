"""Launches micro-benchmarks on one GPU and reads their stamps."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from statistics import median
from typing import Any

from ...parsers.errors import KneckError
from ..arguments import Argument
from ..gpu import Gpu
from .device import DeviceInfo, Launch
from .probe_types import BufferSize, Measured, Plan, ProbeLaunch, ProbeSettings, ProbeSpec, Sample
from .support import Support

IN_A_ROW = 200  # launches between two events, for the interval of launches


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
        self._free = gpu.free_memory()
        self._warm = False

    def measure(self, plan: Plan) -> Sample:
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

    def _settle_launch(self, plan: Plan, function: Any) -> None:
        """Choose the fastest of the launches to try, and the iterations for the wanted time."""
        settings, spec = self._settings, plan.spec
        best: tuple[float, ProbeLaunch, int] | None = None
        target = spec.target_ms or (
            settings.one_warp_target_ms if spec.one_warp
            else settings.tensor_target_ms if spec.tensor
            else settings.target_ms
        )  # fmt: skip
        choices = (ProbeLaunch(settings.lanes),) if spec.one_warp else spec.launches
        usual = settings.tensor_launches if spec.tensor else settings.launches
        for launch in choices or usual:
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
        """Lower threads and blocks per SM to what this GPU holds at once."""
        self._gpu.prepare(function, Launch((1, 1, 1), (1, 1, 1), launch.dynamic_smem))
        threads = launch.threads
        while True:
            most = self._gpu.blocks_per_sm(function, threads, launch.dynamic_smem)
            if most or threads <= self._settings.lanes:
                break
            threads //= 2
        if most == 0:
            raise KneckError("not even one warp of it fits on an SM")
        return ProbeLaunch(threads, min(launch.per_sm, most), launch.dynamic_smem)

    def _calibrate(self, plan: Plan, function: Any, launch: ProbeLaunch, target_ms: float) -> int:
        iterations = 1
        while True:
            sample = self._launch(plan, function, launch, iterations)
            inside_ms = sample.nanoseconds / 1e6
            if inside_ms >= self.SHORTEST_MS or iterations >= self.LARGEST_ITERATIONS:
                return max(1, round(iterations * target_ms / inside_ms))
            iterations *= 4

    def _warm_up(self, plan: Plan, function: Any) -> None:
        """Keep the tensor cores busy until clock and power have settled."""
        assert plan.launch is not None
        spent = 0.0
        while spent < self._settings.warm_up_ms:
            spent += self._launch(plan, function, plan.launch, plan.iterations).event_ms
        self._warm = True

    def _launch(self, plan: Plan, function: Any, choice: ProbeLaunch, iterations: int) -> Sample:
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
        size = buffer_bytes(spec.buffer, self._device, self._free, blocks)
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

    def driver_copy(self, size: int) -> Measured:
        """Time the driver's own copy of half a buffer into the other half."""
        gpu, half = self._gpu, size // 2
        address = self._buffers.get((size, "u32")) or gpu.allocate(size)

        def copy() -> None:
            gpu.copy(address + half, address, half)

        each = [2 * half / 1e6 / median(gpu.time_ms([copy] * 10)) for _ in range(2)]
        return self._repeated("dram_memcpy_gb_per_s", each, "GB/s", "the driver's copy")

    def _repeated(self, name: str, each: list[float], unit: str, probe: str) -> Measured:
        value = median(each)
        spread = (max(each) - min(each)) / value
        clock = (self._device.sm_clock_mhz or 0.0) / 1e3
        stable = spread <= self._settings.stable_fraction
        return Measured(name, value, unit, spread, clock, stable, probe)

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
        rows = [[gpu.time_ms([row], None, hold)[0] for _ in range(5)] for _ in range(2)]
        queued = [median(times) * 1e3 / IN_A_ROW for times in rows]
        return [
            self._repeated("empty_launch_us", alone, "us", "empty launch"),
            self._repeated("launch_interval_us", queued, "us", "empty launches in a row"),
        ]


def buffer_bytes(size: BufferSize, device: DeviceInfo, free: int, blocks: int) -> int:
    """Settle the size of a buffer on this device, a multiple of 4 KiB."""
    choices: list[float] = []
    if size.bytes is not None:
        choices.append(size.bytes)
    if size.l2 is not None and device.l2_bytes is not None:
        choices.append(size.l2 * device.l2_bytes)
    if size.free is not None:
        choices.append(size.free * free)
    if size.most is not None:
        choices.append(size.most)
    if size.per_block is not None:
        choices.append(size.per_block * blocks)
    if not choices:
        raise KneckError("the driver does not tell the size of L2")
    smallest = int(min(choices))
    if size.power_of_two:
        return 1 << (smallest.bit_length() - 1)
    return max(smallest // 4096, 1) * 4096
