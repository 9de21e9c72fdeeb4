"""The rows of kernels whose code was read under another name: copies of what was found then."""

from __future__ import annotations

from ...parsers.names import demangle
from .journal import Journal
from .model import Row, Twins


def twin_rows(twins: Twins, journal: Journal) -> list[Row] | None:
    """Give a row for each twin, and their count; the units of their originals are done.

    None where one of these was not read, which need not be the fault of its code.
    """
    wanted: dict[str, set[str]] = {}
    for twin in twins.twins:
        wanted.setdefault(twin.key, set()).add(twin.original)
    found = {
        (key, row["kernel"]): row
        for key, names in wanted.items()
        for row in journal.rows_of(key, names)
        if "instructions" in row  # it was read, also where its analysis failed
    }
    place = {"file": twins.unit.file, "cubin": twins.unit.cubin}
    rows: list[Row] = []
    for twin in twins.twins:
        row = found.get((twin.key, twin.original))
        if row is None:
            return None
        own = {**place, "kernel": twin.name}
        if "demangled" in row:
            own["demangled"] = demangle(twin.name)
        rows.append({**row, **own})
    count, instructions = len(rows), sum(row["instructions"] for row in rows)
    counts = {"kernels": count, "functions": count, "instructions": instructions}
    return [*rows, {"record": "part", **place, "arch": twins.unit.arch, **counts}]
