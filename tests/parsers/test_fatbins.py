"""Cubins taken out of a library one by one are those that cuobjdump extracts from all of it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kneck.parsers.containers import extract_into
from kneck.parsers.fatbins import entries, extract_one_by_one

DATA = Path(__file__).resolve().parents[1] / "scan" / "data"
CONTAINERS = [DATA / "library.so", DATA / "mixed.fatbin"]  # the second one is compressed


@pytest.mark.parametrize("path", CONTAINERS, ids=lambda path: path.name)
def test_the_same_cubins_come_out_under_the_same_names(path: Path, tmp_path: Path) -> None:
    at_once, singly = tmp_path / "a", tmp_path / "b"
    at_once.mkdir()
    singly.mkdir()
    whole = extract_into(str(path), at_once)
    found = list(extract_one_by_one(str(path), singly, entries(str(path)), lambda arch: True))
    assert [embedded for embedded, _ in found] == [embedded for embedded, _ in whole]
    for (_, one), (_, other) in zip(found, whole, strict=True):
        assert isinstance(one, Path) and isinstance(other, Path)
        assert one.read_bytes() == other.read_bytes()


def test_only_wanted_architectures_are_extracted(tmp_path: Path) -> None:
    path = str(CONTAINERS[0])
    found = extract_one_by_one(path, tmp_path, entries(path), lambda arch: arch == 90)
    assert {embedded.arch for embedded, _ in found} == {"sm_90"}


def test_nothing_else_is_on_the_disk_than_what_was_given(tmp_path: Path) -> None:
    path = str(CONTAINERS[0])
    for _, file in extract_one_by_one(path, tmp_path, entries(path), lambda arch: True):
        assert isinstance(file, Path)
        assert [each for each in tmp_path.rglob("*") if each.is_file()] == [file]
        file.unlink()


def test_damaged_headers_end_the_search_and_not_the_program(tmp_path: Path) -> None:
    chosen = random.Random(3)
    data = CONTAINERS[0].read_bytes()
    for _ in range(200):
        broken = bytearray(data)
        at = broken.find(b"\x50\xed\x55\xba", chosen.randrange(len(broken)))
        at = max(at, 0)
        for _ in range(4):
            place = min(at + chosen.randrange(64), len(broken) - 1)
            broken[place] = chosen.randrange(256)
        file = tmp_path / "broken.so"
        file.write_bytes(broken[: chosen.randrange(1, len(broken))])
        for entry in entries(str(file)):
            assert 0 < entry.start < entry.end <= file.stat().st_size
