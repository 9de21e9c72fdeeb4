"""The reports of the test kernels are, byte for byte, the committed ones."""

from __future__ import annotations

import pytest

from ..golden import update

GOLDENS = {golden.file: golden for golden in update.goldens()}
REPORTS = (".txt", ".md", ".json")


@pytest.mark.parametrize("file", GOLDENS)
def test_a_report_is_the_committed_one(file: str) -> None:
    wanted = (update.HERE / file).read_text(encoding="utf-8")
    assert update.produce(GOLDENS[file]) == wanted, "python tests/golden/update.py writes it anew"


def test_every_committed_report_is_made_by_something() -> None:
    committed = {path.name for path in update.HERE.iterdir() if path.suffix in REPORTS}
    assert committed == set(GOLDENS)


def test_no_line_of_a_text_report_is_wider_than_a_hundred_columns() -> None:
    wide = [
        (path.name, line)
        for path in update.HERE.glob("*.txt")
        if "explain" not in path.name and "facts" not in path.name
        for line in path.read_text(encoding="utf-8").splitlines()
        if len(line) > 100
    ]
    assert wide == []


def test_a_markdown_report_has_the_headings_of_the_method_in_its_order() -> None:
    headings = [
        "### Baseline",
        "### Roofline Classification",
        "### Occupancy",
        "### Compute/Load Ratio",
        "### SASS Instruction Mix",
        "### Smem Cliff",
        "### Recommended Optimizations (ranked)",
        "### Not Recommended",
        "### Conflicts",
        "### Pitfalls",
        "### Checklist",
        "### Limits",
    ]
    reports = sorted(update.HERE.glob("*.md"))
    assert len(reports) > 5
    for path in reports:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert lines[0].startswith("## Bottleneck Analysis Report: ")
        assert [line for line in lines if line.startswith("#")][1:] == headings, path.name
