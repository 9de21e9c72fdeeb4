"""A series of times is steady, drifting, bimodal, unsettled or short, and its median has bounds."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.measure.statistics import (
    SeriesSettings,
    drift_fraction,
    find_modes,
    median_interval,
    quantile,
    summarize,
    trend_score,
)

SETTINGS = SeriesSettings(
    confidence=0.95,
    interval_fraction=0.01,
    smallest_count=10,
    drift_fraction=0.02,
    drift_score=3.0,
    mode_fraction=0.2,
    mode_gap_fraction=0.03,
    mode_gap_spreads=3.0,
)
times = st.lists(st.floats(0.001, 1000), min_size=1, max_size=60)


def noisy(count: int, spread: float, seed: int = 1) -> list[float]:
    rng = random.Random(seed)
    return [1 + rng.gauss(0, spread) for _ in range(count)]


def test_little_noise_is_a_steady_series() -> None:
    series = summarize(noisy(60, 0.003), SETTINGS)
    assert series.shape == "steady"
    assert series.median == pytest.approx(1, abs=0.002)
    assert series.interval_fraction is not None and series.interval_fraction < 0.01


def test_a_slow_rise_is_drift_even_when_the_median_looks_sure() -> None:
    samples = [value * (1 + 0.05 * i / 100) for i, value in enumerate(noisy(100, 0.002))]
    series = summarize(samples, SETTINGS)
    assert series.shape == "drifting"
    assert series.drift_fraction == pytest.approx(0.033, abs=0.004)


def test_a_fall_is_drift_with_a_negative_sign() -> None:
    samples = [2 - 0.002 * i for i in range(100)]
    assert summarize(samples, SETTINGS).drift_fraction < 0
    assert summarize(samples, SETTINGS).shape == "drifting"


def test_noise_without_a_trend_is_no_drift() -> None:
    scores = [abs(trend_score(noisy(60, 0.05, seed))) for seed in range(200)]
    assert sum(score > SETTINGS.drift_score for score in scores) <= 2


def test_two_speeds_are_two_modes() -> None:
    samples = [1.0 + 0.001 * (i % 3) if i % 2 else 1.1 + 0.001 * (i % 3) for i in range(60)]
    series = summarize(samples, SETTINGS)
    assert series.shape == "bimodal"
    assert series.modes == pytest.approx((1.001, 1.101))


def test_a_few_outliers_are_no_second_mode() -> None:
    samples = noisy(60, 0.002)
    samples[::20] = [1.5, 1.5, 1.5]
    assert summarize(samples, SETTINGS).shape == "steady"


def test_strong_noise_is_unsettled_until_enough_samples_are_there() -> None:
    assert summarize(noisy(20, 0.1), SETTINGS).shape == "unsettled"
    assert summarize(noisy(2000, 0.1), SETTINGS).shape == "steady"


def test_nine_samples_are_too_few() -> None:
    assert summarize([1.0] * 9, SETTINGS).shape == "short"
    assert summarize([1.0] * 10, SETTINGS).shape == "steady"


def test_an_empty_series_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one sample"):
        summarize([], SETTINGS)


def test_the_interval_of_five_samples_does_not_reach_95_percent() -> None:
    assert median_interval([1, 2, 3, 4, 5], 0.95) is None
    assert median_interval([1, 2, 3, 4, 5, 6], 0.95) == (1, 6)


def test_the_interval_of_ten_samples_is_the_second_to_the_ninth() -> None:
    # P(B <= 1) for B ~ binomial(10, 1/2) is 11/1024 = 1.07 %, P(B <= 2) is 5.5 %.
    assert median_interval(list(range(1, 11)), 0.95) == (2, 9)


def test_exact_and_normal_ranks_agree_where_they_meet() -> None:
    exact = median_interval(list(range(999)), 0.95)
    normal = median_interval(list(range(1000)), 0.95)
    assert exact is not None and normal is not None
    assert abs(exact[0] - normal[0]) <= 1 and abs(exact[1] - normal[1]) <= 2


def test_the_interval_covers_the_true_median_as_often_as_it_says() -> None:
    rng, hits, rounds = random.Random(3), 0, 1000
    for _ in range(rounds):
        interval = median_interval(sorted(rng.expovariate(1) for _ in range(25)), 0.95)
        assert interval is not None
        hits += interval[0] <= math.log(2) <= interval[1]
    assert hits / rounds >= 0.94


@given(times)
def test_the_median_lies_in_its_interval_and_between_the_extremes(samples: list[float]) -> None:
    series = summarize(samples, SETTINGS)
    assert series.minimum <= series.median <= series.maximum
    if series.low is not None and series.high is not None:
        assert series.low <= series.median <= series.high
    assert series.spread >= 0


@given(times, st.floats(0.01, 100))
def test_scaling_the_samples_scales_the_summary(samples: list[float], factor: float) -> None:
    one = summarize(samples, SETTINGS)
    other = summarize([factor * sample for sample in samples], SETTINGS)
    assert other.median == pytest.approx(factor * one.median)
    assert other.drift_fraction == pytest.approx(one.drift_fraction, abs=1e-9)


@given(st.lists(st.floats(0.1, 10), min_size=3, max_size=40))
def test_reversing_a_series_reverses_trend_and_drift(samples: list[float]) -> None:
    assert trend_score(samples[::-1]) == pytest.approx(-trend_score(samples))
    assert drift_fraction(samples[::-1]) == pytest.approx(-drift_fraction(samples))


def test_a_long_series_is_thinned_for_the_trend() -> None:
    rising = [float(i) for i in range(5000)]
    assert trend_score(rising, most=100) > 10
    assert trend_score([1.0] * 5000) == 0


def test_quantiles_interpolate() -> None:
    assert quantile([1, 2, 3, 4], 0.5) == 2.5
    assert quantile([1, 2, 3, 4], 0) == 1
    assert quantile([1, 2, 3, 4], 1) == 4


def test_modes_closer_than_the_wanted_gap_count_as_one() -> None:
    samples = sorted([1.0] * 30 + [1.02] * 30)
    assert find_modes(samples, SETTINGS) == (1.01,)
    assert find_modes(samples, replace(SETTINGS, mode_gap_fraction=0.01)) == (1.0, 1.02)
