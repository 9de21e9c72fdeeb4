"""What the counters say: the class of a kernel, and the units that are busiest."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from .schema import Judge

SUFFIX = ".avg.pct_of_peak_sustained_elapsed"


def measured_class(counters: Mapping[str, float], judge: Judge) -> str:
    """Judge the throughputs that Nsight Compute gives in percent."""
    compute = counters.get(judge.side.compute + SUFFIX, 0.0)
    memory = counters.get(judge.side.memory + SUFFIX, 0.0)
    return class_of(compute / 100, memory / 100, judge)


def class_of(compute: float, memory: float, judge: Judge) -> str:
    """Judge by Nsight Compute's rule: the larger share where it is saturated, else latency."""
    if max(compute, memory) < judge.tolerance.saturated:
        return "latency"
    return "compute" if compute > memory else "memory"


def busiest_units(counters: Mapping[str, float], side: str, judge: Judge) -> tuple[str, ...]:
    """Name the units of a side that are as busy as the busiest one."""
    shares = {
        name: max(counters.get(counter + SUFFIX, 0.0) for counter in unit.counters) / 100
        for name, unit in judge.units.items()
        if unit.side == side
    }
    most = max(shares.values(), default=0.0)
    near = most - judge.tolerance.equally_busy
    return tuple(name for name, share in shares.items() if share >= near)


def unit_of(resource: str | None, judge: Judge) -> str | None:
    """Name the unit that a resource belongs to."""
    for name, unit in judge.units.items():
        if resource in unit.parts:
            return name
    return resource


def half(family: str) -> str:
    """Tell which half a family is in: the last bit of its SHA-1 decides, not its author."""
    digest = hashlib.sha1(family.encode(), usedforsecurity=False).digest()
    return "test" if digest[-1] & 1 else "calibration"
