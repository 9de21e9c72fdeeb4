"""The roofline of a sweep as a picture, one point per size (matplotlib, extra `plot`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ...parsers.errors import KneckError, MissingProgramError, Place
from ...parsers.record import dataclass

ENDINGS = (".png", ".svg", ".pdf")


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """One size: where it stands and what was said of it."""

    label: str
    intensity: float  # FLOP/B
    gflops: float
    bound: str


def points_of(labels: Sequence[str], diagnoses: Sequence[Mapping[str, Any]]) -> list[RooflinePoint]:
    """Take the points that can be drawn: those with an intensity and a rate."""
    found = []
    for label, diagnosis in zip(labels, diagnoses, strict=True):
        roofline, baseline = diagnosis.get("roofline") or {}, diagnosis.get("baseline") or {}
        intensity, gflops = roofline.get("arithmetic_intensity"), baseline.get("gflops")
        if intensity and gflops:
            bound = str(diagnosis.get("bound", "unknown"))
            found.append(RooflinePoint(label, intensity, gflops, bound))
    return found


def draw_roofline(
    points: Sequence[RooflinePoint],
    peak_gflops: float,
    peak_gb_per_s: float,
    title: str,
    path: Path,
) -> None:
    """Draw roof and points into a PNG, SVG or PDF, by the ending."""
    if path.suffix.lower() not in ENDINGS:
        what = f'a plot cannot be written as "{path.suffix}"'
        raise KneckError(what, Place(str(path)), f"use one of {', '.join(ENDINGS)}")
    if not points:
        raise KneckError(
            "no size has both an intensity and a rate",
            help="give --problem with FLOP and bytes, and a time for each size",
        )
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    balance = peak_gflops / peak_gb_per_s
    lowest = min(balance / 8, *(point.intensity / 2 for point in points))
    highest = max(balance * 8, *(point.intensity * 2 for point in points))
    roof = [min(peak_gflops, x * peak_gb_per_s) for x in (lowest, balance, highest)]
    axes.plot([lowest, balance, highest], roof, color="black", linewidth=1.5)
    for bound, marker in (("compute", "^"), ("memory", "s"), ("latency", "o"), ("unknown", "x")):
        chosen = [point for point in points if point.bound == bound]
        if chosen:
            xs, ys = [p.intensity for p in chosen], [p.gflops for p in chosen]
            axes.plot(xs, ys, marker, label=f"{bound}-bound" if bound != "unknown" else bound)
    for point in points:
        axes.annotate(
            point.label, (point.intensity, point.gflops), textcoords="offset points",
            xytext=(6, -4), fontsize=8,
        )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="FLOP / byte", ylabel="GFLOP/s", title=title)
    axes.legend()
    try:
        figure.savefig(path)
    except OSError as error:
        reason = (error.strerror or "cannot be written").lower()
        raise KneckError(reason, Place(str(path)), "give a file in a writable folder") from None
    finally:
        pyplot.close(figure)


def _pyplot() -> Any:
    try:
        matplotlib = import_module("matplotlib")
    except ImportError:
        raise MissingProgramError(
            "plots need the package matplotlib", help="pip install 'kneck[plot]'"
        ) from None
    matplotlib.use("Agg")  # no window
    return import_module("matplotlib.pyplot")
