"""What a series of times says: its median, how sure that is, and whether it is one thing at all.

Pure functions over seconds, milliseconds or cycles: the unit of the samples is the unit of the
result. No threshold stands here; `SeriesSettings` carries them, from `kb/measurement.yaml`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from ...parsers.record import dataclass

Shape = Literal["steady", "drifting", "bimodal", "unsettled", "short"]


@dataclass(frozen=True, slots=True)
class SeriesSettings:
    """When a series counts as settled; every figure is data with its reason."""

    confidence: float  # of the median's interval
    interval_fraction: float  # half width over median that is good enough
    smallest_count: int  # fewer samples are no series
    drift_fraction: float  # change from the first third to the last, over the median
    drift_score: float  # Mann-Kendall |z| that a trend needs beside its size
    mode_fraction: float  # share of samples that makes a second mode
    mode_gap_fraction: float  # distance of two modes over the median
    mode_gap_spreads: float  # the same distance in interquartile ranges of the modes


@dataclass(frozen=True, slots=True)
class Series:
    """Summary of one series of samples; `low` and `high` are None below the smallest count."""

    count: int
    median: float
    low: float | None
    high: float | None
    spread: float  # interquartile range
    minimum: float
    maximum: float
    drift_fraction: float
    modes: tuple[float, ...]
    shape: Shape

    @property
    def interval_fraction(self) -> float | None:
        """Half width of the median's confidence interval over the median."""
        if self.low is None or self.high is None or self.median == 0:
            return None
        return (self.high - self.low) / 2 / self.median

    @property
    def spread_fraction(self) -> float:
        """Interquartile range over the median."""
        return self.spread / self.median if self.median else 0.0


def summarize(samples: Sequence[float], settings: SeriesSettings) -> Series:
    """Summarize a series in the order in which it was measured; raises ValueError when empty."""
    if not samples:
        raise ValueError("a series needs at least one sample")
    ordered = sorted(samples)
    middle = quantile(ordered, 0.5)
    low, high = median_interval(ordered, settings.confidence) or (None, None)
    modes = find_modes(ordered, settings)
    drift = drift_fraction(samples)
    series = Series(
        count=len(samples),
        median=middle,
        low=low,
        high=high,
        spread=quantile(ordered, 0.75) - quantile(ordered, 0.25),
        minimum=ordered[0],
        maximum=ordered[-1],
        drift_fraction=drift,
        modes=modes,
        shape="steady",
    )
    return replace(series, shape=_shape(series, samples, settings))


def _shape(series: Series, samples: Sequence[float], settings: SeriesSettings) -> Shape:
    if series.count < settings.smallest_count or series.low is None:
        return "short"
    large = abs(series.drift_fraction) > settings.drift_fraction
    if large and abs(trend_score(samples)) > settings.drift_score:
        return "drifting"
    if len(series.modes) > 1:
        return "bimodal"
    interval = series.interval_fraction
    if interval is None or interval > settings.interval_fraction:
        return "unsettled"
    return "steady"


def quantile(ordered: Sequence[float], fraction: float) -> float:
    """Linear interpolation between the closest ranks of a sorted series."""
    position = (len(ordered) - 1) * fraction
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def median_interval(ordered: Sequence[float], confidence: float) -> tuple[float, float] | None:
    """Distribution-free confidence interval of the median from the order statistics.

    The median lies between the k-th smallest and the k-th largest sample with probability
    1 - 2 P(B < k), B binomial(n, 1/2). None where even the extremes do not reach the confidence.
    """
    count = len(ordered)
    tail = (1 - confidence) / 2
    below = 0.5**count if count < 1000 else 0.0
    if count < 1000:
        rank, term = 0, below
        while rank < count // 2 and below <= tail:
            rank += 1
            term *= (count - rank + 1) / rank
            below += term
    else:  # the normal approximation is exact to a rank here
        rank = math.floor(count / 2 - _normal_quantile(1 - tail) * math.sqrt(count) / 2)
    if rank == 0:
        return None
    return ordered[rank - 1], ordered[count - rank]


def _normal_quantile(probability: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(probability)


def drift_fraction(samples: Sequence[float]) -> float:
    """Median of the last third minus that of the first third, over the median of all."""
    third = len(samples) // 3
    middle = quantile(sorted(samples), 0.5)
    if third == 0 or middle == 0:
        return 0.0
    first, last = sorted(samples[:third]), sorted(samples[-third:])
    return (quantile(last, 0.5) - quantile(first, 0.5)) / middle


def trend_score(samples: Sequence[float], most: int = 400) -> float:
    """Mann-Kendall z of a monotonic trend; long series are thinned evenly to `most` samples.

    z = (S -+ 1) / sqrt(n (n - 1) (2 n + 5) / 18), S = number of rising minus falling pairs.
    """
    step = max(1, math.ceil(len(samples) / most))
    thinned = samples[::step]
    count = len(thinned)
    if count < 3:
        return 0.0
    balance = 0
    for position, value in enumerate(thinned):
        for later in thinned[position + 1 :]:
            balance += (later > value) - (later < value)
    deviation = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    return (balance - math.copysign(1, balance)) / deviation if balance else 0.0


def find_modes(ordered: Sequence[float], settings: SeriesSettings) -> tuple[float, ...]:
    """Give the medians of two groups when the widest inner gap parts a sorted series clearly."""
    count = len(ordered)
    middle = quantile(ordered, 0.5)
    least = math.ceil(count * settings.mode_fraction)
    if count < settings.smallest_count or least < 2 or 2 * least > count:
        return (middle,)
    cut = max(range(least, count - least + 1), key=lambda i: ordered[i] - ordered[i - 1])
    groups = ordered[:cut], ordered[cut:]
    low, high = (quantile(group, 0.5) for group in groups)
    widest = max(quantile(group, 0.75) - quantile(group, 0.25) for group in groups)
    gap = ordered[cut] - ordered[cut - 1]
    apart = high - low > settings.mode_gap_fraction * middle
    if apart and gap > settings.mode_gap_spreads * widest:
        return (low, high)
    return (middle,)
