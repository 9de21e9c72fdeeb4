"""How a figure follows from the runs of a micro-benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from .probe_types import Measured, Plan, ProbeSettings, Quantity, Sample


def summarize(plan: Plan, settings: ProbeSettings) -> list[Measured]:
    """Turn the passes of one probe into its figures."""
    found = []
    clock = median(sample.clock_ghz for sample in plan.passes)
    for name, quantity in plan.spec.values.items():
        each = [figure(plan, sample, quantity, settings) for sample in plan.passes]
        value = median(each)
        spread = (max(each) - min(each)) / value
        stable = len(each) > 1 and spread <= settings.stable_fraction
        note = "" if plan.counts.exact or not plan.spec.opcodes else "compiled by the driver"
        unit = unit_of(name, quantity)
        found.append(Measured(name, value, unit, spread, clock, stable, plan.spec.id, note))
    return found


def figure(plan: Plan, sample: Sample, quantity: Quantity, settings: ProbeSettings) -> float:
    """Compute one quantity from one run.

    Work is counted in warp instructions: of a block, loop count x iterations x warps.
    """
    spec = plan.spec
    of_warp = plan.counts.count(spec.opcodes) * sample.iterations
    per_sm = (plan.launch or settings.launches[0]).per_sm
    if quantity == "latency_cycles":
        return sample.cycles / of_warp
    if quantity == "latency_ns":
        return sample.nanoseconds / of_warp
    if quantity == "cycles_per_instruction":
        return sample.cycles * settings.sub_partitions / (of_warp * sample.warps * per_sm)
    if spec.sweep is not None:
        work = spec.sweep * plan.buffer_bytes * sample.iterations
    else:
        work = of_warp * sample.warps * spec.per_instruction * sample.blocks
    if quantity == "per_ns":
        return work / (sample.event_ms * 1e6)
    return work / sample.blocks * per_sm / sample.cycles


UNITS = (
    ("_gb_per_s", "GB/s"), ("_bytes_per_sm_clock", "B/cycle"), ("_lines_per_sm_clock", "1/cycle"),
    ("_sectors_per_ns", "1/ns"), ("_sector_per_ns", "1/ns"), ("_per_ns", "1/ns"),
    ("issue_per_sm_clock", "instructions/cycle"), ("_us", "us"), ("_ns", "ns"),
)  # fmt: skip


def unit_of(name: str, quantity: str) -> str:
    """Give the unit of a figure; a peak without a suffix counts 1e9 operations per second."""
    if quantity in ("cycles_per_instruction", "latency_cycles"):
        return "cycles"
    for suffix, unit in UNITS:
        if name.endswith(suffix):
            return unit
    return "GOP/s" if name.startswith("int") else "GFLOP/s"


def combined(runs: Sequence[Sequence[Measured]], stable_fraction: float) -> list[Measured]:
    """Join several runs of the probe: the median of each figure, the spread over all of them.

    A figure that differs between runs by more than the fraction is unstable, however well the
    passes of one run agreed.
    """
    found = []
    for figure in runs[0]:
        same = [f for run in runs for f in run if f.name == figure.name]
        value = median(f.value for f in same)
        apart = (max(f.value for f in same) - min(f.value for f in same)) / value
        spread = max(apart, *(f.spread_fraction for f in same))
        stable = spread <= stable_fraction and all(f.stable for f in same)
        clock = median(f.clock_ghz for f in same)
        found.append(
            Measured(
                figure.name, value, figure.unit, spread, clock, stable, figure.probe, figure.note
            )
        )
    return found
