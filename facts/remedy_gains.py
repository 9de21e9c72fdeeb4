"""How much faster a kernel becomes by a remedy, as facts that follow from the bounds and the time.

    after = largest bound of what is left; unexplained = time - largest bound now

Where a unit sets the time (its share is at the threshold or above), the new time lies between the
largest bound of what is left scaled as now, and that bound with the unexplained time in full; no
unit is ever used better than it can be, so the slow end is no shorter than bound / threshold. Where
no unit does, waiting sets the time: then at most the work that goes is saved, at least nothing.

What is left is computed in `remedies`, which takes numpy; this needs its names only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from .derive import Derivation, Outputs
from .model import Value

REMEDY_NAMES = (
    "conflict_free",
    "coalesced",
    "wider",
    "no_spills",
    "shuffled",
    "full_lanes",
    "private_atomics",
    "register_tile",
    "register_row",
    "read_once",
    "larger_tile",
)
FROM_BOUNDS = ("baseline.time_ms", "bounds.largest.time_ms", "method.saturation_fraction")
WAYS = "access.shared.conflict_ways"
SPILLS = ("method.spill_gain_low", "method.spill_gain_high")
ATOMICS = ("method.atomics_gain_low", "method.atomics_gain_high")


def gain_derivations() -> list[Derivation]:
    """Give `gain.R.low`, `.high`, `.ceiling` and `.filled` of every remedy: speed-up - 1.

    The ceiling is the largest bound of what is left; it holds where the remedy also ends waits.
    `gain.R.filled` is where that bound's unit then counts as saturated. Where the bounds are not
    known, low and high follow from what else tells how much work goes, if anything does.
    """
    return [
        Derivation(
            tuple(f"gain.{name}.{end}" for end in ("low", "high", "ceiling", "filled")),
            (),
            partial(_gain, name=name),
            (f"after.{name}.fraction", *FROM_BOUNDS, *OTHERWISE.get(name, NOTHING_ELSE)[0]),
        )
        for name in REMEDY_NAMES
    ]


def _gain(f: Mapping[str, Value], *, name: str) -> Outputs:
    fraction = f.get(f"after.{name}.fraction")
    if fraction is not None and all(one in f for one in FROM_BOUNDS):
        time, bound, least = (float(f[one]) for one in FROM_BOUNDS)
        return _by_bounds(name, time, bound, bound * float(fraction), least)
    inputs, otherwise = OTHERWISE.get(name, NOTHING_ELSE)
    if otherwise is None or any(one not in f for one in inputs):
        gap = "needs the time, and a launch whose work is known"
        return {f"gain.{name}.{end}": (None, "", gap) for end in ("low", "high")}
    low, high, text = otherwise(f)
    ends = {"low": low, "high": high, "ceiling": high}
    return {f"gain.{name}.{end}": (value, "", text) for end, value in ends.items()}


def _by_bounds(name: str, time: float, bound: float, after: float, least: float) -> Outputs:
    unexplained = max(0.0, time - bound)
    if bound < least * time:
        slow, fast = time, after + unexplained
        text = "waiting sets the time: nothing, up to all work that goes"
    else:
        slow = min(time, max(after / least, after + unexplained))
        fast = after * max(1.0, time / bound)
        text = "largest bound after, with the unexplained time and as a share of it"
    filled = max(0.0, least * time / after - 1) if after else None
    return {
        f"gain.{name}.low": (time / slow - 1, "", text),
        f"gain.{name}.high": (time / fast - 1 if fast else None, "", text),
        f"gain.{name}.ceiling": (
            max(0.0, time / after - 1) if after else None,
            "",
            "time / bound after",
        ),
        f"gain.{name}.filled": (filled, "", "time / (bound after / threshold)"),
    }


def _by_ways(f: Mapping[str, Value]) -> tuple[float, float, str]:
    text = "wavefronts of shared memory over the least, if they alone set the time"
    return 0.0, max(0.0, float(f[WAYS]) - 1), text


def _by_reports(f: Mapping[str, Value], *, ends: tuple[str, str]) -> tuple[float, float, str]:
    low, high = (float(f[name]) for name in ends)
    return low, high, "as reported of other kernels"


Otherwise = Callable[[Mapping[str, Value]], tuple[float, float, str]]
NOTHING_ELSE: tuple[tuple[str, ...], Otherwise | None] = ((), None)
OTHERWISE: Mapping[str, tuple[tuple[str, ...], Otherwise | None]] = {
    "conflict_free": ((WAYS,), _by_ways),
    "no_spills": (SPILLS, partial(_by_reports, ends=SPILLS)),
    "private_atomics": (ATOMICS, partial(_by_reports, ends=ATOMICS)),
}
