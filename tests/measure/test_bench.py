"""`kneck bench`: arguments, cache, sensors, and when a time is no result."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from kneck.engine.measurement import measurement_settings
from kneck.facts.arguments import parse_arguments
from kneck.facts.gpu import Gpu
from kneck.facts.measure.bench import BenchResult, CacheHandling, run_bench
from kneck.facts.measure.bench_facts import (
    bench_facts,
    occupancy_difference,
    require_steady,
    shape_in_words,
)
from kneck.facts.measure.device import Launch, SensorReading
from kneck.facts.model import Fact
from kneck.parsers.errors import KneckError

from .fake_driver import FakeDriver, FakeKernel, FakeLaunch, with_support

GRID = Launch((4096, 1, 1), (256, 1, 1))
BENCH = measurement_settings().bench
SETTINGS = replace(BENCH, timing=replace(BENCH.timing, time_limit_s=1.0))
SAXPY = "f32[n], f32[n], f32=2.0, i32 n"


class Sensors:
    """Clocks that rise, a temperature that rises."""

    def __init__(self) -> None:
        self.readings = 0

    def read(self) -> SensorReading:
        self.readings += 1
        clock = 345.0 if self.readings == 1 else 1980.0
        return SensorReading(clock, 3201.0, 30.0 + self.readings, 200.0, ("software power cap",))


def saxpy(duration: Callable[[FakeLaunch], float]) -> FakeDriver:
    return with_support(FakeKernel("saxpy", (8, 8, 4, 4), duration))


def steady(time_ms: float) -> Callable[[FakeLaunch], float]:
    rng = random.Random(2)
    return lambda launch: time_ms * (1 + rng.gauss(0, 0.002))


def run(
    driver: FakeDriver,
    arguments: str = SAXPY,
    launch: Launch = GRID,
    cache: CacheHandling = "flush",
    n: int = 1 << 20,
) -> BenchResult:
    with Gpu(driver=driver) as gpu:
        parsed = parse_arguments(arguments, {"n": n})
        return run_bench(
            gpu,
            b"\x7fELF",
            "saxpy",
            launch,
            parsed,
            b"\x7fELF",
            Sensors(),
            SETTINGS,
            cache,
            lambda: driver.now_ms / 1e3,
        )


def number(fact: Fact) -> float:
    assert isinstance(fact.value, (int, float))
    return fact.value


def test_the_median_is_the_kernel_alone() -> None:
    result = run(saxpy(steady(0.5)))
    assert result.time_ms == pytest.approx(0.5, rel=0.003)
    assert result.timing.series.shape == "steady"
    assert result.empty_launch_ms == pytest.approx(0.002)


def test_arrays_are_filled_and_scalars_passed() -> None:
    driver = saxpy(steady(0.5))
    run(driver)
    fills = [launch for launch in driver.launches if launch.name == "fill_random_f32"]
    assert [fill.parameters[1:3] for fill in fills] == [(1 << 20, 0), (1 << 20, 1)]
    kernel = next(launch for launch in driver.launches if launch.name == "saxpy")
    assert kernel.parameters == (
        fills[0].parameters[0],
        fills[1].parameters[0],
        0x40000000,
        1 << 20,
    )


def test_l2_is_flushed_before_every_timed_launch() -> None:
    driver = saxpy(steady(0.5))
    run(driver)
    names = [launch.name for launch in driver.launches if launch.name in ("saxpy", "read_through")]
    timed = [i for i, name in enumerate(names) if name == "saxpy"]
    assert all(names[i - 1] == "read_through" for i in timed)
    flush = next(launch for launch in driver.launches if launch.name == "read_through")
    assert flush.parameters[1] * 16 == 3 * 62_914_560


def test_warm_leaves_the_cache_alone() -> None:
    driver = saxpy(steady(0.5))
    run(driver, cache="warm")
    assert not any(launch.name == "read_through" for launch in driver.launches)


def test_rotating_buffers_together_exceed_l2() -> None:
    driver = saxpy(steady(0.5))
    result = run(driver, cache="rotate")
    sets = {launch.parameters[:2] for launch in driver.launches if launch.name == "saxpy"}
    assert len(sets) * result.working_set_bytes > 4 * 62_914_560


def test_the_gpu_is_kept_busy_while_launches_are_queued() -> None:
    driver = saxpy(steady(0.01))
    run(driver)
    names = [launch.name for launch in driver.launches]
    assert "spin" in names[: names.index("saxpy")]


def test_facts_name_the_time_its_spread_and_the_state_of_the_gpu() -> None:
    facts = {fact.name: fact for fact in bench_facts(run(saxpy(steady(0.5))), "kneck bench x")}
    assert facts["baseline.time_ms"].value == pytest.approx(0.5, rel=0.003)
    assert facts["baseline.time_source"].value == "events"
    assert number(facts["baseline.warmup_launches"]) >= 5
    assert facts["measurement.before.sm_clock_ghz"].value == 0.345
    assert facts["measurement.busy.sm_clock_ghz"].value == 1.98
    assert number(facts["measurement.after.temperature_c"]) > 31
    assert facts["measurement.busy.slowed_by"].value == "software power cap"
    assert facts["measurement.working_set_bytes"].value == 8 << 20
    assert facts["measurement.fits_in_l2"].value is True
    source = facts["baseline.time_ms"].source
    assert source.kind == "measured" and "CUDA events, on NVIDIA H200" in source.detail


def test_a_large_working_set_does_not_fit_in_l2() -> None:
    facts = {f.name: f.value for f in bench_facts(run(saxpy(steady(0.5)), n=1 << 28), "bench")}
    assert facts["measurement.fits_in_l2"] is False


def test_a_drifting_series_is_no_result() -> None:
    result = run(saxpy(steady(0.5)))
    drifting = replace(result.timing.series, shape="drifting", drift_fraction=0.042)
    result = replace(result, timing=replace(result.timing, series=drifting))
    with pytest.raises(
        KneckError, match=r"no result for saxpy: the times drift by \+4\.2%"
    ) as caught:
        require_steady(result)
    assert "idle and cool" in (caught.value.help or "")


def test_two_speeds_are_a_result_with_a_warning() -> None:
    times = iter([0.5, 0.6] * 10**6)
    result = require_steady(run(saxpy(lambda launch: next(times))))
    assert shape_in_words(result) == "the times fall into two groups, around 0.5 and 0.6 ms"


def test_a_different_occupancy_is_reported() -> None:
    result = run(saxpy(steady(0.5)))
    assert occupancy_difference(2, result) is None
    assert occupancy_difference(None, result) is None
    assert occupancy_difference(3, result) == (
        "the driver fits 2 blocks of saxpy on an SM, kneck computes 3"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("f32[n], f32[n], f32=2.0", "takes 4 arguments, --args gives 3"),
        ("f32[n], f32[n], f64=2.0, i32 n", "argument 3 of the kernel has 4 bytes"),
        ("ptr, f32[n], f32=2.0, i32 n", "does not say how much to allocate"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: str, words: str) -> None:
    with pytest.raises(KneckError, match=words):
        run(saxpy(steady(0.5)), arguments)


def test_a_block_above_the_kernel_s_limit_is_refused_before_the_launch() -> None:
    driver = with_support(FakeKernel("saxpy", (8, 8, 4, 4), steady(0.5), max_threads=512))
    with pytest.raises(KneckError, match="at most 512 threads per block here, .* asks for 1024"):
        run(driver, launch=Launch((1, 1, 1), (1024, 1, 1)))


def test_too_much_shared_memory_is_refused_before_the_launch() -> None:
    driver = with_support(FakeKernel("saxpy", (8, 8, 4, 4), steady(0.5), static_smem=40_000))
    with pytest.raises(KneckError, match="needs 240000 B of shared memory"):
        run(driver, launch=Launch((1, 1, 1), (256, 1, 1), 200_000))


def test_arguments_larger_than_the_memory_are_refused() -> None:
    driver = saxpy(steady(0.5))
    driver.largest_allocation = 1 << 30
    with pytest.raises(KneckError, match="do not fit into the GPU's memory"):
        run(driver, n=1 << 30)
