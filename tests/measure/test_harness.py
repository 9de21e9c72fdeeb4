"""The kernel's time is found in what a harness prints, or the candidates are shown."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.measure.bench_facts import harness_facts
from kneck.facts.measure.harness import find_time, run_harness, timing_habits
from kneck.parsers.errors import KneckError, MissingProgramError

GOOGLE_TABLE = """\
2026-11-29T12:00:00+00:00
Running ./bench
--------------------------------------------------------------------------
Benchmark                               Time             CPU   Iterations
--------------------------------------------------------------------------
BM_Gemm/4096/manual_time              498 us          510 us         1406
"""
GOOGLE_REPEATED = """\
Benchmark                               Time             CPU   Iterations
BM_Gemm/4096/manual_time              502 us          510 us         1406
BM_Gemm/4096/manual_time              498 us          510 us         1406
BM_Gemm/4096/manual_time_mean         500 us          510 us            2
BM_Gemm/4096/manual_time_median       499 us          510 us            2
"""
GOOGLE_JSON = """\
{"context": {"date": "2026-11-29"},
 "benchmarks": [{"name": "BM_Gemm/manual_time", "run_type": "iteration", "iterations": 1406,
                 "real_time": 498.0, "cpu_time": 510.0, "time_unit": "us"}]}
"""
NVBENCH = """\
## gemm

### [0] NVIDIA H200

| Elements | Samples |  CPU Time  | Noise |  GPU Time  | Noise | Samples | Batch GPU  |
|----------|---------|------------|-------|------------|-------|---------|------------|
|     2^20 |   1006x | 512.300 us | 0.40% | 498.000 us | 0.21% |   1070x | 489.000 us |
"""


@pytest.mark.parametrize(
    ("output", "time_ms", "form"),
    [
        ("0.498 ms", 0.498, "text"),
        ("kernel time: 498 us", 0.498, "text"),
        ("took 498000 ns\n", 0.498, "text"),
        ("elapsed 4.98e-4 s", 0.498, "text"),
        ("Kernel: .498ms", 0.498, "text"),
        ("498 µs per launch", 0.498, "text"),
        ("Time (ms) = 0.498", 0.498, "text"),
        ("elapsed_us=498", 0.498, "text"),
        ('{"time_ms": 0.498, "gflops": 3.2}', 0.498, "json"),
        ('setup done\n{"result": {"kernelTimeUs": 498}}\n', 0.498, "json"),
        ('{"median": 498, "unit": "us"}', 0.498, "json"),
        (GOOGLE_TABLE, 0.498, "google-benchmark"),
        (GOOGLE_REPEATED, 0.499, "google-benchmark"),
        (GOOGLE_JSON, 0.498, "google-benchmark json"),
        (NVBENCH, 0.498, "nvbench"),
    ],
)
def test_the_usual_forms_are_read(output: str, time_ms: float, form: str) -> None:
    found = find_time(output)
    assert found.time_ms == pytest.approx(time_ms)
    assert found.form == form


def test_the_line_that_speaks_of_the_kernel_counts() -> None:
    output = "total wall time 2.1 s\nGPU kernel time: 0.5 ms\ncopy back: 3 ms\n"
    assert find_time(output).time_ms == 0.5


def test_the_same_time_twice_is_no_ambiguity() -> None:
    assert find_time("kernel: 0.5 ms\nkernel: 500 us").time_ms == 0.5


def test_rates_counts_and_percentages_are_no_times() -> None:
    with pytest.raises(KneckError, match="prints no kernel time"):
        find_time("3.2 GB/s, 100 iterations, 12 ms/iter, 45 %, 16 MB")


def test_several_times_are_shown_with_their_lines() -> None:
    with pytest.raises(KneckError) as caught:
        find_time("gemm: 0.5 ms\nscale: 0.1 ms\n")
    text = str(caught.value)
    assert "2 different times" in text
    assert "line 1: 0.5 ms in 'gemm: 0.5 ms'" in text
    assert "line 2: 0.1 ms in 'scale: 0.1 ms'" in text
    assert "--bench-time" in text


def test_the_kernel_s_name_picks_its_line() -> None:
    output = "gemm: 0.5 ms\ngemm_split: 0.4 ms\nscale: 0.1 ms\n"
    assert find_time(output, kernel="gemm", others=["gemm_split", "scale"]).time_ms == 0.5
    assert find_time(output, kernel="gemm_split").time_ms == 0.4


def test_nothing_printed_is_said() -> None:
    with pytest.raises(KneckError, match="it printed nothing on standard output"):
        find_time("\n")


@pytest.mark.parametrize(
    ("pattern", "output", "time_ms"),
    [
        ("gemm took ([0-9.]+) us", "gemm took 498 us", 0.498),
        (r"t=(\S+)", "t=0.498", 0.498),
        (r"t=([0-9.]+)([mun]s)", "t=498us", 0.498),
        ("^T ([0-9]+)", "x\nT 2 s", 2000),
    ],
)
def test_a_pattern_names_the_number_and_perhaps_the_unit(
    pattern: str, output: str, time_ms: float
) -> None:
    found = find_time(output, pattern)
    assert found.time_ms == pytest.approx(time_ms)
    assert found.form == "pattern"


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(", "is no regular expression"),
        ("ms", "has no group"),
        ("t=([a-z]+)", "which is no number"),
        ("t2=([0-9]+)", "matches nothing"),
        (r"([0-9]+) (\w+)", 'found the unit "miles"'),
    ],
)
def test_faulty_patterns_are_refused(pattern: str, words: str) -> None:
    with pytest.raises(KneckError, match=words):
        find_time("t=abc 3 miles", pattern)


@given(st.floats(1e-6, 1e5), st.sampled_from(["ms", "us", "ns", "s"]))
def test_every_time_with_a_unit_is_found(value: float, unit: str) -> None:
    factor = {"s": 1e3, "ms": 1, "us": 1e-3, "ns": 1e-6}[unit]
    found = find_time(f"kernel time: {value!r} {unit}")
    assert found.time_ms == pytest.approx(value * factor)


@given(st.text(max_size=200))
def test_no_output_breaks_the_search(output: str) -> None:
    try:
        assert find_time(output).time_ms >= 0
    except KneckError as error:
        assert error.help


# Running


def python(code: str) -> str:
    return f"{sys.executable} -c '{code}'"


def test_a_command_runs_and_its_output_is_read() -> None:
    assert find_time(run_harness(python('print("0.498 ms")'), 30)).time_ms == 0.498


def test_no_shell_is_involved() -> None:
    assert "$HOME | cat" in run_harness(python('print("$HOME | cat")'), 30)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("", "--bench is empty"),
        ("echo 'open", "cannot be read"),
        (python("raise SystemExit(3)"), "ended with status 3"),
    ],
)
def test_commands_that_fail_say_how(command: str, words: str) -> None:
    with pytest.raises(KneckError, match=words):
        run_harness(command, 30)


def test_a_program_that_is_missing_ends_with_status_3() -> None:
    with pytest.raises(MissingProgramError, match='cannot run "no-such-program"') as caught:
        run_harness("no-such-program --fast", 30)
    assert "without a shell" in (caught.value.help or "")


def test_a_command_that_hangs_is_ended() -> None:
    with pytest.raises(KneckError, match="did not end within 0.2 s"):
        run_harness(python("import time; time.sleep(60)"), 0.2)


# What the output tells about the way it timed


@pytest.mark.parametrize(
    ("output", "clock", "warm_up"),
    [
        (NVBENCH, "events", None),
        ("timed with cudaEvents after 3 warm-up launches: 0.5 ms", "events", True),
        ("wall clock 0.5 ms, no warm-up", "wall", False),
        ("0.5 ms", None, None),
    ],
)
def test_clock_and_warm_up_are_known_or_unknown(
    output: str, clock: str | None, warm_up: bool | None
) -> None:
    assert timing_habits(output) == (clock, warm_up)


def test_facts_keep_the_line_and_what_is_not_known_stays_out() -> None:
    facts = {f.name: f for f in harness_facts(find_time("x\nkernel: 0.5 ms"), "--bench ./b")}
    assert facts["baseline.time_ms"].value == 0.5
    assert facts["baseline.time_source"].value == "harness"
    assert facts["baseline.time_ms"].source.detail == "--bench ./b, line 2: kernel: 0.5 ms"
    assert "measurement.clock" not in facts and "baseline.warmup_launches" not in facts


def test_a_harness_without_warm_up_is_a_fact() -> None:
    facts = {f.name: f.value for f in harness_facts(find_time("no warm-up: 0.5 ms"), "b")}
    assert facts["baseline.warmup_launches"] == 0
