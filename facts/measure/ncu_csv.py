"""`ncu --csv`: the raw, details and source pages as launches with counters.

Lines that the profiler or the program printed before the table (`==PROF==` and the like) are
skipped. Numbers carry thousands separators in quotes.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence

from ...parsers.errors import KneckError, Place
from .counters import (
    LaunchCounters,
    SourceRow,
    dimensions,
    in_base_unit,
    number,
    opcodes_of,
    whole,
)

IDENTITY = "Kernel Name"
DETAILS = ("ID", IDENTITY, "Section Name", "Metric Name", "Metric Unit", "Metric Value")
SIZES = ("Grid Size", "Block Size")
SOURCE = ("Source",)
ADDRESS = re.compile(r"0x[0-9a-fA-F]{1,16}")
MAKE_ONE = "make it with: ncu --import REPORT.ncu-rep --csv --page raw > FILE"


def read_csv(text: str, path: str, labels: Mapping[str, str]) -> list[LaunchCounters]:
    """Read one page; `labels` maps "Section/Metric Name" of the details page to a metric.

    Raises KneckError where the text is none of the three pages.
    """
    try:
        rows = list(csv.reader(text.splitlines()))
    except csv.Error as error:
        raise KneckError(f"this is no CSV: {error}", Place(path), MAKE_ONE) from None
    for position, row in enumerate(rows):
        if row[:1] == [IDENTITY] and len(row) > 1:
            return _source(rows[position:], path, position)
        if IDENTITY in row and "Metric Value" in row:
            return _details(rows[position:], path, position, labels)
        if IDENTITY in row and row[:1] == ["ID"]:
            return _raw(rows[position:], path, position)
    raise KneckError("this is no CSV page of Nsight Compute", Place(path), MAKE_ONE)


def _raw(rows: Sequence[Sequence[str]], path: str, skipped: int) -> list[LaunchCounters]:
    """One launch a row; the first row names the metrics, the second their units."""
    names = rows[0]
    if len(rows) < 3:
        raise KneckError("the page has no launch", Place(path, skipped + 1), MAKE_ONE)
    units = rows[1]
    if len(units) != len(names):
        raise KneckError("the row of units is cut off", Place(path, skipped + 2), MAKE_ONE)
    found = []
    for position, row in enumerate(rows[2:], skipped + 3):
        if not row or whole(row[0]) is None:
            continue
        if len(row) != len(names):
            raise KneckError(
                f"{len(row)} fields, where the first row names {len(names)}",
                Place(path, position),
                "the file is cut off; export it again",
            )
        found.append(_raw_launch(names, units, row, Place(path, position)))
    return found


def _raw_launch(
    names: Sequence[str], units: Sequence[str], row: Sequence[str], place: Place
) -> LaunchCounters:
    metrics: dict[str, float] = {}
    texts: dict[str, str] = {}
    for name, unit, text in zip(names, units, row, strict=True):
        value = number(text)
        if value is None:
            texts[name] = text
        elif "__" in name or name.startswith(("memory_", "inst_", "thread_inst")):
            metrics[name] = in_base_unit(value, unit)
    return LaunchCounters(
        kernel=texts.get(IDENTITY, ""),
        number=whole(row[0]) or 0,
        place=place,
        grid=dimensions(texts.get("Grid Size", "")),
        block=dimensions(texts.get("Block Size", "")),
        metrics=metrics,
        texts={name: text for name, text in texts.items() if text},
    )


def _details(
    rows: Sequence[Sequence[str]], path: str, skipped: int, labels: Mapping[str, str]
) -> list[LaunchCounters]:
    """One metric a row, by section and label; rows of rules hold no value."""
    column = {name: position for position, name in enumerate(rows[0])}
    _check_columns(column, DETAILS, Place(path, skipped + 1))
    widest = max(column[name] for name in (*DETAILS, *SIZES) if name in column)
    launches: dict[str, tuple[LaunchCounters, dict[str, float]]] = {}
    for position, row in enumerate(rows[1:], skipped + 2):
        key = row[column["ID"]] if len(row) > widest else ""
        launch = whole(key)
        if launch is None:
            continue
        if key not in launches:
            metrics: dict[str, float] = {}
            launches[key] = (
                LaunchCounters(
                    kernel=row[column[IDENTITY]],
                    number=launch,
                    place=Place(path, position),
                    grid=dimensions(row[column["Grid Size"]]) if "Grid Size" in column else None,
                    block=dimensions(row[column["Block Size"]]) if "Block Size" in column else None,
                    metrics=metrics,
                ),
                metrics,
            )
        label = row[column["Metric Name"]]
        name = labels.get(f"{row[column['Section Name']]}/{label}") or (
            label if "__" in label else None  # --metrics prints the names themselves
        )
        value = number(row[column["Metric Value"]])
        if name is not None and value is not None:
            launches[key][1][name] = in_base_unit(value, row[column["Metric Unit"]])
    return [found for found, _ in launches.values()]


def _check_columns(column: Mapping[str, int], wanted: Sequence[str], place: Place) -> None:
    lacking = [name for name in wanted if name not in column]
    if lacking:
        raise KneckError(f'the page has no column "{lacking[0]}"', place, MAKE_ONE)


def _source(rows: Sequence[Sequence[str]], path: str, skipped: int) -> list[LaunchCounters]:
    """A line with the kernel's name, a header, and one line an instruction, for each launch."""
    found = []
    for launch, (start, part) in enumerate(_parts(rows)):
        if len(part) < 2:
            continue
        _check_columns(dict.fromkeys(part[1], 0), SOURCE, Place(path, skipped + start + 2))
        lines = tuple(_source_rows(part[1], part[2:]))
        executed = [row.executed for row in lines if row.executed is not None]
        found.append(
            LaunchCounters(
                kernel=part[0][1],
                number=launch,
                place=Place(path, skipped + start + 1),
                metrics={"smsp__inst_executed.sum": float(sum(executed))} if executed else {},
                opcodes=opcodes_of(lines),
                rows=lines,
            )
        )
    return found


def _parts(rows: Sequence[Sequence[str]]) -> Iterator[tuple[int, Sequence[Sequence[str]]]]:
    starts = [i for i, row in enumerate(rows) if row[:1] == [IDENTITY] and len(row) > 1]
    for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        yield start, rows[start:end]


def _source_rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[SourceRow]:
    column = {name: position for position, name in reversed(list(enumerate(header)))}
    first: int | None = None
    reasons = {
        name: position
        for name, position in column.items()
        if name.startswith("stall_") and not name.endswith("(Not Issued)")
    }

    def count(row: Sequence[str], *names: str) -> int | None:
        for name in names:
            if name in column:
                value = number(row[column[name]])
                return None if value is None else int(value)
        return None

    for position, row in enumerate(rows):
        if len(row) < len(header) or not row[column["Source"]].strip():
            continue
        text = row[column["Address"]] if "Address" in column else ""
        address = int(text, 16) if ADDRESS.fullmatch(text) else 16 * position
        first = address if first is None else first
        stalls = {
            name.removeprefix("stall_"): int(value)
            for name, place in reasons.items()
            if (value := number(row[place]))
        }
        yield SourceRow(
            offset=address - first,
            sass=row[column["Source"]].strip(),
            executed=count(row, "Instructions Executed"),
            samples=count(row, "# Samples", "Samples", "Sampling Data (All)"),
            stalls=stalls,
        )
