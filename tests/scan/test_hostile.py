"""Damaged, odd and hostile input: an error row or nothing, never a traceback or a hang."""

from __future__ import annotations

import os
import random
import struct
import sys
from pathlib import Path

import pytest

from kneck.engine.scan import work
from kneck.engine.scan.kernel import Analyst
from kneck.engine.scan.limit import TooLong, bounded_time
from kneck.parsers.elf import read_elf

from .scanning import ARCHIVE, CUBINS, FATBIN, LIBRARY, kernels, rows, scan

SAXPY, CHAIN = CUBINS / "saxpy.sm_86.cubin", CUBINS / "chain.sm_86.cubin"


def reasons(out: Path) -> list[str]:
    return [row["what"] for row in rows(out, "error")]


def test_one_broken_cubin_is_listed_and_the_rest_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken, out = tmp_path / "broken.cubin", tmp_path / "scan.jsonl"
    broken.write_bytes(SAXPY.read_bytes()[:1000])
    assert scan(broken, CHAIN, "-o", out) == 0
    assert kernels(out) == [("chain", "sm_86")]
    (row,) = rows(out, "error")
    assert row["file"] == str(broken) and "damaged or cut off" in row["what"]
    errors = capsys.readouterr().err
    assert "1 could not be read" in errors and "broken.cubin" in errors


def test_flipped_bits_in_the_code_end_in_rows(tmp_path: Path) -> None:
    """Each file has three flipped bits: in the instructions, or anywhere."""
    out, folder = tmp_path / "scan.jsonl", tmp_path / "flipped"
    folder.mkdir()
    chosen = random.Random(7)
    data = SAXPY.read_bytes()
    code = next(s for s in read_elf(data, "").sections if s.name == ".text.saxpy").data
    start = data.index(bytes(code))
    for number in range(8):
        flipped = bytearray(data)
        for _ in range(3):
            at = start + chosen.randrange(len(code)) if number % 2 else chosen.randrange(len(data))
            flipped[at] ^= 1 << chosen.randrange(8)
        (folder / f"{number}.cubin").write_bytes(flipped)
    scan(folder, CHAIN, "-o", out)
    assert kernels(out)[-1] == ("chain", "sm_86")
    assert not [each for each in reasons(out) if "internal error" in each]


@pytest.mark.parametrize("keep", [0.3, 0.7, 0.98])
@pytest.mark.parametrize("whole", [LIBRARY, ARCHIVE, FATBIN], ids=lambda path: path.name)
def test_truncated_containers_end_in_rows(whole: Path, keep: float, tmp_path: Path) -> None:
    cut, out = tmp_path / "cut", tmp_path / "scan.jsonl"
    data = whole.read_bytes()
    cut.write_bytes(data[: int(len(data) * keep)])
    assert scan(cut, "--arch", "sm_86", "-o", out) in (0, 2)
    assert not [each for each in reasons(out) if "internal error" in each]


def test_files_without_device_code_are_passed_over_in_folders_and_named_alone(
    tmp_path: Path,
) -> None:
    folder, out = tmp_path / "in", tmp_path / "scan.jsonl"
    folder.mkdir()
    (folder / "empty.so").write_bytes(b"")
    (folder / "text.cubin").write_text("hello")
    (folder / "host.so").write_bytes(Path(sys.executable).read_bytes()[:100_000])
    with open(folder / "huge.bin", "wb") as file:
        file.truncate(3 << 30)
    with open(folder / "huge.so", "wb") as file:
        file.write(b"\x7fELF" + bytes(60))
        file.truncate(200 << 20)
    assert scan(folder, CHAIN, "-o", out) == 0
    assert not rows(out, "error")
    assert scan(folder / "empty.so", folder / "text.cubin", "-o", out) == 2
    assert reasons(out) == ["the file is empty", "there is no CUDA device code in it"]


def test_links_are_not_walked_in_circles_and_a_file_counts_once(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "scan.jsonl"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.cubin").write_bytes(SAXPY.read_bytes())
    (folder / "b.cubin").symlink_to("a.cubin")
    os.link(folder / "a.cubin", folder / "c.cubin")
    (folder / "loop.cubin").symlink_to("loop.cubin")
    (folder / "dangling.cubin").symlink_to("nothing")
    (folder / "sub" / "up").symlink_to("..")
    assert scan(folder, folder / "b.cubin", "-o", out) == 0
    assert kernels(out) == [("saxpy", "sm_86")]


def test_pipes_in_a_folder_are_not_waited_for(tmp_path: Path) -> None:
    out = tmp_path / "scan.jsonl"
    (tmp_path / "in").mkdir()
    os.mkfifo(tmp_path / "in" / "pipe")
    assert scan(tmp_path / "in", tmp_path / "in" / "pipe", "-o", out) == 2
    assert reasons(out) == ["this is no file"]


def test_odd_file_names_are_kept_and_not_printed_raw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = tmp_path / "in", tmp_path / "scan.jsonl"
    folder.mkdir()
    names = [
        b"a\x1b[31mred\x07.cubin",
        b"line\nend.so",
        b"\xff\xfe.so",
        b"-rf .sm_90. x.so",
        b"'; #",
    ]
    for name in names:
        data = FATBIN if b"-rf" in name else SAXPY
        with open(os.path.join(os.fsencode(folder), name), "wb") as file:
            file.write(data.read_bytes())
    (folder / "\x1b[2Jbroken").write_bytes(SAXPY.read_bytes()[:500])
    assert scan(folder, "-o", out) == 0
    assert len(kernels(out)) == 6
    files = {os.path.basename(os.fsencode(row["file"])) for row in rows(out, "kernel")}
    assert files == set(names)
    assert "\x1b" not in capsys.readouterr().err
    assert scan(folder, "--format", "text") == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed and "\x07" not in printed


def test_escape_sequences_in_kernel_names_are_not_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = tmp_path / "evil.cubin"
    evil.write_bytes(SAXPY.read_bytes().replace(b"saxpy", b"s\x1b[2J"))
    for format in ("text", "jsonl", "csv", "sarif"):
        scan(evil, "--format", format)
        captured = capsys.readouterr()
        assert "\x1b" not in captured.out + captured.err


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data.replace(b"`\n", b"xx"),
        lambda data: data[:56] + b"9" * 10 + data[66:],
        lambda data: data.replace(b"part.o/", b"/99999 "),
        lambda data: data.replace(b"part.o/", b"../../x"),
        lambda data: data.replace(b"part.o/", b"#1/9999"),
        lambda data: b"!<thin>\n" + data[8:],
    ],
)
def test_damaged_archives_end_in_rows(damage: object, tmp_path: Path) -> None:
    assert callable(damage)
    out, broken = tmp_path / "scan.jsonl", tmp_path / "in" / "broken.a"
    broken.parent.mkdir()
    broken.write_bytes(damage(ARCHIVE.read_bytes()))
    assert scan(broken, "--arch", "sm_86", "-o", out) in (0, 2)
    assert not [each for each in reasons(out) if "internal error" in each]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["broken.a", "in", "scan.jsonl"]


def test_a_cubin_of_an_older_generation_is_skipped_by_name(tmp_path: Path) -> None:
    old, out = tmp_path / "old.cubin", tmp_path / "scan.jsonl"
    data = bytearray(SAXPY.read_bytes())
    flags = struct.unpack_from("<I", data, 48)[0]
    struct.pack_into("<I", data, 48, flags & ~0xFF & ~0xFF00 | (52 << 8 if data[8] >= 8 else 52))
    old.write_bytes(data)
    assert scan(old, "-o", out) == 0
    (row,) = rows(out, "skipped")
    assert "sm_52 is Maxwell" in row["what"]


def test_a_path_that_is_missing_stops_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "scan.jsonl"
    assert scan(SAXPY, tmp_path / "nothing\x1b[31m", "-o", out) == 2
    errors = capsys.readouterr().err
    assert "no such file" in errors and "help:" in errors and "\x1b" not in errors
    assert not list(tmp_path.iterdir())


def test_an_output_that_cannot_be_written_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scan(SAXPY, "-o", tmp_path / "no" / "such" / "folder") == 2
    assert not list(tmp_path.iterdir())
    assert scan(SAXPY, "-o", tmp_path) == 2
    assert "error: " in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert scan(SAXPY, "-o", tmp_path / "file" / "x") == 2


def test_a_fault_of_the_analysis_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Analyst, *_: object) -> None:
        raise RuntimeError("a fault\nwith lines")

    monkeypatch.setattr(Analyst, "kernel", fail)
    out = tmp_path / "scan.jsonl"
    assert scan(SAXPY, "-o", out) == 0
    (row,) = rows(out, "error")
    assert row["kernel"] == "saxpy"
    assert row["what"] == "internal error, RuntimeError: a fault"


def test_a_function_that_takes_too_long_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(self: Analyst, *_: object) -> None:
        while True:
            pass

    monkeypatch.setattr(Analyst, "kernel", hang)
    monkeypatch.setattr(work, "bounded_time", lambda: bounded_time(0.05))
    out = tmp_path / "scan.jsonl"
    assert scan(SAXPY, "-o", out) == 0
    assert "more than 0.05 s" in reasons(out)[0]


def test_the_bound_ends_with_its_block() -> None:
    with pytest.raises(TooLong), bounded_time(0.01):
        while True:
            pass
    with bounded_time(10):
        pass
