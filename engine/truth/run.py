"""The whole set asked, once with the arguments and once without, and its pairs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from ...parsers.record import dataclass
from ..knowledge import Setting
from .figures import misses
from .load import TruthSet
from .pairs import PairRow, pair_row
from .schema import Judge, KernelEntry
from .verdicts import Row, row_of, timed


@dataclass(frozen=True)
class Replayed:
    """What came out of a set: rows with arguments, without them, and pairs."""

    given: tuple[Row, ...]
    without: tuple[Row, ...]
    pairs: tuple[PairRow, ...]
    missed: tuple[str, ...]


class Step(Protocol):
    """Called once for each question."""

    def __call__(self) -> None: ...


def replay_set(
    truth: TruthSet, setting: Setting, judge: Judge, names: Sequence[str] = ()
) -> Replayed:
    """Ask kneck about every kernel, or those whose names begin like this; raises KneckError."""
    chosen = [e for e in truth.manifest.kernels if not names or e.name.startswith(tuple(names))]
    given, without, diagnoses = [], [], {}
    with _progress(2 * len(chosen)) as step:
        for entry in chosen:
            result, row = _ask(entry, truth, setting, judge, True)
            diagnoses[entry.name] = result.diagnosis
            step()
            if truth.measured[entry.name].counters:
                given.append(row)
                without.append(_ask(entry, truth, setting, judge, False)[1])
            step()
    pairs = [
        pair_row(pair, truth, diagnoses[pair.base], setting, judge.first)
        for pair in truth.manifest.pairs
        if pair.base in diagnoses
    ]
    asked = truth.manifest.demands
    missed = [] if names else misses(given, without, pairs, asked, judge)
    return Replayed(tuple(given), tuple(without), tuple(pairs), tuple(missed))


def _ask(
    entry: KernelEntry, truth: TruthSet, setting: Setting, judge: Judge, with_arguments: bool
) -> tuple[Any, Row]:
    result, seconds = timed(entry, truth, setting, with_arguments)
    return result, row_of(entry, truth.measured[entry.name], result, seconds, judge)


@contextmanager
def _progress(steps: int) -> Iterator[Step]:
    """Show a bar on a terminal, nothing elsewhere."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("measured kernels"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("kernels", total=steps)
        yield lambda: bar.advance(task)
