"""Wheels and SASS text as input of a scan: the same rows as for the files in them."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kneck.engine.scan import text, wheel
from kneck.parsers.tools import find_tool

from .scanning import ARCHIVE, CUBINS, FATBIN, LIBRARY, findings, kernels, rows, scan

SPILLED = CUBINS / "spilled.sm_86.cubin"
OPTIONS = {"nvdisasm": ["-c", "-hex"], "cuobjdump": ["-sass"]}


def listing(tool: str, cubin: Path = SPILLED) -> str:
    command = [find_tool(tool).path, *OPTIONS[tool], str(cubin)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def pack(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


# SASS text


@pytest.mark.parametrize("tool", OPTIONS)
@pytest.mark.parametrize("name", ["spilled.sass", "spilled.txt"])
def test_text_gives_the_findings_of_its_cubin(tool: str, name: str, tmp_path: Path) -> None:
    out = tmp_path / "scan.jsonl"
    (tmp_path / name).write_text(listing(tool))
    assert scan(tmp_path / name, "-o", out) == 0
    assert kernels(out) == [("spilled", "sm_86")]
    assert findings(out) == {"spills-in-loop"}
    (row,) = rows(out, "kernel")
    assert row["cubin"] is None and row["facts"]["loop.spill_accesses"] == 38
    (total,) = rows(out, "cubin")
    assert (total["arch"], total["kernels"], total["instructions"]) == ("sm_86", 1, 352)


def test_a_large_text_is_streamed_and_gives_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, streamed = tmp_path / "whole.jsonl", tmp_path / "streamed.jsonl"
    file = tmp_path / "two.sass"
    file.write_text(listing("cuobjdump", LIBRARY))
    assert scan(file, "-o", whole) == 0
    monkeypatch.setattr(text, "_WHOLE_BYTES", 100)
    assert scan(file, "-o", streamed) == 0
    assert whole.read_bytes() == streamed.read_bytes()
    assert rows(whole, "cubin")[0]["arch"] == "sm_80 sm_90"


def test_arch_and_kernel_choose_in_text_as_in_a_library(tmp_path: Path) -> None:
    file, out = tmp_path / "two.sass", tmp_path / "scan.jsonl"
    file.write_text(listing("cuobjdump", LIBRARY))
    assert scan(file, "--arch", "sm_90", "--kernel", "blas::scale", "-o", out) == 0
    assert kernels(out) == [("_ZN4blas5scaleIfLi4EEEvPT_S1_i", "sm_90")]


def test_texts_of_a_folder_are_told_by_their_content(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "scan.jsonl"
    folder.mkdir()
    (folder / "notes.txt").write_text("Function : none of this is code for a machine\n")
    (folder / "kernel.ptx").write_text(".version 8.0\n.target sm_80\n.entry k() { ret; }\n")
    (folder / "listing").write_text(listing("nvdisasm"))
    assert scan(folder, "-o", out) == 0
    assert kernels(out) == [("spilled", "sm_86")]
    assert not rows(out, "error")


def test_an_opcode_and_an_operand_that_nobody_knows_are_counted_and_named(tmp_path: Path) -> None:
    file, out = tmp_path / "new.sass", tmp_path / "scan.jsonl"
    file.write_text(
        "\tcode for sm_86\n\t\tFunction : f\n"
        "        /*0000*/  FROBNICATE R1, R2 ;\n"
        "        /*0010*/  MOV R3, <7:R2> ;\n"
        "        /*0020*/  EXIT ;\n"
    )
    assert scan(file, "-o", out) == 0
    (row,) = rows(out, "kernel")
    assert row["facts"]["kernel.unknown_opcodes"] == 1
    assert row["facts"]["kernel.unknown_operands"] == 1
    told = {each["id"]: each["text"] for each in row["findings"]}
    assert "FROBNICATE" in told["unknown-opcodes"]
    assert "<7:R2>" in told["unknown-operands"]


# Wheels


def test_a_wheel_gives_the_kernels_of_the_files_in_it(tmp_path: Path) -> None:
    out = tmp_path / "scan.jsonl"
    members = {
        "package/__init__.py": b"import this\n",
        "package/library.so": LIBRARY.read_bytes(),
        "package/same_names.a": ARCHIVE.read_bytes(),
        "package/mixed.fatbin": FATBIN.read_bytes(),
        "package/kernel.cubin": SPILLED.read_bytes(),
    }
    file = pack(tmp_path / "package-1.0-py3-none-any.whl", members)
    assert scan(file, "--arch", "sm_86", "-o", out) == 0
    assert [(row["kernel"], row["cubin"]) for row in rows(out, "kernel")] == [
        ("saxpy", "package/same_names.a: part.o: 2.sm_86"),
        ("saxpy", "package/mixed.fatbin: 1.sm_86"),
        ("spilled", "package/kernel.cubin"),
    ]
    assert scan(file, "-o", out) == 0
    assert len(kernels(out)) == 8 + 4 + 2 + 1
    assert {row["file"] for row in rows(out, "kernel")} == {str(file)}


def test_one_member_at_a_time_lies_on_the_disk(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    members = {f"{number}.cubin": SPILLED.read_bytes() for number in range(5)}
    file = pack(tmp_path / "many.whl", {**members, "large.bin": bytes(10_000_000)})
    seen = []
    for name, copy in wheel.wheel_members(str(file), folder):
        assert isinstance(copy, Path)
        assert list(folder.iterdir()) == [copy]
        seen.append(name)
        copy.unlink()
    assert seen == list(members)


def test_a_wheel_without_device_code_is_passed_over_in_a_folder_and_named_alone(
    tmp_path: Path,
) -> None:
    out, folder = tmp_path / "scan.jsonl", tmp_path / "in"
    folder.mkdir()
    plain = pack(folder / "plain.whl", {"plain/__init__.py": b"", "plain/lib.so": b"\x7fELF"})
    (folder / "a.cubin").write_bytes(SPILLED.read_bytes())
    assert scan(folder, "-o", out) == 0
    assert not rows(out, "error")
    assert scan(plain, "-o", out) == 2
    assert [row["what"] for row in rows(out, "error")] == ["there is no CUDA device code in it"]


def test_names_in_a_wheel_lead_nowhere(tmp_path: Path) -> None:
    out = tmp_path / "out" / "scan.jsonl"
    out.parent.mkdir()
    names = ["../../escaped.cubin", "/absolute.cubin", "a\x1b[2J.cubin", "same.cubin"]
    file = tmp_path / "evil.whl"
    with zipfile.ZipFile(file, "w") as zipped:
        for name in names:
            zipped.writestr(name, SPILLED.read_bytes())
    assert scan(file, "-o", out) == 0
    assert [row["cubin"] for row in rows(out, "kernel")] == names
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["evil.whl", "out", "scan.jsonl"]


def damaged(tmp_path: Path, kind: str) -> Path:
    file = pack(tmp_path / "broken.whl", {"a.cubin": SPILLED.read_bytes(), "b.cubin": b"\x7fELF"})
    data = bytearray(file.read_bytes())
    if kind == "cut off":
        del data[len(data) // 2 :]
    elif kind == "flipped":
        at = data.index(b"a.cubin") + 200
        data[at : at + 50] = bytes(50)
    elif kind == "encrypted":
        for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            at = data.index(mark) + place
            data[at] |= 1
    elif kind == "method":
        for mark, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
            at = data.index(mark) + place
            data[at] = 99
    file.write_bytes(data)
    return file


@pytest.mark.parametrize("kind", ["cut off", "flipped", "encrypted", "method"])
def test_a_damaged_wheel_is_a_row_and_the_rest_goes_on(kind: str, tmp_path: Path) -> None:
    out = tmp_path / "scan.jsonl"
    assert scan(damaged(tmp_path, kind), SPILLED, "-o", out) == 0
    assert kernels(out)[-1] == ("spilled", "sm_86")
    assert rows(out, "error")
    assert not [row for row in rows(out, "error") if "internal error" in row["what"]]


def test_a_member_larger_than_any_library_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheel, "LARGEST_MEMBER_BYTES", 1 << 20)
    out = tmp_path / "scan.jsonl"
    bomb = pack(tmp_path / "bomb.whl", {"bomb.so": b"\x7fELF" + bytes(2 << 20)})
    assert scan(bomb, "-o", out) == 2
    (row,) = rows(out, "error")
    assert row["cubin"] == "bomb.so" and "it has more than" in row["what"]


def test_a_wheel_that_says_less_than_it_unpacks_is_bounded(tmp_path: Path) -> None:
    """The size in the directory is what is copied; zipfile refuses what goes beyond it."""
    file = pack(tmp_path / "liar.whl", {"bomb.so": b"\x7fELF" + bytes(2 << 20)})
    data = bytearray(file.read_bytes())
    for mark, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.index(mark) + place
        data[at : at + 4] = (1000).to_bytes(4, "little")
    file.write_bytes(data)
    copies: list[Any] = list(wheel.wheel_members(str(file), tmp_path))
    assert all(isinstance(copy, str) for _, copy in copies)
    assert not list(tmp_path.glob("*.member"))
