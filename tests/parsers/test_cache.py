"""The cache of disassembly: whole entries or none, whatever happens to its folder."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kneck.parsers import cache
from kneck.parsers.disassembly import read_target

CUBIN = Path(__file__).parent / "data" / "switch.sm_86.cubin"
KEY = cache.key("content", "tool", "-c")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KNECK_CACHE_DIR", str(tmp_path / "cache"))
    found = cache.cache_folder()
    assert found is not None
    return found


@given(text=st.text())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_was_stored_is_loaded(text: str) -> None:
    assert cache.store(KEY, text)
    assert cache.load(KEY) == text


def test_nothing_is_loaded_that_was_not_stored() -> None:
    assert cache.load(KEY) is None


def test_content_tool_and_options_make_the_key() -> None:
    keys = {cache.key(*each) for each in (("a", "b", "c"), ("a", "bc"), ("ab", "c"), ("a", "b"))}
    assert len(keys) == 4


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: b"0" * 64 + data[64:],
        lambda data: data + b"more",
    ],
)
def test_a_damaged_entry_is_thrown_away(folder: Path, damage: object) -> None:
    assert callable(damage)
    cache.store(KEY, "text")
    path = folder / KEY
    path.write_bytes(damage(path.read_bytes()))
    assert cache.load(KEY) is None
    assert not path.exists()
    assert cache.store(KEY, "text") and cache.load(KEY) == "text"


def test_a_writer_that_was_killed_leaves_no_entry(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(source: object, target: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        cache.store(KEY, "text")
    monkeypatch.undo()
    monkeypatch.setenv("KNECK_CACHE_DIR", str(folder.parent))
    assert cache.load(KEY) is None


def test_a_full_disk_is_no_error_and_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert not cache.store(KEY, "text")
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file in its place")
    assert not cache.store(KEY, "text")
    assert cache.load(KEY) is None


def test_links_are_never_followed(folder: Path, tmp_path: Path) -> None:
    cache.store(KEY, "text")
    secret = tmp_path / "secret"
    secret.write_bytes((folder / KEY).read_bytes())
    (folder / KEY).unlink()
    (folder / KEY).symlink_to(secret)
    assert cache.load(KEY) is None
    before = secret.read_bytes()
    assert cache.store(KEY, "other")  # the link is replaced, not what it points to
    assert secret.read_bytes() == before
    assert not (folder / KEY).is_symlink()


def test_a_folder_that_is_a_link_or_open_to_others_is_not_used(
    folder: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder.parent.mkdir()
    folder.symlink_to(elsewhere)
    assert not cache.store(KEY, "text")
    assert list(elsewhere.iterdir()) == []
    folder.unlink()
    folder.mkdir()
    folder.chmod(0o777)
    assert not cache.store(KEY, "text")


def test_the_cache_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNECK_CACHE_DIR", "off")
    assert cache.cache_folder() is None
    assert not cache.store(KEY, "text")


def test_the_oldest_entries_go_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MOST_ENTRIES", 3)
    keys = [cache.key(str(i)) for i in range(5)]
    for age, each in enumerate(keys):
        cache.store(each, "text")
        os.utime(folder / each, (1000 + age, 1000 + age))
    cache.store(KEY, "text")
    assert {each.name for each in folder.iterdir()} == {*keys[3:], KEY}


def write_often(number: int) -> None:
    for _ in range(50):
        cache.store(KEY, f"{number}" * 100_000)


def test_two_processes_at_once_leave_one_whole_entry() -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_often, args=(number,)) for number in (1, 2)]
    for writer in writers:
        writer.start()
    seen = [cache.load(KEY) for _ in range(100)]
    for writer in writers:
        writer.join()
    assert {text for text in [*seen, cache.load(KEY)] if text} <= {"1" * 100_000, "2" * 100_000}
    assert cache.load(KEY) is not None


def test_a_process_that_is_killed_while_it_writes_leaves_no_half_entry() -> None:
    """Killed at any moment; what it was writing is whole, or it is not there."""
    context = multiprocessing.get_context("fork")
    for pause_s in (0.0, 0.001, 0.003, 0.01, 0.03):
        writer = context.Process(target=write_often, args=(7,))
        writer.start()
        time.sleep(pause_s)
        writer.kill()
        writer.join()
        assert cache.load(KEY) in (None, "7" * 100_000)
    assert cache.store(KEY, "text") and cache.load(KEY) == "text"


def store_on_a_full_disk() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))  # the signal for it is off in Python
    os._exit(int(cache.store(KEY, os.urandom(50_000).hex())))


def test_a_disk_that_is_really_full_is_no_error_and_leaves_nothing(folder: Path) -> None:
    writer = multiprocessing.get_context("fork").Process(target=store_on_a_full_disk)
    writer.start()
    writer.join()
    assert writer.exitcode == 0
    assert cache.load(KEY) is None and list(folder.iterdir()) == []


def test_the_second_reading_of_a_cubin_needs_no_disassembler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = read_target(str(CUBIN))

    def no_run(*arguments: object) -> None:
        raise AssertionError("the disassembler was started")

    monkeypatch.setattr("kneck.parsers.launch.Running.__init__", no_run)
    assert read_target(str(CUBIN)).listing == first.listing
