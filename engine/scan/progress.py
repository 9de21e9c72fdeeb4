"""How far a scan is, on standard error and only where a person looks at it; and its last lines."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from dataclasses import field
from typing import Any

from ...parsers.errors import printable
from ...parsers.record import dataclass
from .model import Row

MOST_LISTED = 50  # errors on the terminal; the output has all of them


@dataclass
class Tally:
    """What was scanned, and what could not be."""

    started: float = field(default_factory=time.monotonic)
    files: int = 0
    cubins: int = 0
    kernels: int = 0
    functions: int = 0
    instructions: int = 0
    skipped: int = 0
    fails: int = 0
    regressions: int = 0
    error_count: int = 0
    errors: list[str] = field(default_factory=list)

    def add(self, row: Row) -> None:
        """Count a row of the output."""
        kind = row["record"]
        if kind == "kernel":
            self.fails += row.get("fail_on") is True
            self.regressions += bool(row.get("regressions"))
        elif kind == "cubin":
            self.cubins += 1
            self.kernels += row["kernels"]
            self.functions += row["functions"]
            self.instructions += row["instructions"]
        elif kind == "skipped":
            self.skipped += 1
        elif kind == "error":
            self.error_count += 1
            if len(self.errors) < MOST_LISTED:
                about = [row["file"], row["cubin"], row.get("kernel"), row["what"]]
                text = ": ".join(each for each in about if each)
                self.errors.append(printable(text.replace("\n", " ")))

    def lines(self) -> list[str]:
        """Say what was scanned, at what rate, and what could not be read and why."""
        seconds = max(time.monotonic() - self.started, 1e-9)
        found = [
            f"{self.kernels:,} kernels ({self.functions:,} functions, {self.instructions:,} "
            f"instructions) in {self.cubins:,} cubins of {self.files:,} files: {seconds:.1f} s, "
            f"{self.kernels / seconds:,.1f} kernels per second"
        ]
        if self.skipped:
            found.append(f"{self.skipped:,} cubins are of generations that kneck does not read")
        if self.error_count:
            found.append(f"{self.error_count:,} could not be read:")
            found += [f"  {text}" for text in self.errors]
            more = self.error_count - len(self.errors)
            found += [f"  and {more:,} more"] if more else []
        return found


class Progress:
    """A bar on a terminal, nothing elsewhere."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self._stack = ExitStack()
        self._bar: Any = None
        self._task: Any = None
        self._planned = 0

    def __enter__(self) -> Progress:
        if sys.stderr is not None and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                TextColumn,
                TimeElapsedColumn,
            )
            from rich.progress import Progress as Bar

            self._bar = self._stack.enter_context(
                Bar(
                    TextColumn("scan"),
                    BarColumn(),
                    MofNCompleteColumn(),
                    TextColumn("{task.fields[rate]}"),
                    TimeElapsedColumn(),
                    console=Console(stderr=True),
                    transient=True,
                )
            )
            self._task = self._bar.add_task("scan", total=0, rate="")
        return self

    def planned(self) -> None:
        """One more unit is known."""
        self._planned += 1
        if self._bar is not None:
            self._bar.update(self._task, total=self._planned)

    def done(self) -> None:
        """One more unit is written."""
        if self._bar is not None:
            seconds = max(time.monotonic() - self.tally.started, 1e-9)
            rate = f"{self.tally.kernels / seconds:,.0f} kernels per second"
            self._bar.update(self._task, advance=1, rate=rate)

    def __exit__(self, *_: object) -> None:
        self._stack.close()
