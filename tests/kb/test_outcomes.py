"""The public outcomes of kb/outcomes: what was reported, and what the rules say of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from kneck.engine.cli import main
from kneck.engine.knowledge import Setting, load_setting
from kneck.engine.replay import faults, replay, said_of
from kneck.facts.request import Request
from kneck.parsers.errors import KneckError
from kneck.rules.outcomes import Case, Recorded, Run, outcome_files, read_outcomes
from kneck.rules.overlay import knowledge_folders

CASES = [
    entry
    for path in outcome_files(tuple(knowledge_folders(())))
    for entry in read_outcomes(path)
    if isinstance(entry, Case)
]
RUNS = [
    pytest.param(case.case, run, id=f"{case.case}, {run.name}")
    for case in CASES
    for run in case.runs
]
LEAST = 18  # of 20 cases must come out as reported
NOT_AS_REPORTED: Mapping[str, str] = {}  # case -> why
RECORDED = """
- strategies: [cp-async-pipelining]
  gain_percent: {gain}
  measurable: true
  predicted: {{cp-async-pipelining: {{rank: 1, low_percent: 10, high_percent: 20}}}}
"""


@cache
def setting() -> Setting:
    return load_setting(Request(target=""))


@pytest.mark.parametrize(("case", "run"), RUNS)
def test_the_rules_say_what_was_reported(case: str, run: Run) -> None:
    found = faults(said_of(run, setting()), run)
    assert found == [] or case in NOT_AS_REPORTED, found


def test_enough_cases_come_out_as_reported() -> None:
    assert len(CASES) == 20
    assert len(CASES) - len(NOT_AS_REPORTED) >= LEAST


def test_backtest_counts_every_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kb", "backtest", "--outcomes-only"]) == 0
    said = capsys.readouterr().out
    assert "20 of 20 outcomes come out as reported" in said
    assert "Unproven" in said


@pytest.mark.parametrize(("gain", "met"), [(15, 1), (9, 0)])
def test_a_recorded_gain_is_held_against_what_was_said_before(
    tmp_path: Path, gain: int, met: int
) -> None:
    path = tmp_path / "evidence.yaml"
    path.write_text(RECORDED.format(gain=gain))
    entries = read_outcomes(path)
    assert isinstance(entries[0], Recorded)
    assert replay(entries, setting()).cases_met == met


def test_a_wrong_expectation_is_counted_as_wrong() -> None:
    run = CASES[0].runs[0]
    turned = run.model_copy(update={"fires": run.silent, "silent": run.fires})
    assert len(faults(said_of(turned, setting()), turned)) >= len(run.fires) + len(run.silent)


def test_a_misspelt_demand_is_an_error_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "outcomes.yaml"
    path.write_text("- case: x\n  what: w\n  happened: h\n  runs: [{name: n, given: {}, fire: []}]")
    with pytest.raises(KneckError, match=r"outcomes.yaml:4:\d+"):
        read_outcomes(path)
