"""Running `kneck scan` in a test, and reading what it wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kneck.engine.cli import main

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"
CUBINS = HERE.parent / "kernels" / "cubin"
LIBRARY = DATA / "library.so"
ARCHIVE = DATA / "same_names.a"
FATBIN = DATA / "mixed.fatbin"
Row = dict[str, Any]


def scan(*arguments: object, jobs: int = 1) -> int:
    """Run the command in this process and give its exit status."""
    return main(["scan", "--jobs", str(jobs), *map(str, arguments)])


def rows(path: Path, kind: str | None = None) -> list[Row]:
    """Read the rows of an output, those of one kind only where it is named."""
    found: list[Row] = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [row for row in found if kind in (None, row["record"])]


def kernels(path: Path) -> list[tuple[str, str]]:
    """Name the kernels of an output with their architecture."""
    return [(row["kernel"], row["arch"]) for row in rows(path, "kernel")]


def findings(path: Path) -> set[str]:
    """Name everything that was found in any kernel."""
    return {each["id"] for row in rows(path, "kernel") for each in row["findings"]}
