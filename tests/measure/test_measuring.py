"""Without GPU, driver or an extra each command ends with status 3 and the next step."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kneck.engine import measuring
from kneck.facts.gpu import Gpu
from kneck.facts.measure.counters import LaunchCounters
from kneck.facts.measure.device import DeviceInfo, Launch, SensorReading
from kneck.facts.model import Fact, Source
from kneck.parsers.errors import KneckError, MissingProgramError, Place

from ..acceptance.cases import cubin, run
from .fake_driver import FakeKernel, with_support

HARNESS = f"{sys.executable} -c 'print(\"kernel: 498 us\")'"


def bench() -> Any:
    return measuring.bench(b"\x7fELF", "k", Launch((1, 1, 1), (32, 1, 1)), "i32 n", {"n": 4})


@pytest.fixture
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(ordinal: int = 0) -> Gpu:
        raise MissingProgramError("no NVIDIA driver on this machine", help="use --time-ms")

    monkeypatch.setattr(measuring, "open_gpu", fails)


@pytest.mark.parametrize("command", [bench, measuring.probe, measuring.local_gpu])
@pytest.mark.usefixtures("no_driver")
def test_commands_without_a_gpu_end_with_status_3(command: Callable[[], Any]) -> None:
    with pytest.raises(MissingProgramError) as caught:
        command()
    assert caught.value.exit_status == 3 and caught.value.help


@pytest.fixture
def fake_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = with_support(FakeKernel("k", (4,), lambda launch: 0.5))
    monkeypatch.setattr(measuring, "open_gpu", lambda ordinal=0: Gpu(ordinal, driver))


@pytest.mark.usefixtures("fake_gpu")
def test_bench_without_nvml_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(MissingProgramError, match="nvidia-ml-py") as caught:
        bench()
    assert caught.value.exit_status == 3


class Sensors:
    def __enter__(self) -> Sensors:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def read(self) -> SensorReading:
        return SensorReading(1980.0, 3201.0, 40.0, 100.0)


@pytest.fixture
def sensors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "open_sensors", lambda device: Sensors())


@pytest.mark.usefixtures("fake_gpu", "sensors")
def test_bench_gives_a_typed_result() -> None:
    result = bench()
    assert result.time_ms == pytest.approx(0.5) and result.device.arch == "sm_90"


@pytest.mark.usefixtures("sensors")
@pytest.mark.parametrize(("told", "is_said"), [(2, True), (8, False)])
def test_where_the_driver_fits_other_blocks_than_computed_it_is_said(
    told: int, is_said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = with_support(FakeKernel("saxpy", (8, 8, 4, 4), lambda launch: 0.5))
    driver.blocks_per_sm = told
    monkeypatch.setattr(measuring, "open_gpu", lambda ordinal=0: Gpu(ordinal, driver))
    words = "the driver fits 2 blocks of saxpy on an SM, kneck computes 8"
    launch = (
        "--grid",
        "4096",
        "--block",
        "256",
        "--problem",
        "elementwise:n=1048576,reads=2,writes=1,flops=2",
    )
    arguments = ("--args", "f32[n], f32[n], f32=2.0, i32 n")
    timed = run("bench", cubin("saxpy", "sm_90"), *launch, *arguments)
    judged = run("infer", cubin("saxpy", "sm_90"), *launch, *arguments, "--measure")
    assert (timed.err, judged.err) == ("", "")
    assert (f"warning: {words}" in timed.out, words in unwrapped(judged.out)) == (is_said, is_said)


def unwrapped(text: str) -> str:
    return " ".join(text.split())


def test_the_cubin_s_parameters_are_checked_before_the_gpu_is_touched() -> None:
    with pytest.raises(KneckError, match="takes 2 arguments") as caught:
        measuring.bench(
            b"", "k", Launch((1, 1, 1), (32, 1, 1)), "i32 n", {"n": 4}, ((0, 8), (8, 4))
        )
    assert caught.value.exit_status == 2


def test_a_harness_gives_facts() -> None:
    facts = {fact.name: fact.value for fact in measuring.bench_harness(HARNESS)}
    assert facts["baseline.time_ms"] == pytest.approx(0.498)
    assert facts["baseline.time_source"] == "harness"


@pytest.mark.usefixtures("fake_gpu")
def test_the_local_gpu_is_described() -> None:
    found = measuring.local_gpu()
    assert isinstance(found, DeviceInfo) and found.name == "NVIDIA H200"


def test_cuda_is_imported_by_one_module_only() -> None:
    root = Path(__file__).parents[2]
    importers = [
        path.relative_to(root).as_posix()
        for room in ("parsers", "facts", "rules", "engine")
        for path in (root / room).rglob("*.py")
        if any(
            line.lstrip().startswith(("import cuda", "from cuda")) or 'import_module("cuda' in line
            for line in path.read_text(encoding="utf-8").splitlines()
        )
    ]
    assert importers == ["facts/gpu.py"]


def test_a_profiled_duration_is_a_time_where_there_is_no_other() -> None:
    source = Source("counter", "x.csv")
    launch = LaunchCounters("k", 0, Place("x.csv"))
    duration = Fact("counters.duration_ms", 0.9, "ms", source)
    reading = measuring.CounterReading(launch, 1, (duration,), (), ())
    facts = {fact.name: fact.value for fact in measuring.counter_time(reading)}
    assert facts == {"baseline.time_ms": 0.9, "baseline.time_source": "ncu"}
    assert measuring.counter_time(measuring.CounterReading(launch, 1, (), (), ())) == []
