"""Times of a sweep from a table in a file."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...parsers.errors import KneckError, Place
from .sweep import SweepPoint


def read_times(text: str, path: str) -> list[dict[str, float]]:
    """Read a table of times: CSV or whitespace with a header, or JSON objects.

    Columns are dimensions and one time: `time_ms`, `time_us` or `time_s`. Gives rows with
    `time_ms`.
    """
    rows = _json_rows(text, path) if text.lstrip()[:1] in ("[", "{") else _table_rows(text, path)
    return [_with_ms(row, path, number) for number, row in enumerate(rows, 1)]


TIME_COLUMNS = {"time_ms": 1.0, "time_us": 1e-3, "time_ns": 1e-6, "time_s": 1e3, "ms": 1.0}


def _with_ms(row: Mapping[str, Any], path: str, number: int) -> dict[str, float]:
    numbers = {
        key: float(value)
        for key, value in row.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }
    for column, factor in TIME_COLUMNS.items():
        if column in numbers:
            time = numbers.pop(column) * factor
            if time <= 0:
                raise KneckError(f"row {number} has a time of {time:g} ms", Place(path))
            return {**numbers, "time_ms": time}
    raise KneckError(
        f"row {number} has no time", Place(path), f"name a column {' or '.join(TIME_COLUMNS)}"
    )


def _json_rows(text: str, path: str) -> list[Mapping[str, Any]]:
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        place = Place(path, error.lineno, error.colno)
        raise KneckError(f"this is no JSON: {error.msg}", place) from None
    rows = data if isinstance(data, list) else data.get("points", [data])
    return [row for row in rows if isinstance(row, dict)]


def _table_rows(text: str, path: str) -> list[Mapping[str, Any]]:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if len(lines) < 2:
        raise KneckError("the table has no rows", Place(path), "write M,time_ms and one row a size")
    split = csv.reader(lines) if "," in lines[0] else (line.split() for line in lines)
    header, *rows = [[cell.strip() for cell in row] for row in split]
    found: list[Mapping[str, Any]] = []
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            what = f"{len(row)} fields where the header names {len(header)}"
            raise KneckError(what, Place(path, number))
        found.append({key: _cell(cell) for key, cell in zip(header, row, strict=True)})
    return found


def _cell(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def time_of(point: SweepPoint, rows: Sequence[Mapping[str, float]], path: str) -> float:
    """Find the time of a point: the row whose dimensions agree with what varies."""
    for row in rows:
        named = [key for key in point.varied if key in row]
        if named and all(row[key] == point.varied[key] for key in named):
            return row["time_ms"]
    sizes = ", ".join(f"{key}={value}" for key, value in point.varied.items())
    raise KneckError(f"no time for {sizes}", Place(path), "add a row, or leave the size out")
