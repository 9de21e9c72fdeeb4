"""Kernels of the same code are read once: which are, what is written of them, and what if not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kneck.engine.scan import parts, pool, work
from kneck.engine.scan.kernel import Analyst
from kneck.engine.scan.model import Unit
from kneck.engine.scan.work import Worker
from kneck.parsers.carve import codes_of
from kneck.parsers.cubin import cubin_of
from kneck.parsers.elf import read_elf
from kneck.parsers.errors import KneckError
from kneck.parsers.listing import Function
from kneck.parsers.stream import stream_cubin
from kneck.parsers.twins import Fingerprints

from . import dying
from .scanning import CUBINS, Row, rows, scan

SPILLED = CUBINS / "spilled.sm_86.cubin"
TWO = CUBINS / "two_kernels.sm_86.cubin"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Collect the functions that are disassembled."""
    names: list[str] = []
    do: Any = Worker.do

    def noted(self: Worker, unit: Unit) -> None:
        names.extend(unit.names)
        do(self, unit)

    monkeypatch.setattr(Worker, "do", noted)
    yield names


def renamed(path: Path, name: bytes, other: bytes) -> bytes:
    """The same cubin with a function of another name, as long as the first."""
    return path.read_bytes().replace(name, other)


def apart_from(row: Row, *names: str) -> Row:
    return {name: value for name, value in row.items() if name not in names}


def test_a_kernel_of_another_name_and_file_has_the_same_row_and_is_read_once(
    read: list[str], tmp_path: Path
) -> None:
    other, out = tmp_path / "other.cubin", tmp_path / "scan.jsonl"
    other.write_bytes(renamed(SPILLED, b"spilled", b"sqilled"))
    assert scan(SPILLED, other, "-o", out) == 0
    first, second = rows(out, "kernel")
    assert read == ["spilled"]
    assert (second["kernel"], second["demangled"]) == ("sqilled", "sqilled")
    assert second["file"] == str(other)
    place = ("file", "kernel", "demangled")
    assert apart_from(second, *place) == apart_from(first, *place)
    counts = [apart_from(row, "file") for row in rows(out, "cubin")]
    assert counts[0] == counts[1]


def test_what_an_own_scan_finds_is_what_a_twin_is_told(tmp_path: Path) -> None:
    other, both, alone = (tmp_path / name for name in ("other.cubin", "both.jsonl", "alone.jsonl"))
    other.write_bytes(renamed(SPILLED, b"spilled", b"sqilled"))
    assert scan(SPILLED, other, "-o", both) == 0
    assert scan(other, "-o", alone) == 0
    assert rows(both, "kernel")[1:] == rows(alone, "kernel")


def test_of_a_cubin_the_kernels_that_are_new_are_read(read: list[str], tmp_path: Path) -> None:
    other, out = tmp_path / "other.cubin", tmp_path / "scan.jsonl"
    data = TWO.read_bytes()
    elf = read_elf(data, "x")
    first, second = codes_of(elf)
    code = bytes(codes_of(elf)[first])
    other.write_bytes(data.replace(code, code[16:] + code[:16]))
    assert scan(TWO, other, "-o", out) == 0
    assert read == [first, second, first]
    found = rows(out, "kernel")
    assert {row["kernel"] for row in found[2:]} == {first, second}
    assert [row["kernels"] for row in rows(out, "cubin")] == [2, 2]


def test_twins_are_cut_into_parts_as_others_are(
    read: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where the first of two could not be read, its own twin alone is read again."""
    monkeypatch.setattr(parts, "PART_CODE_BYTES", 1)
    other, out = tmp_path / "other.cubin", tmp_path / "scan.jsonl"
    other.write_bytes(TWO.read_bytes())
    first, second = codes_of(read_elf(TWO.read_bytes(), "x"))

    def refusing(place: str, path: str, arch: str, symbols: Any, names: Any, quick: bool) -> Any:
        if place == str(TWO) and first in names:
            raise KneckError("it cannot be read today")
        return stream_cubin(place, path, arch, symbols, names, quick)

    monkeypatch.setattr(work, "stream_cubin", refusing)
    assert scan(TWO, other, "-o", out) == 0
    assert read == [first, second, first]
    assert sorted(row["kernel"] for row in rows(out, "kernel")) == sorted([first, second, second])
    assert [row["kernels"] for row in rows(out, "cubin")] == [1, 2]


def test_several_processes_and_a_resumed_scan_give_the_same_bytes(
    read: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for number in range(3):
        (tmp_path / f"{number}.cubin").write_bytes(SPILLED.read_bytes())
        (tmp_path / f"{number}a.cubin").write_bytes(TWO.read_bytes())
    files = sorted(tmp_path.glob("*.cubin"))
    one, two, again = (tmp_path / name for name in ("1.jsonl", "2.jsonl", "again.jsonl"))
    assert scan(*files, "-o", one) == 0
    assert scan(*files, "-o", two, jobs=2) == 0
    with monkeypatch.context() as interruption:
        do: Any = Worker.do

        def until(self: Worker, unit: Unit) -> None:
            if unit.file.endswith("0a.cubin"):
                raise KeyboardInterrupt
            do(self, unit)

        interruption.setattr(Worker, "do", until)
        assert scan(*files, "-o", again) == 130
    assert scan(*files, "--resume", "-o", again) == 0
    assert one.read_bytes() == two.read_bytes() == again.read_bytes()


def test_a_twin_of_what_could_not_be_read_is_read_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken, out = tmp_path / "broken.cubin", tmp_path / "scan.jsonl"
    broken.write_bytes(SPILLED.read_bytes())

    def refusing(place: str, *rest: Any) -> Iterator[Function]:
        if place == str(broken):
            raise KneckError("it cannot be read today")
        return stream_cubin(place, *rest)

    monkeypatch.setattr(work, "stream_cubin", refusing)
    assert scan(broken, SPILLED, "-o", out) == 0
    assert [row["file"] for row in rows(out, "error")] == [str(broken)]
    assert [row["file"] for row in rows(out, "kernel")] == [str(SPILLED)]


def test_a_twin_of_what_ended_its_process_is_read_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2]))  # for the processes
    monkeypatch.setattr(pool, "do_unit", dying.do_unit)  # dies of this name
    deadly, out = tmp_path / "saxpy.cubin", tmp_path / "scan.jsonl"
    deadly.write_bytes(SPILLED.read_bytes())
    files = (deadly, SPILLED, CUBINS / "chain.sm_86.cubin")
    assert scan(*files, "-o", out, jobs=2) == 0
    assert [row["file"] for row in rows(out, "error")] == [str(deadly)]
    assert [row["file"] for row in rows(out, "kernel")] == list(map(str, files[1:]))


def test_a_failed_analysis_is_told_of_both_and_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other, out = tmp_path / "other.cubin", tmp_path / "scan.jsonl"
    other.write_bytes(renamed(SPILLED, b"spilled", b"sqilled"))

    def failing(*_: object) -> Row:
        raise RuntimeError("out of ideas")

    monkeypatch.setattr(Analyst, "kernel", failing)
    assert scan(SPILLED, other, "-o", out) == 0
    assert [row["kernel"] for row in rows(out, "error")] == ["spilled", "sqilled"]
    assert [row["kernels"] for row in rows(out, "cubin")] == [1, 1]


def mark(data: bytes, position: int = 0) -> bytes | None:
    elf = read_elf(data, "x")
    record = cubin_of(elf, "x").records[position]
    return Fingerprints(elf).of(record, codes_of(elf)[record.name])


def test_a_fingerprint_is_of_code_and_resources_not_of_names() -> None:
    data = SPILLED.read_bytes()
    elf = read_elf(data, "x")
    code = bytes(codes_of(elf)["spilled"])
    assert mark(data) == mark(renamed(SPILLED, b"spilled", b"sqilled"))
    assert mark(data) != mark(data.replace(code, code[16:] + code[:16]))
    info = bytes(elf.by_name[".nv.info"].data)
    assert mark(data) != mark(data.replace(info, bytes(len(info))))  # another number of registers
    assert mark(data) != mark((CUBINS / "spilled.sm_80.cubin").read_bytes())


def test_helper_routines_inside_of_the_code_tell_kernels_apart_by_their_names() -> None:
    precise = CUBINS / "precise_math.sm_86.cubin"
    routine = b"$__internal_0_$__cuda_sm20_sqrt_rn_f32_slowpath"
    assert routine in precise.read_bytes()
    own = b"_Z9user_func".ljust(len(routine), b"x")
    assert mark(precise.read_bytes()) != mark(renamed(precise, routine, own))


def test_containers_of_another_version_are_told_apart() -> None:
    """The disassembler prints another architecture for some of them."""
    data = SPILLED.read_bytes()
    assert mark(data) != mark(data[:8] + bytes([data[8] ^ 1]) + data[9:])


def test_code_with_an_indirect_branch_has_no_fingerprint() -> None:
    """Its targets stand in another section."""
    assert mark((CUBINS / "switch_brx.sm_86.cubin").read_bytes()) is None
