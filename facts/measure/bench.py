"""`kneck bench`: allocate the arguments, launch, time, and say what the time is worth."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Protocol

from ...parsers.errors import KneckError
from ...parsers.record import dataclass
from ..arguments import Argument
from ..gpu import Gpu
from ..parameters import check_parameters
from .contents import encoded
from .describe import function_info
from .device import DeviceInfo, FunctionInfo, Launch, SensorReading
from .support import ONE_WARP, Support
from .timing import Timing, TimingSettings, time_until_settled

CacheHandling = Literal["flush", "rotate", "warm"]


class Reader(Protocol):
    """Anything that reads the sensors of the GPU in use."""

    def read(self) -> SensorReading:
        """Read clocks, temperature and power."""


@dataclass(frozen=True, slots=True)
class BenchSettings:
    """What `kneck bench` needs beside the kernel; every figure is data with its reason."""

    timing: TimingSettings
    flush_l2_multiple: float  # bytes read between two launches, over the size of L2
    rotate_l2_multiple: float  # bytes of all argument sets together, over the size of L2
    empty_launches: int
    queue_us_per_launch: float  # host time to queue one timed launch, on the safe side


@dataclass(frozen=True, slots=True)
class BenchResult:
    """One kernel's time on one GPU, with everything needed to judge it."""

    kernel: str
    timing: Timing
    launch: Launch
    function: FunctionInfo
    device: DeviceInfo
    cache: CacheHandling
    working_set_bytes: int
    empty_launch_ms: float
    blocks_per_sm: int  # the driver's own answer
    before: SensorReading
    busy: SensorReading
    after: SensorReading

    @property
    def time_ms(self) -> float:
        """Median time of one launch in milliseconds."""
        return self.timing.series.median


def run_bench(
    gpu: Gpu,
    image: bytes,
    kernel: str,
    launch: Launch,
    arguments: Sequence[Argument],
    support_image: bytes,
    sensors: Reader,
    settings: BenchSettings,
    cache: CacheHandling = "flush",
    now: Callable[[], float] = time.monotonic,
) -> BenchResult:
    """Time one kernel; raises KneckError where arguments or launch do not fit it."""
    device = gpu.info
    function = gpu.function(gpu.load(image), kernel)
    described = function_info(gpu, function, kernel)
    _check_launch(launch, described, device)
    if described.parameters is not None:
        check_parameters(arguments, described.parameters)
    gpu.prepare(function, launch)
    support = Support(gpu, support_image)
    working_set = _working_set(arguments)
    sets = _argument_sets(gpu, support, arguments, _copies(working_set, device, settings, cache))
    flush = _flush(gpu, support, device, settings) if cache == "flush" else None
    busy: list[SensorReading] = []

    def measure(launches: int) -> Sequence[float]:
        work = [_launcher(gpu, function, launch, next(sets)) for _ in range(launches)]
        hold = launches * settings.queue_us_per_launch
        return gpu.time_ms(
            work, flush, lambda: support.spin(hold), lambda: busy.append(sensors.read())
        )

    before = sensors.read()
    timing = time_until_settled(measure, settings.timing, now)
    after = sensors.read()
    return BenchResult(
        kernel=kernel,
        timing=timing,
        launch=launch,
        function=described,
        device=device,
        cache=cache,
        working_set_bytes=working_set,
        empty_launch_ms=empty_launch_ms(gpu, support, settings, flush),
        blocks_per_sm=gpu.blocks_per_sm(function, launch.threads, launch.dynamic_smem),
        before=before,
        busy=busy[-1],
        after=after,
    )


def empty_launch_ms(
    gpu: Gpu, support: Support, settings: BenchSettings, before: Callable[[], None] | None = None
) -> float:
    """Median time of a kernel that does nothing, between the same two events."""
    count = settings.empty_launches
    work = [_launcher(gpu, support.empty, ONE_WARP, ())] * count
    times = gpu.time_ms(work, before, lambda: support.spin(count * settings.queue_us_per_launch))
    return sorted(times)[len(times) // 2]


def _launcher(
    gpu: Gpu, function: Any, launch: Launch, parameters: Sequence[bytes]
) -> Callable[[], None]:
    return lambda: gpu.launch(function, launch, parameters)


def _check_launch(launch: Launch, function: FunctionInfo, device: DeviceInfo) -> None:
    """Refuse what cannot run before the driver says so in fewer words."""
    if launch.threads > function.max_threads:
        raise KneckError(
            f"{function.name} can run at most {function.max_threads} threads per block here, "
            f"the launch asks for {launch.threads}",
            help="use a smaller --block; registers or __launch_bounds__ set this limit",
        )
    smem = function.static_smem + launch.dynamic_smem
    if smem > device.smem_per_block_optin:
        raise KneckError(
            f"{function.name} needs {smem} B of shared memory per block, "
            f"{device.name} allows {device.smem_per_block_optin} B",
            help="lower --dynamic-smem or the static arrays",
        )


def _working_set(arguments: Sequence[Argument]) -> int:
    total = 0
    for argument in arguments:
        if argument.bytes is None:
            raise KneckError(
                f'"{argument.text}" does not say how much to allocate',
                help="write for example f32[M*N] or u8[BYTES] in --args",
            )
        total += argument.bytes
    return total


def _copies(
    working_set: int, device: DeviceInfo, settings: BenchSettings, cache: CacheHandling
) -> int:
    """Sets of arguments needed so that none of them is left in L2 when its turn comes again."""
    if cache != "rotate" or not working_set:
        return 1
    wanted = settings.rotate_l2_multiple * (device.l2_bytes or 0)
    return 1 + int(wanted // working_set)


def _argument_sets(
    gpu: Gpu, support: Support, arguments: Sequence[Argument], copies: int
) -> Iterator[tuple[bytes, ...]]:
    """Allocate and fill the arguments; give the parameters of the sets in turn, for ever."""
    sets = []
    for _ in range(copies):
        parameters = []
        for seed, argument in enumerate(arguments):
            if argument.kind == "scalar":
                parameters.append(encoded(argument.value or 0, argument.dtype))
                continue
            address = gpu.allocate(argument.bytes or 0)
            support.fill(address, argument, seed)
            parameters.append(address.to_bytes(8, "little"))
        sets.append(tuple(parameters))
    gpu.synchronize()
    return itertools.cycle(sets)


def _flush(
    gpu: Gpu, support: Support, device: DeviceInfo, settings: BenchSettings
) -> Callable[[], None]:
    words = int(settings.flush_l2_multiple * (device.l2_bytes or 0)) // 16
    if words == 0:
        return lambda: None
    address = gpu.allocate(16 * words)
    gpu.fill(address, 0, 4 * words)
    return lambda: support.run("read_through", address, words)
