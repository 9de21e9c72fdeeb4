"""Interrupted scans: what was done is not done again, and the bytes are the same."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kneck.engine.scan import pool
from kneck.engine.scan.model import Unit
from kneck.engine.scan.work import Worker

from .scanning import CUBINS, LIBRARY, scan

TARGETS = (LIBRARY, CUBINS / "spilled.sm_86.cubin")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    out = tmp_path_factory.mktemp("whole") / "scan.jsonl"
    assert scan(*TARGETS, "-o", out) == 0
    return out.read_bytes()


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Collect the units that are really done."""
    keys: list[str] = []
    do: Callable[[Worker, Unit], None] = Worker.do

    def noted(self: Worker, unit: Unit) -> None:
        do(self, unit)
        keys.append(unit.key)

    monkeypatch.setattr(Worker, "do", noted)
    yield keys


def interrupted_after(count: int, monkeypatch: pytest.MonkeyPatch, done: list[str]) -> None:
    do: Any = Worker.do

    def until(self: Worker, unit: Unit) -> None:
        if len(done) == count:
            raise KeyboardInterrupt
        do(self, unit)

    monkeypatch.setattr(Worker, "do", until)


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_resumed_scan_gives_the_same_bytes_and_repeats_nothing(
    count: int, whole: bytes, done: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = tmp_path / "scan.jsonl"
    with monkeypatch.context() as interruption:
        interrupted_after(count, interruption, done)
        assert scan(*TARGETS, "-o", out) == 130
    assert not out.exists()
    assert (tmp_path / "scan.jsonl.partial").exists()
    before = list(done)
    assert len(before) == count
    assert scan(*TARGETS, "--resume", "-o", out) == 0
    assert out.read_bytes() == whole
    assert len(done) == len(set(done)) == whole.count(b'"record":"cubin"')
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scan.jsonl"]


def test_a_changed_file_is_read_again(
    done: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    target, out = tmp_path / "a.cubin", tmp_path / "scan.jsonl"
    target.write_bytes((CUBINS / "saxpy.sm_86.cubin").read_bytes())
    with monkeypatch.context() as interruption:
        interrupted_after(1, interruption, done)
        assert scan(target, CUBINS / "chain.sm_86.cubin", "-o", out) == 130
    target.write_bytes((CUBINS / "spilled.sm_86.cubin").read_bytes())
    assert scan(target, "--resume", "-o", out) == 0
    assert b'"spilled"' in out.read_bytes()


def test_without_resume_everything_is_done_anew(
    done: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = tmp_path / "scan.jsonl"
    with monkeypatch.context() as interruption:
        interrupted_after(1, interruption, done)
        assert scan(*TARGETS, "-o", out) == 130
    assert scan(*TARGETS, "-o", out) == 0
    assert len(done) == len(set(done)) + 1


def test_several_processes_give_the_same_bytes(whole: bytes, tmp_path: Path) -> None:
    out = tmp_path / "scan.jsonl"
    assert scan(*TARGETS, "-o", out, jobs=2) == 0
    assert out.read_bytes() == whole


def test_a_terminated_scan_can_be_resumed(whole: bytes, tmp_path: Path) -> None:
    out = tmp_path / "scan.jsonl"
    command = [
        sys.executable, "-m", "kneck", "scan", *map(str, TARGETS), "--jobs", "2", "-o", str(out),
    ]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    journal = tmp_path / "scan.jsonl.journal"
    deadline = time.monotonic() + 60
    while not list(journal.glob("*.jsonl")) and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, messages = process.communicate(timeout=60)
    assert "Traceback" not in messages
    assert process.returncode in (0, 130)
    assert scan(*TARGETS, "--resume", "-o", out) == 0
    assert out.read_bytes() == whole


def test_a_process_that_dies_is_named_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from . import dying

    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2]))  # for the processes
    monkeypatch.setattr(pool, "do_unit", dying.do_unit)
    out = tmp_path / "scan.jsonl"
    targets = (CUBINS / "saxpy.sm_86.cubin", CUBINS / "chain.sm_86.cubin")
    assert scan(*targets, "-o", out, jobs=2) == 0
    text = out.read_text()
    assert "the process that read it was ended" in text
    assert '"kernel":"chain"' in text
