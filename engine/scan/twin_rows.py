"""The rows of kernels whose code was read under another name: copies of what was found then."""

from __future__ import annotations

from collections.abc import Iterator

from ...parsers.names import demangle
from .journal import Journal
from .model import Row, Twins, error_row


def twin_rows(twins: Twins, journal: Journal) -> Iterator[Row]:
    """Give a row for each twin, and the count of all; the units of their originals are done."""
    wanted: dict[str, set[str]] = {}
    for twin in twins.twins:
        wanted.setdefault(twin.key, set()).add(twin.original)
    found = {
        (key, row["kernel"]): row
        for key, names in wanted.items()
        for row in journal.rows_of(key, names)
    }
    kernels = instructions = 0
    for twin in twins.twins:
        row = found.get((twin.key, twin.original))
        if row is None:
            what = f"its code is that of {twin.original}, which could not be read"
            yield error_row(twins.file, twins.cubin, what, None, kernel=twin.name)
            continue
        own = {"file": twins.file, "cubin": twins.cubin, "kernel": twin.name}
        if row["record"] == "kernel":
            own["demangled"] = demangle(twin.name)
        if "instructions" in row:  # it was read, also where its analysis failed
            kernels += 1
            instructions += row["instructions"]
        yield {**row, **own}
    counts = {"kernels": kernels, "functions": kernels, "instructions": instructions}
    yield {"record": "part", "file": twins.file, "cubin": twins.cubin, "arch": twins.arch, **counts}
