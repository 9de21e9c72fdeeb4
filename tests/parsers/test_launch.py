"""A disassembler that is started before the command line is understood."""

from __future__ import annotations

from pathlib import Path

import pytest

from kneck.parsers import launch

CUBINS = Path(__file__).parents[1] / "kernels" / "cubin"
ONE, OTHER = (str(CUBINS / f"{name}.sm_86.cubin") for name in ("saxpy", "igemm"))


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNECK_CACHE_DIR", "off")


def test_what_was_begun_is_taken_over_once() -> None:
    launch.begin(ONE)
    first, second = launch.start_early(ONE), launch.start_early(ONE)
    assert first is not None and first.running is not None
    assert second is not None and second.running is not None and second is not first
    first.running.stop()
    second.running.stop()


def test_another_target_is_started_itself_and_what_was_begun_is_ended() -> None:
    launch.begin(OTHER)
    begun = launch._begun
    early = launch.start_early(ONE)
    launch.give_up()
    assert early is not None and early.path == ONE and early.running is not None
    assert begun is not None and begun.running is not None
    assert begun.running._process.returncode is not None
    early.running.stop()


@pytest.mark.parametrize("path", ["--gpu", "no such file", __file__, str(CUBINS)])
def test_what_is_no_cubin_is_not_begun(path: str) -> None:
    launch.begin(path)
    assert launch._begun is None
    launch.give_up()
