"""A measured time as facts, and the refusals: what drifts is no result."""

from __future__ import annotations

from collections.abc import Iterator

from ...parsers.errors import KneckError
from ..model import Fact, Source, Value
from .bench import BenchResult
from .device import SensorReading
from .harness import HarnessTime

WHY = {
    "drifting": "the times drift by {drift:+.1%} from the first to the last third",
    "bimodal": "the times fall into two groups, around {modes} ms",
    "unsettled": "the median is known to +-{interval:.1%} only",
    "short": "only {count} launches fit into the time limit",
}
HELP = {
    "drifting": "wait until the GPU is idle and cool, or lock its clocks; then measure again",
    "bimodal": "look for a second program on the GPU, or for data that differ between launches",
    "unsettled": "measure again on an idle GPU",
    "short": "use a smaller problem",
}


def shape_in_words(result: BenchResult) -> str | None:
    """Say what is wrong with the series of times, None where it is steady."""
    series = result.timing.series
    if series.shape == "steady":
        return None
    return WHY[series.shape].format(
        drift=series.drift_fraction,
        modes=" and ".join(f"{mode:.4g}" for mode in series.modes),
        interval=series.interval_fraction or 0.0,
        count=series.count,
    )


def require_steady(result: BenchResult) -> BenchResult:
    """Give the result back; raises KneckError where the series drifts or is too short.

    Two groups or a wide interval are still a median, with a warning: the caller shows
    `shape_in_words`.
    """
    shape = result.timing.series.shape
    if shape in ("drifting", "short"):
        raise KneckError(
            f"no result for {result.kernel}: {shape_in_words(result)}", help=HELP[shape]
        )
    return result


def bench_facts(result: BenchResult, command: str) -> list[Fact]:
    """Give the time as `baseline.*` and what speaks for or against it as `measurement.*`."""
    series, timing = result.timing.series, result.timing
    detail = f"{command}: median of {series.count} launches, CUDA events, on {result.device.name}"
    rows: list[tuple[str, Value | None, str]] = [
        ("baseline.time_ms", series.median, "ms"),
        ("baseline.time_source", "events", ""),
        ("baseline.warmup_launches", timing.warm_up_launches, "launches"),
        ("measurement.launches", series.count, "launches"),
        ("measurement.spread_fraction", series.spread_fraction, ""),
        ("measurement.interval_fraction", series.interval_fraction, ""),
        ("measurement.drift_fraction", series.drift_fraction, ""),
        ("measurement.series", series.shape, ""),
        ("measurement.empty_launch_ms", result.empty_launch_ms, "ms"),
        ("measurement.cache", result.cache, ""),
        ("measurement.working_set_bytes", result.working_set_bytes, "B"),
        ("measurement.fits_in_l2", fits_in_l2(result), ""),
        ("measurement.blocks_per_sm", result.blocks_per_sm, "blocks"),
        ("measurement.device", result.device.name, ""),
        *_sensors("before", result.before),
        *_sensors("busy", result.busy),
        *_sensors("after", result.after),
    ]
    return [
        Fact(name, value, unit, Source("measured", detail))
        for name, value, unit in rows
        if value is not None
    ]


def fits_in_l2(result: BenchResult) -> bool | None:
    """Tell whether the arguments fit in L2, so that a warm launch never reaches DRAM."""
    if result.device.l2_bytes is None:
        return None
    return result.working_set_bytes <= result.device.l2_bytes


def _sensors(moment: str, reading: SensorReading) -> Iterator[tuple[str, Value | None, str]]:
    yield f"measurement.{moment}.sm_clock_ghz", _scaled(reading.sm_clock_mhz), "GHz"
    yield f"measurement.{moment}.memory_clock_ghz", _scaled(reading.memory_clock_mhz), "GHz"
    yield f"measurement.{moment}.temperature_c", reading.temperature_c, "C"
    yield f"measurement.{moment}.power_w", reading.power_w, "W"
    slowed = "; ".join(reading.throttle_reasons)
    yield f"measurement.{moment}.slowed_by", slowed or None, ""


def _scaled(mhz: float | None) -> float | None:
    return None if mhz is None else mhz / 1000


def occupancy_difference(computed: int | None, result: BenchResult) -> str | None:
    """Say where the driver's own occupancy answer differs from the computed one."""
    if computed is None or computed == result.blocks_per_sm:
        return None
    return (
        f"the driver fits {result.blocks_per_sm} blocks of {result.kernel} on an SM, "
        f"kneck computes {computed}"
    )


def harness_facts(found: HarnessTime, command: str) -> list[Fact]:
    """Give a harness' time as `baseline.*`, and what its output says about how it timed."""
    source = Source("measured", f"{command}, line {found.line}: {found.text.strip()}")
    rows: list[tuple[str, Value | None, str]] = [
        ("baseline.time_ms", found.time_ms, "ms"),
        ("baseline.time_source", "harness", ""),
        ("baseline.warmup_launches", 0 if found.warm_up is False else None, "launches"),
        ("measurement.clock", found.clock, ""),
        ("measurement.warm_up", found.warm_up, ""),
        ("measurement.form", found.form, ""),
    ]
    return [Fact(name, value, unit, source) for name, value, unit in rows if value is not None]
