"""Sections of the diagnosis that are facts in another order."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite

from ..facts.code import Code
from ..facts.launch_facts import axes
from ..facts.model import FactBase
from . import diagnosis as d

UNKNOWN = "unknown"


class View:
    """Typed look-ups in a fact base; what is missing is None, or "unknown" for a judgement."""

    def __init__(self, facts: FactBase) -> None:
        self.facts = facts

    def number(self, name: str) -> d.Number | None:
        """Give a number, whole ones as int."""
        value = self.facts.number(name)
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def text(self, name: str) -> str | None:
        """Give a text."""
        value = self.facts.value(name)
        return None if value is None else str(value)

    def claim(self, name: str) -> bool | None:
        """Give a true or false."""
        value = self.facts.value(name)
        return None if value is None else bool(value)

    def judgement(self, name: str) -> str:
        """Give a text, "unknown" where it is not known."""
        return self.text(name) or UNKNOWN

    def numbers(self, prefix: str) -> dict[str, d.Number]:
        """Give all numbers below a prefix by the rest of their name."""
        found = {}
        for fact in self.facts:
            if fact.name.startswith(prefix):
                value = self.number(fact.name)
                if value is not None:
                    found[fact.name.removeprefix(prefix)] = value
        return found


def launch(v: View) -> d.Launch:
    """Give grid, block and what follows from them."""

    def shape(name: str) -> list[int] | None:
        text = v.text(name)
        return None if text is None else list(axes(text))

    n = v.number
    return d.Launch(
        shape("launch.grid"),
        shape("launch.block"),
        n("launch.dynamic_smem"),
        n("launch.threads"),
        n("launch.warps"),
        n("launch.waves"),
    )


def device(v: View) -> d.Device:
    """Give the device and the peaks in force."""
    basis = v.judgement("device.peaks_basis")
    return d.Device(v.text("device.id"), v.text("device.name"), v.text("device.arch"), basis)


def baseline(v: View) -> d.Baseline:
    """Give time, problem and effective rates."""
    n = v.number
    return d.Baseline(
        n("baseline.time_ms"),
        v.text("baseline.time_source"),
        v.text("baseline.problem"),
        n("baseline.flops"),
        n("baseline.bytes"),
        n("baseline.gflops"),
        n("baseline.gb_per_s"),
        n("baseline.expected_fraction"),
    )


def roofline(v: View) -> d.Roofline:
    """Give intensity, balance point, side and attained share."""
    n = v.number
    return d.Roofline(
        n("roofline.arithmetic_intensity"),
        n("roofline.balance_point"),
        v.text("roofline.precision"),
        v.judgement("roofline.side"),
        n("roofline.attained_fraction"),
        n("roofline.peak_gflops"),
        n("roofline.peak_gb_per_s"),
    )


def occupancy(v: View) -> d.Occupancy:
    """Give the occupancy table."""
    n, o = v.number, "occupancy."
    limits = {
        name: n(f"{o}block_limits.{name}")
        for name in ("registers", "smem", "warps", "blocks", "barriers")
    }
    limiters = v.text(o + "limiters")
    return d.Occupancy(
        n(o + "registers_per_thread"),
        n(o + "threads_per_block"),
        n(o + "static_smem"),
        n(o + "dynamic_smem"),
        n(o + "warps_per_block"),
        limits,
        n(o + "blocks_per_sm"),
        n(o + "active_warps"),
        n(o + "theoretical_occupancy"),
        limiters.split(" and ") if limiters else [],
        v.claim(o + "sufficient_to_hide_latency"),
    )


def smem(v: View) -> d.Smem:
    """Give shared memory against its cliffs, and doubled."""
    cliffs = v.numbers("smem.cliffs.")
    return d.Smem(
        v.number("smem.per_block"),
        v.number("smem.cliff"),
        v.claim("smem.over_cliff"),
        v.number("smem.blocks_per_sm"),
        {count: cliffs[count] for count in sorted(cliffs, key=int)},
        {
            "per_block": v.number("smem.doubled.per_block"),
            "blocks_per_sm": v.number("smem.doubled.blocks_per_sm"),
        },
    )


def _share(bound_ms: float, time_ms: d.Number | None) -> float | None:
    """Give a bound as a part of the time; a time of 0, or one beyond all others, has none."""
    share = bound_ms / time_ms if time_ms else inf
    return share if isfinite(share) else None


def bounds(v: View, code: Code) -> list[d.ResourceBound]:
    """Give the lower bounds on the time, largest first: of every resource, else of the roofline."""
    if code.bounds:
        time = v.number("baseline.time_ms")
        return [
            d.ResourceBound(
                row.resource,
                row.side,
                row.time_ms,
                _share(row.time_ms, time),
                row.basis,
            )
            for row in sorted(code.bounds, key=lambda row: (-row.time_ms, row.resource))
        ]
    names = {"compute": "arithmetic peak", "memory": "DRAM bandwidth"}
    rows = []
    for side, resource in names.items():
        time = v.number(f"bounds.{side}.time_ms")
        if time is not None:
            fact = v.facts.facts[f"bounds.{side}.time_ms"]
            share = v.number(f"bounds.{side}.share")
            rows.append(d.ResourceBound(resource, side, time, share, fact.source.detail))
    return sorted(rows, key=lambda row: (-(row.time_ms or 0), row.resource))


CHECKLIST: list[tuple[str, list[str], Callable[[View], bool] | None]] = [
    (
        "Baseline timed with CUDA events, not wall clock",
        ["baseline.time_ms"],
        lambda v: v.text("baseline.time_source") != "harness",
    ),
    ("Roofline classification determined", ["roofline.side", "bound"], None),
    ("Occupancy computed with its limiter", ["occupancy.limiters"], None),
    ("Compute/load ratio per tile counted in SASS", ["tile.ratio"], None),
    ("SASS instruction mix and stall counts documented", ["kernel.has_encodings"], None),
    ("Smem cliff checked against the architecture", ["smem.per_block", "smem.cliff"], None),
    ("Decision matrix applied", ["bound"], None),
    ("Findings in a structured report", [], None),
]


def checklist(v: View) -> list[d.ChecklistItem]:
    """Give the method's validation list: what was done, or which fact was missing."""
    items = []
    for step, needed, also in CHECKLIST:
        gaps = [name for name in needed if name not in v.facts]
        done = not gaps and (also is None or also(v))
        items.append(d.ChecklistItem(step, done, gaps))
    return items
