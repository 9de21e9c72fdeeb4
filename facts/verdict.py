"""Which side binds: the larger share if it reaches the saturation, else latency.

Shares are intervals, and near the threshold the profiler itself is no judge: the verdict says which
classes its numbers allow, and which one datum would decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .bounds import Bound, Side

Class = Literal["compute", "memory", "latency", "unknown"]
Confidence = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Figures of kb/method.yaml: saturation, the margin around it, and what refutes a count."""

    saturation: float
    margin: float
    impossible: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """The class, the resource that decides it, and how sure that is.

    `possible` holds every class that the intervals and the margin allow; `predicted` tells that no
    time was given. `refuted` names resources whose share is impossible: the counts are wrong.
    """

    bound: Class
    resource: str | None
    possible: tuple[Class, ...]
    confidence: Confidence
    predicted: bool
    unexplained_share: float | None
    refuted: tuple[str, ...]
    reasons: tuple[str, ...]


def verdict(found: Sequence[Bound], limits: Thresholds, doubts: Sequence[str] = ()) -> Verdict:
    """Judge the bounds; without a time, the largest one is what the kernel would be bound by."""
    sides = {side: _largest(found, side) for side in ("compute", "memory")}
    if not found or all(bound is None for bound in sides.values()):
        return Verdict(
            "unknown", None, ("unknown",), "low", False, None, (), ("no bound is known",)
        )
    if any(bound.share is None for bound in found):
        best = max(found, key=lambda bound: bound.time_ms.value)
        return Verdict(
            best.side, best.resource, (best.side,), "low", True, None, (),
            ("no time was given: the largest bound",),
        )  # fmt: skip
    refuted = tuple(b.resource for b in found if b.share and b.share.low > limits.impossible)
    compute, memory = (_share(found, side, "value") for side in ("compute", "memory"))
    chosen = _class(compute, memory, limits.saturation)
    side: Side = "compute" if compute > memory else "memory"
    deciding = sides[side if chosen in ("latency", "unknown") else chosen]
    possible = _possible(found, limits, chosen)
    return Verdict(
        bound=chosen,
        resource=deciding.resource if deciding else None,
        possible=possible,
        confidence=_confidence(possible, refuted, doubts),
        predicted=False,
        unexplained_share=max(0.0, 1.0 - max(compute, memory)),
        refuted=refuted,
        reasons=_reasons(found, possible, refuted, doubts, limits),
    )


def _largest(found: Sequence[Bound], side: str) -> Bound | None:
    own = [bound for bound in found if bound.side == side]
    return max(own, key=lambda bound: bound.time_ms.value, default=None)


def _share(found: Sequence[Bound], side: str, end: str) -> float:
    return max((getattr(b.share, end) for b in found if b.side == side and b.share), default=0.0)


def _class(compute: float, memory: float, saturation: float) -> Class:
    if max(compute, memory) < saturation:
        return "latency"
    return "compute" if compute > memory else "memory"


def _possible(found: Sequence[Bound], limits: Thresholds, chosen: Class) -> tuple[Class, ...]:
    """Name every class that some value inside the intervals, widened by the margin, gives."""
    ends: dict[str, list[float]] = {}
    for side in ("compute", "memory"):
        low, high = (_share(found, side, end) for end in ("low", "high"))
        low, high = min(low, 1.0), min(high, 1.0)  # the time is a limit on the work
        ends[side] = [max(0.0, low - limits.margin), min(high + limits.margin, 1.0)]
    classes = {chosen}
    for compute in ends["compute"]:
        for memory in ends["memory"]:
            classes.add(_class(compute, memory, limits.saturation))
    return (chosen, *sorted(classes - {chosen}))


def _confidence(
    possible: tuple[Class, ...], refuted: tuple[str, ...], doubts: Sequence[str]
) -> Confidence:
    if refuted or len(possible) > 2:
        return "low"
    if len(possible) == 1:
        return "medium" if doubts else "high"
    return "low" if doubts else "medium"


def _reasons(
    found: Sequence[Bound],
    possible: tuple[Class, ...],
    refuted: tuple[str, ...],
    doubts: Sequence[str],
    limits: Thresholds,
) -> tuple[str, ...]:
    reasons = []
    for side in ("compute", "memory"):
        bound = _largest(found, side)
        if bound is not None and bound.share is not None:
            reasons.append(f"{side}: {bound.resource} {100 * bound.share.value:.0f} % of the time")
    if refuted:
        reasons.append(
            f"{', '.join(refuted)} above {100 * limits.impossible:.0f} %: the counts are too high"
        )
    if len(possible) > 1:
        reasons.append(f"{' or '.join(possible)}: {_decider(found)}")
    return (*reasons, *doubts)


def _decider(found: Sequence[Bound]) -> str:
    """Name the one datum that would narrow the widest interval most."""
    widest = max(
        (b for b in found if b.share is not None),
        key=lambda b: (b.share.high - b.share.low) if b.share else 0.0,
        default=None,
    )
    if widest is None or widest.share is None or widest.share.high - widest.share.low < 0.05:
        return "near the threshold; the throughput of a profiler run would decide"
    return f"the counter of {widest.resource} would decide"
