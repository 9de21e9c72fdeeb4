"""`kneck compare` of two builds: what changed, which strategy it was, and the noise."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from .cases import Run, cubin, run

# Times of an H200: kneck bench hgemm_staged.sm_90.cubin, hgemm_cp_async.sm_90.cubin
STAGED_MS, COPIED_MS = "2.36", "0.902"
LAUNCH = (
    "--gpu", "h200", "--grid", "64,64", "--block", "128",
    "--problem", "gemm:M=4096,N=4096,K=4096,dtype=f16",
)  # fmt: skip


def compare(one: str, other: str, times: str, *more: str | Path) -> Run:
    builds = (cubin(one, "sm_90"), cubin(other, "sm_90"))
    return run("compare", *builds, *LAUNCH, "--times-ms", times, *more)


def test_the_strategy_is_told_from_the_facts_and_the_outcome_is_recorded(tmp_path: Path) -> None:
    evidence = tmp_path / "outcomes.yaml"
    done = compare(
        "hgemm_staged", "hgemm_cp_async", f"{STAGED_MS},{COPIED_MS}", "--record", evidence
    )
    assert (done.status, done.err) == (0, "")
    verdict, speed_up, strategy = done.out.splitlines()[:3]
    assert verdict.startswith("Verdict") and "-> memory (l2_tags)" in verdict
    assert "2.36 ms -> 0.902 ms, +161.6 %" in speed_up and "noise is not known" in speed_up
    assert "cp-async-pipelining" in strategy
    (outcome,) = yaml.safe_load(evidence.read_text())
    assert outcome["gain_percent"] == 161.64
    assert outcome["predicted"]["cp-async-pipelining"]["rank"] <= 3


def test_a_regression_fails_where_that_is_asked_for() -> None:
    slower = ("hgemm_cp_async", "hgemm_staged", f"{COPIED_MS},{STAGED_MS}")
    assert compare(*slower).status == 0
    assert compare(*slower, "--fail-on-regression").status == 1


def test_saved_diagnoses_are_compared_as_builds_are(tmp_path: Path) -> None:
    saved = []
    for name, time in (("hgemm_staged", STAGED_MS), ("hgemm_cp_async", COPIED_MS)):
        path = tmp_path / f"{name}.json"
        options = ("--time-ms", time, "--format", "json", "-o", path)
        assert run("infer", cubin(name, "sm_90"), *LAUNCH, *options).status == 0
        saved.append(path)
    by_file = json.loads(run("compare", *saved, "--format", "json").out)
    times = f"{STAGED_MS},{COPIED_MS}"
    by_build = json.loads(compare("hgemm_staged", "hgemm_cp_async", times, "--format", "json").out)
    assert by_file["strategies"] == by_build["strategies"]
    assert by_file["verdicts"] == by_build["verdicts"]
