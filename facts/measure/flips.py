"""Where the verdict of a sweep flips from one size to the next, and what moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...parsers.record import dataclass
from .sweep import SweepPoint


@dataclass(frozen=True, slots=True)
class Flip:
    """Two neighbouring points with different verdicts, and the facts that moved most."""

    before: SweepPoint
    after: SweepPoint
    verdicts: tuple[str, str]
    because: tuple[str, ...]


def flips(points: Sequence[SweepPoint], diagnoses: Sequence[Mapping[str, Any]]) -> list[Flip]:
    """Find neighbours whose verdicts differ; `diagnoses` are dicts of `kneck.diagnosis/1`.

    With several ranges, neighbours are points that differ in one dimension by one step.
    """
    found = []
    for left, right in _neighbours(points):
        verdicts = verdict(diagnoses[left]), verdict(diagnoses[right])
        if verdicts[0] != verdicts[1]:
            because = _moved(diagnoses[left], diagnoses[right])
            found.append(Flip(points[left], points[right], verdicts, because))
    return found


def _neighbours(points: Sequence[SweepPoint]) -> Iterator[tuple[int, int]]:
    at = {tuple(point.varied.values()): position for position, point in enumerate(points)}
    axes = [sorted({key[i] for key in at}) for i in range(len(next(iter(at), ())))]
    for key, position in at.items():
        for i, axis in enumerate(axes):
            step = axis.index(key[i]) + 1
            if step < len(axis):
                other = at.get((*key[:i], axis[step], *key[i + 1 :]))
                if other is not None:
                    yield position, other


def verdict(diagnosis: Mapping[str, Any]) -> str:
    """Give the verdict in words: class and resource or cause."""
    detail = diagnosis.get("bound_detail") or {}
    bound = str(diagnosis.get("bound", "unknown"))
    what = detail.get("cause") if bound == "latency" else detail.get("resource")
    return f"{bound} ({what})" if what else bound


def _moved(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """Name the bounds and figures that decide, with both values, the largest change first."""
    rows = [
        (f"share of {resource}", left, right)
        for resource, left, right in _shares(before, after)
    ] + [
        (name, _at(before, name), _at(after, name))
        for name in (
            "roofline.arithmetic_intensity", "roofline.attained_fraction", "launch.waves",
            "baseline.time_ms",
        )
    ]  # fmt: skip
    known = [(n, float(a), float(b)) for n, a, b in rows if a is not None and b is not None]
    known.sort(key=lambda row: -abs(row[2] - row[1]) / max(abs(row[1]), abs(row[2]), 1e-300))
    return tuple(f"{name} {a:.3g} -> {b:.3g}" for name, a, b in known[:4] if a != b)


def _shares(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[str, float | None, float | None]]:
    left = {row["resource"]: row.get("share") for row in before.get("bounds") or ()}
    right = {row["resource"]: row.get("share") for row in after.get("bounds") or ()}
    for resource in left:
        if resource in right:
            yield resource, left[resource], right[resource]


def _at(diagnosis: Mapping[str, Any], path: str) -> float | None:
    current: Any = diagnosis
    for key in path.split("."):
        current = current.get(key) if isinstance(current, Mapping) else None
    return current if isinstance(current, (int, float)) else None
