"""The forms in which benchmark harnesses print a kernel's time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ...parsers.errors import KneckError, Place
from ...parsers.record import dataclass

UNIT_MS = {
    "s": 1e3, "sec": 1e3, "secs": 1e3, "second": 1e3, "seconds": 1e3,
    "ms": 1.0, "msec": 1.0, "msecs": 1.0, "millisecond": 1.0, "milliseconds": 1.0,
    "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "usec": 1e-3, "usecs": 1e-3, "microsecond": 1e-3,
    "microseconds": 1e-3, "ns": 1e-6, "nsec": 1e-6, "nanosecond": 1e-6, "nanoseconds": 1e-6,
}  # fmt: skip
NUMBER = r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?"
UNIT = "|".join(sorted(UNIT_MS, key=len, reverse=True))
TIMED = re.compile(rf"(?<![\w.])({NUMBER})\s*({UNIT})(?![\w/])", re.IGNORECASE)
# `time_ms: 0.498`, `elapsed (us) = 498`: the unit stands in the label.
LABELLED = re.compile(rf"(?:[_ (\[]|\b)({UNIT})[)\]]?\s*[:=]\s*({NUMBER})(?![\w.%])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A time found in the output: milliseconds, the line it stands on, and how it was read."""

    time_ms: float
    line: int
    text: str
    form: str


# Forms, the most specific first


def by_form(output: str) -> list[Candidate]:
    """Give the times of the most specific form that the output has."""
    for reader in (_json_times, _google_table, _nvbench_table):
        candidates = list(reader(output))
        if candidates:
            return candidates
    plain = list(_plain_times(output))
    kernels = [c for c in plain if re.search(r"kernel|\bgpu\b|device", c.text, re.IGNORECASE)]
    medians = [c for c in kernels or plain if re.search(r"median", c.text, re.IGNORECASE)]
    return medians or kernels or plain


def by_pattern(output: str, pattern: str) -> Iterator[Candidate]:
    """Give what a user's regular expression finds; raises KneckError where it is faulty."""
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        column = (error.pos or 0) + 1
        raise KneckError(
            f"--bench-time is no regular expression: {error.msg}",
            Place("--bench-time", 1, column),
            "for example --bench-time 'kernel: ([0-9.]+) us'",
        ) from None
    if compiled.groups == 0:
        raise KneckError(
            "--bench-time has no group",
            Place("--bench-time"),
            "put brackets around the number: 'kernel: ([0-9.]+) us'",
        )
    for match in compiled.finditer(output):
        line = output.count("\n", 0, match.start(1)) + 1
        text = output.splitlines()[line - 1]
        try:
            number = float(match[1])
        except (TypeError, ValueError):
            what = f"--bench-time found {match[1]!r}, which is no number"
            raise KneckError(
                what, Place("--bench-time"), "the first group must hold the number alone"
            ) from None
        given = match[2] if compiled.groups > 1 else None
        after = re.match(rf"\s*({UNIT})(?!\w)", output[match.end(1) :], re.IGNORECASE)
        unit = given or (after[1] if after else "ms")
        if unit.lower() not in UNIT_MS:
            raise KneckError(
                f'--bench-time found the unit "{unit}"', Place("--bench-time"),
                "units are s, ms, us and ns",
            )  # fmt: skip
        yield Candidate(number * UNIT_MS[unit.lower()], line, text, "pattern")


def _plain_times(output: str) -> Iterator[Candidate]:
    for number, line in enumerate(output.splitlines(), 1):
        found = False
        for match in TIMED.finditer(line):
            found = True
            yield Candidate(float(match[1]) * UNIT_MS[match[2].lower()], number, line, "text")
        if not found:
            for match in LABELLED.finditer(line):
                scale = UNIT_MS[match[1].lower()]
                yield Candidate(float(match[2]) * scale, number, line, "text")


def _google_table(output: str) -> Iterator[Candidate]:
    """Rows of Google Benchmark's console table: name, time, unit, CPU, unit, iterations."""
    row = re.compile(rf"^(\S.*?)\s+({NUMBER})\s+(ns|us|ms|s)\s+({NUMBER})\s+(ns|us|ms|s)\s+[0-9]+")
    rows = [
        (number, match)
        for number, line in enumerate(output.splitlines(), 1)
        if (match := row.match(line))
    ]
    medians = [(number, match) for number, match in rows if match[1].rstrip().endswith("_median")]
    for number, match in medians or rows:
        scale = UNIT_MS[match[3]]
        yield Candidate(float(match[2]) * scale, number, match[0], "google-benchmark")


def _nvbench_table(output: str) -> Iterator[Candidate]:
    """Rows of nvbench's markdown table; cold GPU time where there is one, else batched."""
    wanted: int | None = None
    for number, line in enumerate(output.splitlines(), 1):
        if not line.lstrip().startswith("|"):
            wanted = None
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if any("GPU" in cell and "Time" in cell for cell in cells) or "GPU" in cells:
            named = [i for i, cell in enumerate(cells) if cell in ("GPU Time", "GPU")]
            batch = [i for i, cell in enumerate(cells) if cell in ("Batch GPU", "GPU Batch")]
            wanted = (named or batch or [None])[0]  # type: ignore[list-item]
        elif wanted is not None and wanted < len(cells):
            match = TIMED.fullmatch(cells[wanted])
            if match:
                value = float(match[1]) * UNIT_MS[match[2].lower()]
                yield Candidate(value, number, line, "nvbench")


# JSON


def _json_times(output: str) -> Iterator[Candidate]:
    """Times in the JSON that makes up the output, or one of its lines."""
    for number, text in _json_texts(output):
        try:
            data = json.loads(text)
        except json.JSONDecodeError:
            continue
        if isinstance(data, dict) and isinstance(data.get("benchmarks"), list):
            yield from _google_json(data["benchmarks"], number)
            return
        yield from _keyed_times(data, "", number)


def _json_texts(output: str) -> Iterator[tuple[int, str]]:
    start = re.search(r"^[{\[]", output, re.MULTILINE)
    if start is None:
        return
    line = output.count("\n", 0, start.start()) + 1
    try:
        _, end = json.JSONDecoder().raw_decode(output[start.start() :])
        yield line, output[start.start() : start.start() + end]
        rest = output[start.start() + end :]
    except json.JSONDecodeError:
        rest = output[start.start() :]
    after = output.count("\n", 0, len(output) - len(rest)) + 1
    for offset, text in enumerate(rest.splitlines()):
        if text.startswith(("{", "[")):
            yield after + offset, text


def _google_json(rows: list[Any], line: int) -> Iterator[Candidate]:
    entries = [row for row in rows if isinstance(row, dict)]
    medians = [row for row in entries if row.get("aggregate_name") == "median"]
    plain = [row for row in entries if row.get("run_type", "iteration") == "iteration"]
    for row in medians or plain:
        time, unit = row.get("real_time"), row.get("time_unit", "ns")
        if isinstance(time, (int, float)) and unit in UNIT_MS:
            name = str(row.get("name", ""))
            yield Candidate(time * UNIT_MS[unit], line, name, "google-benchmark json")


def _keyed_times(data: Any, path: str, line: int) -> Iterator[Candidate]:
    """Numbers under keys that are named as times with a unit: time_ms, kernel_us, elapsed_s."""
    if isinstance(data, dict):
        unit_key = data.get("unit") or data.get("time_unit")
        for key, value in data.items():
            where = f"{path}.{key}" if path else str(key)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            unit = _unit_of_key(str(key), unit_key)
            if number and unit is not None:
                text = f"{where} = {value}"
                yield Candidate(value * UNIT_MS[unit], line, text, "json")
            elif not number:
                yield from _keyed_times(value, where, line)
    elif isinstance(data, list):
        for position, value in enumerate(data):
            yield from _keyed_times(value, f"{path}[{position}]", line)


def _unit_of_key(key: str, unit: Any) -> str | None:
    words = re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower())
    if words[-1] in ("ms", "us", "ns", "s", "seconds", "milliseconds", "microseconds"):
        return words[-1]
    timed = {"time", "elapsed", "duration", "median"} & set(words)
    return unit if timed and isinstance(unit, str) and unit in UNIT_MS else None
