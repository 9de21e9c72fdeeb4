"""The figures of an earlier scan, to tell what got worse since."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ...parsers.errors import KneckError, Place
from .model import SCHEMA, Row
from .settings import Measure

Figures = tuple[Any, ...]
_HOW = "write one with: kneck scan PATH... -o FILE"


class Baseline:
    """Figures of each kernel and architecture; of equally named ones, in the order of the scan."""

    def __init__(self, path: str, measures: Sequence[Measure]) -> None:
        """Read a scan; raises KneckError where the file is none."""
        self.measures = measures
        self._known: dict[tuple[str, str], list[Figures]] = {}
        self._met: dict[tuple[str, str], int] = {}
        try:
            with open(path, encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    self._read(line, Place(path, number))
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise KneckError(f"cannot read the baseline: {reason}", Place(path), _HOW) from None
        except UnicodeDecodeError:
            raise KneckError("the baseline is no JSON Lines file", Place(path), _HOW) from None

    def regressions(self, row: Row) -> list[dict[str, Any]]:
        """Give what is worse in a kernel than in the baseline's kernel of that name."""
        key = (row["kernel"], row["arch"])
        known = self._known.get(key)
        if not known:
            return []
        index = self._met.get(key, 0)
        self._met[key] = index + 1
        figures = known[min(index, len(known) - 1)]
        found = []
        for measure, before in zip(self.measures, figures, strict=True):
            after = row["facts"].get(measure.fact)
            if measure.is_worse(before, after):
                found.append({"fact": measure.fact, "before": before, "after": after})
        return found

    @property
    def gone(self) -> int:
        """Count the kernels of the baseline that the scan did not meet."""
        return sum(len(each) for key, each in self._known.items() if key not in self._met)

    def _read(self, line: str, place: Place) -> None:
        try:
            row = json.loads(line)
            if place.line == 1 and (row["record"] != "scan" or row["schema"] != SCHEMA):
                raise KneckError("the baseline is no scan in JSON Lines", place, _HOW)
            if row["record"] == "kernel":
                figures = tuple(row["facts"].get(measure.fact) for measure in self.measures)
                self._known.setdefault((row["kernel"], row["arch"]), []).append(figures)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise KneckError("the baseline is no scan in JSON Lines", place, _HOW) from None
