"""Warm up until two batches agree, then measure until the median is known or the time is up."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from kneck.engine.measurement import measurement_settings
from kneck.facts.measure.timing import time_until_settled

SETTINGS = measurement_settings().bench.timing


class Bench:
    """Times that a model gives, and a clock that they move."""

    def __init__(self, model: Callable[[int], float]) -> None:
        self.model, self.launches, self.seconds = model, 0, 0.0
        self.batches: list[int] = []

    def measure(self, count: int) -> Sequence[float]:
        times = [self.model(self.launches + i) for i in range(count)]
        self.launches += count
        self.batches.append(count)
        self.seconds += sum(times) / 1e3 + 0.001
        return times

    def now(self) -> float:
        return self.seconds


def noise(spread: float) -> Callable[[], float]:
    rng = random.Random(5)
    return lambda: 1 + rng.gauss(0, spread)


def test_a_steady_kernel_is_measured_in_one_batch() -> None:
    one = noise(0.002)
    bench = Bench(lambda launch: 1.0 * one())
    timing = time_until_settled(bench.measure, SETTINGS, bench.now)
    assert timing.series.shape == "steady" and timing.warmed_up and not timing.timed_out
    assert timing.series.median == pytest.approx(1, rel=0.005)
    assert timing.warm_up_launches >= SETTINGS.warm_up_launches
    assert timing.launches in (49, 50)


def test_slow_first_launches_stay_out_of_the_samples() -> None:
    bench = Bench(lambda launch: 40.0 if launch == 0 else 5.0 if launch < 10 else 1.0)
    settings = replace(SETTINGS, warm_up_ms=10.0)
    timing = time_until_settled(bench.measure, settings, bench.now)
    assert timing.series.maximum == 1.0
    assert timing.warm_up_launches > 10


def test_warm_up_lasts_until_the_gpu_was_busy_long_enough() -> None:
    bench = Bench(lambda launch: 0.01)
    timing = time_until_settled(bench.measure, SETTINGS, bench.now)
    warm_up_batches = bench.batches[: -timing.launches // SETTINGS.batch_launches]
    assert sum(batch * 0.01 + 1 for batch in warm_up_batches[1:]) >= SETTINGS.warm_up_ms


def test_times_at_the_resolution_of_the_timer_do_not_keep_the_warm_up_going() -> None:
    pattern = itertools.cycle([0.0045] * 50 + [0.0047] * 50)
    bench = Bench(lambda launch: next(pattern))
    assert time_until_settled(bench.measure, SETTINGS, bench.now).warmed_up


def test_a_clock_that_settles_while_measuring_costs_time_and_not_the_result() -> None:
    one = noise(0.001)
    bench = Bench(lambda launch: (1 + 0.2 * 0.98**launch) * one())
    settings = replace(SETTINGS, warm_up_ms=1.0, warm_up_change_fraction=1.0)
    timing = time_until_settled(bench.measure, settings, bench.now)
    assert timing.series.shape == "steady"
    assert timing.series.median == pytest.approx(1, rel=0.015)
    assert len(timing.samples) < timing.launches


def test_a_kernel_that_drifts_for_ever_is_reported_as_drifting() -> None:
    bench = Bench(lambda launch: 1 + 0.01 * launch)
    timing = time_until_settled(bench.measure, SETTINGS, bench.now)
    assert timing.timed_out and timing.series.shape == "drifting"
    assert bench.seconds >= SETTINGS.time_limit_s


def test_a_noisy_kernel_is_measured_longer() -> None:
    one = noise(0.06)
    bench = Bench(lambda launch: one())
    timing = time_until_settled(bench.measure, SETTINGS, bench.now)
    assert timing.series.shape == "steady" and timing.launches > 50


def test_two_alternating_speeds_end_at_the_time_limit_as_bimodal() -> None:
    pattern = itertools.cycle([1.0, 1.3])
    bench = Bench(lambda launch: next(pattern))
    settings = replace(SETTINGS, time_limit_s=2)
    timing = time_until_settled(bench.measure, settings, bench.now)
    assert timing.series.shape == "bimodal" and timing.timed_out


def test_a_kernel_longer_than_a_batch_is_launched_one_by_one() -> None:
    bench = Bench(lambda launch: 400.0)
    timing = time_until_settled(bench.measure, SETTINGS, bench.now)
    assert set(bench.batches[1:]) == {1}
    assert timing.series.count == SETTINGS.series.smallest_count


def test_a_kernel_of_seconds_ends_short_at_the_time_limit() -> None:
    bench = Bench(lambda launch: 6000.0)
    timing = time_until_settled(bench.measure, SETTINGS, bench.now)
    assert timing.timed_out and timing.series.shape == "short"


def test_a_warm_up_that_never_agrees_is_given_up_and_said() -> None:
    pattern = itertools.cycle([0.5] * 100 + [1.0] * 100)
    bench = Bench(lambda launch: next(pattern))
    settings = replace(SETTINGS, batch_launches=100, batch_ms=100.0, time_limit_s=1.0)
    assert not time_until_settled(bench.measure, settings, bench.now).warmed_up
