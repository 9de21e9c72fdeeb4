"""Figures over rows: shares that are right, and confusion matrices."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ...parsers.record import dataclass
from .pairs import PairRow
from .schema import Demands, Judge
from .verdicts import Row

HALVES = ("calibration", "test")
CLASSES = ("compute", "memory", "latency", "unknown")
Confusion = Mapping[tuple[str, str], int]  # (measured, found) -> kernels


@dataclass(frozen=True)
class Figures:
    """Over some kernels: shares of 1, None where nothing counts."""

    kernels: int
    equal: float | None
    roofline: float | None
    resource: float | None
    executed: float | None
    wavefronts: float | None
    sectors: float | None
    confusion: Confusion
    roofline_confusion: Confusion
    median_seconds: float
    longest_seconds: float


def figures(rows: Sequence[Row], judge: Judge) -> Figures:
    """Summarise kernels; a count of instructions that is not known is wrong.

    Wavefronts and sectors count where the addresses do not depend on data.
    """
    bound = [row for row in rows if row.busiest]
    fixed = [row for row in rows if not row.depends_on_data]
    near = judge.tolerance
    return Figures(
        kernels=len(rows),
        equal=share(row.found == row.measured for row in rows),
        roofline=share(row.roofline == row.measured for row in rows),
        resource=share(row.resource in row.busiest for row in bound),
        executed=share(within(row.executed, near.executed) for row in rows),
        wavefronts=_known(fixed, "wavefronts", near.wavefronts),
        sectors=_known(fixed, "sectors", near.sectors),
        confusion=Counter((row.measured, row.found) for row in rows),
        roofline_confusion=Counter((row.measured, row.roofline) for row in rows),
        median_seconds=statistics.median(row.seconds for row in rows),
        longest_seconds=max(row.seconds for row in rows),
    )


@dataclass(frozen=True)
class PairFigures:
    """Over some pairs: shares of 1; `error` is the mean of those that have a range."""

    pairs: int
    among_first: float | None
    inside: float | None
    error: float | None
    ranges: int
    ceilings: int
    ceilings_that_hold: int
    misleading: tuple[str, ...]


def pair_figures(rows: Sequence[PairRow], judge: Judge) -> PairFigures:
    """Summarise pairs; a strategy that is not recommended has no range and is not inside."""
    noise = judge.tolerance.noise
    held = [row.holds for row in rows if row.holds is not None]
    errors = [row.error for row in rows if row.error is not None]
    return PairFigures(
        pairs=len(rows),
        among_first=share(row.strategy in row.first for row in rows),
        inside=share(row.inside for row in rows),
        error=statistics.fmean(errors) if errors else None,
        ranges=len(errors),
        ceilings=len(held),
        ceilings_that_hold=sum(held),
        misleading=tuple(f"{row.base}, {row.strategy}" for row in rows if row.misleads(noise)),
    )


def misses(
    given: Sequence[Row],
    without: Sequence[Row],
    pairs: Sequence[PairRow],
    demands: Demands,
    judge: Judge,
) -> list[str]:
    """Name every figure below what the set asks for; classes are judged on the half kept apart."""
    over_pairs = pair_figures(pairs, judge)
    whole, apart = _figures_of(given, judge), _figures_of(_in_test(given), judge)
    blind = _figures_of(_in_test(without), judge)
    asked = (
        ("class with arguments", apart, "equal", demands.class_with_arguments),
        ("class without arguments", blind, "equal", demands.class_without_arguments),
        ("resource named", apart, "resource", demands.resource),
        ("executed instructions", whole, "executed", demands.executed),
        ("shared wavefronts", whole, "wavefronts", demands.wavefronts),
        ("global sectors", whole, "sectors", demands.sectors),
        ("strategy among the first", over_pairs, "among_first", demands.among_first),
        ("gain inside its range", over_pairs, "inside", demands.gain_inside),
    )
    found = []
    for name, where, key, least in asked:
        reached = getattr(where, key, None)
        if least is not None and reached is not None and reached < least:
            found.append(f"{name}: {100 * reached:.1f} %, asked are {100 * least:.0f} %")
    found += [f"slower, and first without a doubt: {text}" for text in over_pairs.misleading]
    return found


def _in_test(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.half == "test"]


def _figures_of(rows: Sequence[Row], judge: Judge) -> Figures | None:
    return figures(rows, judge) if rows else None


def share(hits: Iterable[bool]) -> float | None:
    """Give the part that is true, None of nothing."""
    table = list(hits)
    return sum(table) / len(table) if table else None


def within(ratio: float | None, distance: float) -> bool:
    """Tell whether a ratio is near 1."""
    return ratio is not None and abs(ratio - 1) <= distance


def _known(rows: Sequence[Row], name: str, distance: float) -> float | None:
    ratios = [getattr(row, name) for row in rows]
    return share(within(ratio, distance) for ratio in ratios if ratio is not None)
