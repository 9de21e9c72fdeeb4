"""How a kernel is timed: warm up until stable, then measure until the median is known.

The loop knows nothing of CUDA: it asks a function for the next times. So it is tested with
synthetic series and a synthetic clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from ...parsers.record import dataclass
from .statistics import Series, SeriesSettings, quantile, summarize

Measure = Callable[[int], Sequence[float]]  # number of launches -> their times in ms, in order


@dataclass(frozen=True, slots=True)
class TimingSettings:
    """How long to warm up and to measure; every figure is data with its reason."""

    warm_up_launches: int  # at least
    warm_up_ms: float  # of kernel time, at least: clocks rise under load
    warm_up_change_fraction: float  # between the medians of two batches
    timer_step_ms: float  # a change that small is none
    warm_up_limit_s: float
    batch_ms: float  # kernel time between two looks at the series
    batch_launches: int  # at most
    time_limit_s: float
    series: SeriesSettings


@dataclass(frozen=True, slots=True)
class Timing:
    """A finished measurement: the summary, the samples kept, and how the loop ended."""

    series: Series
    samples: tuple[float, ...]
    warm_up_launches: int
    warmed_up: bool
    launches: int  # measured, those dropped as still drifting counted in
    timed_out: bool


def time_until_settled(
    measure: Measure, settings: TimingSettings, now: Callable[[], float] = time.monotonic
) -> Timing:
    """Measure until the median is known to the wanted accuracy or the time is up.

    A series that drifts loses its older half and goes on, until what is left is as long as what
    was dropped: a clock that is still settling costs time and not the result, and what drifts to
    the end is reported as drifting.
    """
    warm_up, warmed_up, typical = _warm_up(measure, settings, now)
    batch = _batch_size(typical, settings)
    start, launches = now(), 0
    samples: list[float] = []
    while True:
        samples.extend(measure(batch))
        launches += batch
        series = summarize(samples, settings.series)
        timed_out = now() - start > settings.time_limit_s
        settled = series.shape == "steady" and len(samples) >= launches - len(samples)
        if timed_out and series.shape == "steady" and not settled:
            series = replace(series, shape="drifting")  # it drifted for most of the time
        if settled or timed_out:
            return Timing(series, tuple(samples), warm_up, warmed_up, launches, timed_out)
        if series.shape == "drifting":
            samples = samples[len(samples) // 2 :]


def _warm_up(
    measure: Measure, settings: TimingSettings, now: Callable[[], float]
) -> tuple[int, bool, float]:
    """Give the launches made, whether two batches in a row agreed, and the last median.

    The first batch loads and compiles; only what follows counts as time under load.
    """
    start = now()
    launches = 0
    loaded, before = start, 0.0
    batch = settings.warm_up_launches
    while True:
        times = measure(batch)
        median = quantile(sorted(times), 0.5)
        if launches == 0:
            loaded = now()
        launches += len(times)
        busy_ms = 1e3 * (now() - loaded)
        least = max(settings.warm_up_change_fraction * before, settings.timer_step_ms)
        agree = abs(median - before) <= least
        if agree and busy_ms >= settings.warm_up_ms:
            return launches, True, median
        if now() - start > settings.warm_up_limit_s:
            return launches, False, median
        before = median
        batch = _batch_size(median, settings)


def _batch_size(typical_ms: float, settings: TimingSettings) -> int:
    if typical_ms <= 0:
        return settings.batch_launches
    return max(1, min(settings.batch_launches, math.floor(settings.batch_ms / typical_ms)))
