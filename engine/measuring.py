"""What the commands around a GPU do, as plain functions with typed results; nothing prints.

bench, probe, --measure, --gpu local, --bench and --ncu call these. Each raises KneckError with the
next step; without GPU, driver or a package that is MissingProgramError (exit status 3).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..facts.arguments import parse_arguments
from ..facts.measure.bench import BenchResult, BenchSettings, CacheHandling, run_bench
from ..facts.measure.bench_facts import harness_facts
from ..facts.measure.counter_facts import counter_facts, stall_samples
from ..facts.measure.counters import LaunchCounters, choose_launch
from ..facts.measure.device import DeviceInfo, Launch
from ..facts.measure.harness import find_time, run_harness
from ..facts.measure.probe_types import ProbeReport
from ..facts.model import Fact, Missing
from ..facts.parameters import check_parameters
from ..parsers.errors import KneckError, Place
from ..parsers.record import dataclass
from .measurement import counter_table, measurement_settings, probe_images, probe_list

if TYPE_CHECKING:
    from ..facts.gpu import Gpu
    from ..facts.measure.sensors import Sensors

REPORT_SIGNATURE = b"NVR\0"  # how an .ncu-rep file starts


def open_gpu(ordinal: int = 0) -> Gpu:
    """Open a GPU of this machine; use it in a `with` statement."""
    from ..facts.gpu import Gpu

    return Gpu(ordinal)


def open_sensors(device: DeviceInfo) -> Sensors:
    """Open the clocks and the thermometer of a GPU."""
    from ..facts.measure.sensors import Sensors

    return Sensors(device)


def local_gpu(ordinal: int = 0) -> DeviceInfo:
    """Describe a GPU of this machine."""
    with open_gpu(ordinal) as gpu:
        return gpu.info


def local_device_id(device: DeviceInfo, known: Mapping[str, tuple[str, str]]) -> str:
    """Find the device of the knowledge base that this GPU is, for `--gpu local`.

    `known` maps an id to (name, arch). Raises KneckError where there is none.
    """
    from ..facts.measure.device_file import same_product

    for device_id, (name, arch) in known.items():
        if arch == device.arch and same_product(name, device.name):
            return device_id
    raise KneckError(
        f"the knowledge base has no device for {device.name} ({device.arch}, {device.sms} SMs)",
        help="measure it with kneck probe -o DIR, then add --kb DIR",
    )


def bench(
    image: bytes,
    kernel: str,
    launch: Launch,
    arguments: str,
    dimensions: Mapping[str, float],
    parameters: Sequence[tuple[int, int]] | None = None,
    cache: CacheHandling = "flush",
    ordinal: int = 0,
    settings: BenchSettings | None = None,
) -> BenchResult:
    """Time a kernel of a cubin on this machine's GPU.

    `arguments` is --args, `dimensions` those of the problem, `parameters` what the cubin declares
    ((offset, size) by ordinal), checked before the GPU is touched. The result may drift; see
    `facts.measure.bench_facts.require_steady`.
    """
    parsed = parse_arguments(arguments, dimensions)
    if parameters is not None:
        check_parameters(parsed, parameters)
    with open_gpu(ordinal) as gpu, open_sensors(gpu.info) as sensors:
        return run_bench(
            gpu,
            image,
            kernel,
            launch,
            parsed,
            probe_images()["support"],
            sensors,
            settings or measurement_settings().bench,
            cache,
        )


def bench_harness(
    command: str,
    pattern: str | None = None,
    kernel: str | None = None,
    others: Sequence[str] = (),
) -> list[Fact]:
    """Run the user's harness and give its time as facts (`--bench`, `--bench-time`)."""
    output = run_harness(command, measurement_settings().harness_time_limit_s)
    return harness_facts(find_time(output, pattern, kernel, others), f"--bench {command}")


def probe(
    on_step: Callable[[int, int, str], None] = lambda done, total, name: None, ordinal: int = 0
) -> ProbeReport:
    """Measure this GPU's ceilings; `on_step` gets (done, total, name) for a progress bar."""
    from ..facts.measure.device_file import best_of
    from ..facts.measure.probe import run_probes

    listed = probe_list()
    with open_gpu(ordinal) as gpu, open_sensors(gpu.info):
        report = run_probes(
            gpu,
            probe_images(),
            listed.loops,
            listed.specs,
            listed.settings,
            time.monotonic,
            on_step,
        )
    report.measured[:] = best_of(report.measured, listed.best)
    return report


def probe_file(
    report: ProbeReport,
    known: Mapping[str, tuple[str, str]],
    text_of: Callable[[str], str],
    command: str,
    source: str,
) -> tuple[str, str]:
    """Give the id and the text of the device file with what the probe measured.

    A device that the knowledge base knows keeps its datasheet figures (`text_of` reads its file);
    another gets a file from what its driver tells. `source` is a key of sources.yaml.
    """
    from ..facts.measure.device_file import id_of, new_device_file, split_peaks, with_measured

    device = report.device
    try:
        device_id = local_device_id(device, known)
        text = text_of(device_id)
    except KneckError:
        device_id = id_of(device.name)
        product_class = "geforce" if "geforce" in device.name.lower() else "datacenter"
        text = new_device_file(device, device_id, product_class, source)
    peaks, others = split_peaks(report.measured, probe_list().peaks)
    return device_id, with_measured(text, peaks, others, command, source)


@dataclass(frozen=True)
class CounterReading:
    """What a profiler's report says of one kernel.

    `stalls` are (offset, SASS, reason, samples) by instruction, most samples first; `launches`
    how many launches of the kernel there were (the one with the median time was read).
    """

    launch: LaunchCounters
    launches: int
    facts: tuple[Fact, ...]
    missing: tuple[Missing, ...]
    stalls: tuple[tuple[int, str, str, int], ...]


def read_counters(path: str, kernel: str | None = None) -> CounterReading:
    """Read `--ncu FILE`: an .ncu-rep report or one CSV page of it."""
    table = counter_table()
    launches = read_launches(path)
    launch, count = choose_launch(launches, kernel, path)
    facts, missing = counter_facts(launch, table, path)
    stalls = stall_samples(launch, table)
    return CounterReading(launch, count, tuple(facts), tuple(missing), tuple(stalls))


def counter_time(reading: CounterReading) -> list[Fact]:
    """Give the profiled duration as `baseline.*`, for a request that names no other time.

    Under a profiler caches are flushed and clocks may be locked, so any other time goes first.
    """
    for fact in reading.facts:
        if fact.name == "counters.duration_ms":
            named = Fact("baseline.time_source", "ncu", "", fact.source)
            return [Fact("baseline.time_ms", fact.value, "ms", fact.source), named]
    return []


def read_launches(path: str) -> list[LaunchCounters]:
    """Read all launches of a report or of a CSV page."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise KneckError(reason, Place(path), "give an .ncu-rep file or its CSV") from None
    if content.startswith(REPORT_SIGNATURE) or path.endswith(".ncu-rep"):
        if not content.startswith(REPORT_SIGNATURE):
            raise KneckError(
                "this is no report of Nsight Compute", Place(path), "make one with ncu -o FILE"
            )
        from ..facts.measure.ncu_rep import read_rep

        return read_rep(path)
    from ..facts.measure.ncu_csv import read_csv

    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise KneckError(
            "this is neither an .ncu-rep report nor CSV text", Place(path), "make one with ncu"
        ) from None
    return read_csv(text, path, counter_table().labels)
