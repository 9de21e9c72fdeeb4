"""Rows to text, one at a time: JSON Lines, CSV and a listing for people."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Protocol

from ...parsers.errors import printable
from .model import Row


class Writer(Protocol):
    """Gives the text of each row; `start` and `end` stand before and behind all of them."""

    def start(self) -> str: ...

    def row(self, row: Row) -> str: ...

    def end(self) -> str: ...


class JsonLines:
    """One JSON object per line; everything beyond ASCII is escaped."""

    def start(self) -> str:
        return ""

    def row(self, row: Row) -> str:
        return json.dumps(row, separators=(",", ":")) + "\n"

    def end(self) -> str:
        return ""


class Csv:
    """One line per kernel or error, findings by id."""

    def __init__(self, facts: Sequence[str]) -> None:
        self.facts = facts
        self.columns = [
            "record", "file", "cubin", "arch", "kernel", "demangled", "instructions", *facts,
            "findings", "regressions", "fail_on", "error",
        ]  # fmt: skip

    def start(self) -> str:
        return _line(self.columns)

    def row(self, row: Row) -> str:
        if row["record"] in ("scan", "cubin"):
            return ""
        cells = {
            **row,
            **row.get("facts", {}),
            "findings": " ".join(each["id"] for each in row.get("findings", [])),
            "regressions": " ".join(each["fact"] for each in row.get("regressions", [])),
            "error": row.get("what", ""),
        }
        return _line([_cell(cells.get(name)) for name in self.columns])

    def end(self) -> str:
        return ""


class Text:
    """A few lines per kernel; control characters of names are written out."""

    def __init__(self) -> None:
        self.place: tuple[str, str | None] | None = None

    def start(self) -> str:
        return ""

    def row(self, row: Row) -> str:
        return printable("".join(f"{line}\n" for line in self._lines(row)))

    def end(self) -> str:
        return ""

    def _lines(self, row: Row) -> Iterator[str]:
        kind = row["record"]
        if kind == "scan":
            return
        place = (row["file"], row["cubin"])
        if place != self.place:
            self.place = place
            yield _flat(row["file"] if row["cubin"] is None else f"{row['file']}  {row['cubin']}")
        if kind == "kernel":
            yield from self._kernel(row)
        elif kind in ("error", "skipped"):
            about = f"{row['kernel']}: " if "kernel" in row else ""
            yield _flat(f"  {kind}: {about}{row['what']}")

    def _kernel(self, row: Row) -> Iterator[str]:
        facts = row["facts"]
        registers = facts.get("occupancy.registers_per_thread")
        smem = facts.get("occupancy.static_smem")
        figures = [row["arch"], f"{row['instructions']:,} instructions"]
        figures += [] if registers is None else [f"{registers} registers"]
        figures += [f"{smem:,} B static shared memory"] if smem else []
        yield _flat(f"  {row['demangled']}  {', '.join(figures)}")
        for each in row["findings"]:
            yield _flat(f"    {each['level']}: {each['id']}: {each['text']}")
        for each in row.get("regressions", []):
            yield f"    regression: {each['fact']} {each['before']:g} -> {each['after']:g}"


def _flat(text: str) -> str:
    return text.replace("\n", "\\x0a")


def _line(cells: Sequence[object]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return _flat(printable(value)) if isinstance(value, str) else value
