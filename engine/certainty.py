"""How sure a verdict is: it is judged again at the ends of what the bounds may be."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from ..facts.model import Fact, FactBase
from ..parsers.record import dataclass
from .evaluate import evaluate_rules
from .infer import Inference

SIDES = ("compute", "memory")
ARGUMENTS, COUNTERS = "emulation.arguments_known", "counters.given"
VERDICT = "bound"
MARGIN = "method.saturation_margin"


@dataclass(frozen=True)
class Certainty:
    """Confidence in the bound, and what is to be said where it could be another one."""

    confidence: str
    reasons: tuple[str, ...]


def certainty(inference: Inference) -> Certainty:
    """Judge again with both shares at their ends, widened by the margin of the threshold.

    One class at all ends is high confidence; the margin alone makes it medium; else it is low.
    Where two are left, both are named, with the one measurement that would decide.
    """
    now = inference.facts.value(VERDICT)
    if now is None:
        return Certainty("low", ())
    sure = _classes(inference, 0.0)
    margin = inference.facts.number(MARGIN) or 0
    near = _classes(inference, float(margin))
    if near == {now}:
        return Certainty("high", ())
    others = sorted(str(found) for found in near - {now} if found is not None)
    if not others:
        return Certainty("medium", ())
    both = " or ".join([str(now), *others])
    if sure == {now}:
        told = f"{both}: near the threshold, within {margin:.0%} of the shares"
        return Certainty("medium", (f"{told}; {_decides(inference.base, False)}",))
    told = f"{both}: the shares are intervals that leave it open"
    return Certainty("low", (f"{told}; {_decides(inference.base, True)}",))


def _decides(base: FactBase, by_interval: bool) -> str:
    """Name the measurement that would decide between two classes."""
    if base.value(COUNTERS) is True:
        return "so near to it a profiler is no judge either"
    if by_interval and base.value(ARGUMENTS) is False:
        return "the kernel's arguments (--args) would decide"
    return "counters of Nsight Compute (--ncu) would decide"


def _classes(inference: Inference, margin: float) -> set[object]:
    """Collect the verdicts at the ends of the two shares."""
    base = inference.base
    ends = [_ends(base, side, margin) for side in SIDES]
    if not all(ends):
        return {inference.facts.value(VERDICT)}
    found: set[object] = set()
    for values in product(*ends):
        moved = [_moved(base, side, value) for side, value in zip(SIDES, values, strict=True)]
        known = inference.evaluation
        facts = evaluate_rules(inference.knowledge, base.with_facts(moved), known).facts
        found.add(facts.value(VERDICT))
    return found


def _ends(base: FactBase, side: str, margin: float) -> tuple[float, ...]:
    """Give the lowest and the highest share of a side."""
    share, time = base.number(f"bounds.{side}.share"), base.number("baseline.time_ms")
    if share is None or not time:
        return ()
    low, high = (base.number(f"bounds.{side}.time_{end}_ms") for end in ("low", "high"))
    lowest = float(share) if low is None else low / time
    highest = float(share) if high is None else high / time
    return tuple(dict.fromkeys((max(0.0, lowest - margin), highest + margin)))


def _moved(base: FactBase, side: str, value: float) -> Fact:
    return replace(base.facts[f"bounds.{side}.share"], value=value)
