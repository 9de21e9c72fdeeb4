"""Scans that are ended from outside: by signals, by a full disk; and links in their way."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .scanning import CUBINS, LIBRARY, scan

TARGETS = (LIBRARY, CUBINS / "spilled.sm_86.cubin", CUBINS / "chain.sm_86.cubin")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    out = tmp_path_factory.mktemp("whole") / "scan.jsonl"
    assert scan(*TARGETS, "-o", out) == 0
    return out.read_bytes()


def started(
    out: Path, *options: str, before: Callable[[], None] | None = None
) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "kneck", "scan", *map(str, TARGETS), "-o", str(out), *options]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=before,
        start_new_session=True,
    )


def until_a_part_is_finished(process: subprocess.Popen[str], out: Path) -> None:
    journal = out.with_name(out.name + ".journal")
    deadline = time.monotonic() + 120
    while process.poll() is None and not list(journal.glob("*.jsonl")):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_scan_that_a_signal_ends_is_resumed_to_the_same_bytes(
    number: signal.Signals, jobs: str, whole: bytes, tmp_path: Path
) -> None:
    out = tmp_path / "scan.jsonl"
    process = started(out, "--jobs", jobs)
    until_a_part_is_finished(process, out)
    process.send_signal(number)
    _, messages = process.communicate(timeout=60)
    assert "Traceback" not in messages
    assert process.returncode in (0, 130), messages  # 0: it was through before the signal came
    assert scan(*TARGETS, "--resume", "-o", out) == 0
    assert out.read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == ["scan.jsonl"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_scan_that_is_killed_is_resumed_to_the_same_bytes(
    jobs: str, whole: bytes, tmp_path: Path
) -> None:
    """Nobody can clean up behind it; half a part is never taken for a whole one."""
    out = tmp_path / "scan.jsonl"
    process = started(out, "--jobs", jobs)
    until_a_part_is_finished(process, out)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert scan(*TARGETS, "--resume", "-o", out) == 0
    assert out.read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == ["scan.jsonl"]


def small_files() -> None:
    """Let no file grow beyond 2 KB, as on a disk that is full; Python ignores the signal."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))


def test_a_full_disk_is_named_and_leaves_no_output(whole: bytes, tmp_path: Path) -> None:
    assert len(whole) > 2048
    out = tmp_path / "scan.jsonl"
    _, messages = started(out, "--jobs", "1", before=small_files).communicate(timeout=120)
    assert "error: the scan cannot go on: " in messages and "help: make room" in messages
    assert "Traceback" not in messages
    assert not out.exists()
    assert scan(*TARGETS, "--resume", "-o", out) == 0
    assert out.read_bytes() == whole


# Links


def test_a_link_in_the_place_of_the_partial_output_is_not_written_through(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    victim, out = tmp_path / "victim", tmp_path / "scan.jsonl"
    victim.write_text("precious")
    (tmp_path / "scan.jsonl.partial").symlink_to(victim)
    assert scan(TARGETS[1], "-o", out) == 2
    assert victim.read_text() == "precious"
    assert "error: " in capsys.readouterr().err


def test_a_link_in_the_place_of_the_journal_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "scan.jsonl"
    elsewhere.mkdir()
    part = elsewhere / f"{'0' * 64}.jsonl"
    part.write_text("{}\n")
    (elsewhere / "cubins").mkdir()
    (tmp_path / "scan.jsonl.journal").symlink_to(elsewhere)
    assert scan(TARGETS[1], "-o", out) == 2
    assert part.exists() and (elsewhere / "cubins").exists()
    assert "a link stands where finished parts" in capsys.readouterr().err


def test_an_output_that_is_a_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    victim, out = tmp_path / "victim", tmp_path / "scan.jsonl"
    victim.write_text("precious")
    out.symlink_to(victim)
    assert scan(TARGETS[1], "-o", out) == 0
    assert victim.read_text() == "precious"
    assert not out.is_symlink()
