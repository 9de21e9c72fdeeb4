"""Two diagnoses: what changed, whether the time did, and which strategy left these traces."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kneck.engine.measurement import measurement_settings, signatures
from kneck.facts.measure.comparison import Value, changes, compare, facts_of, speed_up
from kneck.facts.measure.record import append, outcome
from kneck.parsers.errors import KneckError

FRACTION = measurement_settings().change_fraction


def diagnosis(bound: str = "memory", /, **facts: Any) -> dict[str, Any]:
    named = {name.replace("__", "."): value for name, value in facts.items()}
    return {
        "kernel": {"name": "gemm", "arch": "sm_86"},
        "tool": {"input_hash": "abc"},
        "device": {"id": "rtx-3070-ti"},
        "baseline": {"problem": "gemm:M=1"},
        "bound": bound,
        "bound_detail": {"resource": "dram"},
        "facts": [{"name": name, "value": value, "unit": ""} for name, value in named.items()],
    }


STAGED: dict[str, Any] = {
    "mix__LDG__count": 8,
    "mix__STS__count": 8,
    "mix__HMMA__count": 32,
    "smem__per_block": 15360,
    "baseline__time_ms": 4.0,
    "measurement__interval_fraction": 0.004,
}
PIPELINED: dict[str, Any] = {
    "mix__LDGSTS__count": 8,
    "mix__HMMA__count": 32,
    "smem__per_block": 30720,
    "baseline__time_ms": 3.2,
    "measurement__interval_fraction": 0.003,
}


def test_ldgsts_that_appeared_and_doubled_shared_memory_are_cp_async() -> None:
    found = compare(diagnosis(**STAGED), diagnosis("compute", **PIPELINED), signatures(), FRACTION)
    assert found.strategies == ("cp-async-pipelining",)
    assert found.verdicts == ("memory (dram)", "compute (dram)")
    listed = {change.name: (change.before, change.after) for change in found.changes}
    assert listed["smem.per_block"] == (15360, 30720)
    assert listed["mix.LDGSTS.count"] == (0, 8)
    assert "mix.HMMA.count" not in listed and "measurement.interval_fraction" not in listed


def test_a_speed_up_beyond_the_noise_is_measurable() -> None:
    found = compare(diagnosis(**STAGED), diagnosis(**PIPELINED), signatures(), FRACTION).speed_up
    assert found is not None and found.measurable
    assert found.gain_percent == pytest.approx(25)
    assert found.noise_fraction == pytest.approx(0.005)
    assert str(found) == "4 ms -> 3.2 ms, +25.0 %, noise +-0.5 %"


def test_within_the_noise_there_is_no_measurable_difference() -> None:
    before, after = dict(STAGED), {**STAGED, "baseline__time_ms": 3.99}
    found = speed_up(facts_of(diagnosis(**before)), facts_of(diagnosis(**after)))
    assert found is not None and found.measurable is False
    assert str(found).startswith("no measurable difference (4 ms -> 3.99 ms")


def test_times_without_a_spread_leave_the_noise_unknown() -> None:
    found = speed_up({"baseline.time_ms": (4.0, "ms")}, {"baseline.time_ms": (3.0, "ms")})
    assert found is not None and found.measurable is None and found.noise_fraction is None
    assert "is not known" in str(found)


def test_without_two_times_there_is_no_speed_up() -> None:
    assert speed_up({"baseline.time_ms": (4.0, "ms")}, {}) is None


@pytest.mark.parametrize(
    ("after_ms", "regression"), [(4.2, True), (4.05, False), (3.9, False), (4.0, False)]
)
def test_a_regression_is_slower_than_limit_and_noise(after_ms: float, regression: bool) -> None:
    after = {**STAGED, "baseline__time_ms": after_ms}
    found = compare(diagnosis(**STAGED), diagnosis(**after), (), FRACTION)
    assert found.is_regression(measurement_settings().regression_fraction) is regression


def test_noise_above_the_limit_is_no_regression() -> None:
    noisy = {**STAGED, "measurement__interval_fraction": 0.1}
    after = {**noisy, "baseline__time_ms": 4.3}
    found = compare(diagnosis(**noisy), diagnosis(**after), (), FRACTION)
    assert not found.is_regression(0.02)


TRACES = [
    ("remove-spills", {"mix__LDL__count": 4}, {"mix__FFMA__count": 1}),
    ("use-tensor-cores", {"mix__FFMA__count": 64}, {"mix__HMMA__count": 8}),
    ("use-wgmma", {"mix__HMMA__count": 8}, {"mix__HGMMA__count": 2}),
    ("use-tma", {"mix__LDGSTS__count": 8}, {"mix__UTMALDG__count": 2}),
    ("avoid-fp64", {"mix__DFMA__count": 2}, {"mix__FFMA__count": 2}),
    ("fewer-barriers", {"mix__BAR__count": 8}, {"mix__BAR__count": 2}),
    (
        "warp-shuffle-instead-of-barrier",
        {"mix__BAR__count": 8},
        {"mix__BAR__count": 1, "mix__SHFL__count": 5},
    ),
    (
        "shrink-smem-tile",
        {"smem__per_block": 61440, "occupancy__blocks_per_sm": 1},
        {"smem__per_block": 30720, "occupancy__blocks_per_sm": 3},
    ),
    (
        "shared-memory-tiling",
        {"smem__per_block": 0, "mix__FFMA__count": 8},
        {"smem__per_block": 8192, "mix__LDS__count": 8},
    ),
    (
        "more-warps",
        {"launch__threads": 32, "occupancy__active_warps": 16},
        {"launch__threads": 256, "occupancy__active_warps": 48},
    ),
    (
        "fuse-multiply-add",
        {"mix__FMUL__count": 8, "mix__FADD__count": 8},
        {"mix__FFMA__count": 8},
    ),
    ("fill-the-grid", {"launch__blocks": 20, "device__sm_count": 48},
     {"launch__blocks": 96, "device__sm_count": 48}),
]  # fmt: skip


@pytest.mark.parametrize(("strategy", "before", "after"), TRACES, ids=[t[0] for t in TRACES])
def test_each_strategy_is_known_by_its_traces_and_not_backwards(
    strategy: str, before: dict[str, Any], after: dict[str, Any]
) -> None:
    there = compare(diagnosis(**before), diagnosis(**after), signatures(), FRACTION)
    back = compare(diagnosis(**after), diagnosis(**before), signatures(), FRACTION)
    assert strategy in there.strategies and strategy not in back.strategies


def test_the_same_kernel_twice_shows_no_strategy_and_no_change() -> None:
    found = compare(diagnosis(**STAGED), diagnosis(**STAGED), signatures(), FRACTION)
    assert found.strategies == () and found.changes == ()


def test_facts_that_are_unknown_are_no_trace() -> None:
    found = compare(
        diagnosis(baseline__time_ms=1.0), diagnosis(**PIPELINED), signatures(), FRACTION
    )
    assert found.strategies == ()


def test_small_changes_of_a_number_are_left_out_and_of_a_text_never() -> None:
    before: dict[str, tuple[Value, str]] = {"a": (100.0, ""), "b": ("x", ""), "c": (True, "")}
    after: dict[str, tuple[Value, str]] = {"a": (100.5, ""), "b": ("y", ""), "c": (False, "")}
    assert [change.name for change in changes(before, after, 0.01)] == ["b", "c"]
    assert [change.name for change in changes(before, after, 0.001)] == ["a", "b", "c"]


def test_a_ratio_is_given_where_both_sides_are_numbers() -> None:
    found = {c.name: c.ratio for c in changes({"a": (2, ""), "b": ("x", "")}, {"a": (6, "")}, 0.01)}
    assert found == {"a": 3, "b": None}


@given(st.floats(0.001, 1e4), st.floats(0.001, 1e4))
def test_swapping_the_sides_inverts_the_factor(before: float, after: float) -> None:
    left, right = {"baseline.time_ms": (before, "ms")}, {"baseline.time_ms": (after, "ms")}
    there, back = speed_up(left, right), speed_up(right, left)
    assert there is not None and back is not None
    assert there.factor * back.factor == pytest.approx(1)


# Evidence


def test_an_outcome_is_appended_to_an_evidence_file(tmp_path: Path) -> None:
    before, after = diagnosis(**STAGED), diagnosis(**PIPELINED)
    entry = outcome(
        before, after, compare(before, after, signatures(), FRACTION), datetime.date(2026, 11, 29)
    )
    path = tmp_path / "evidence.yaml"
    append(entry, path)
    append({**entry, "gain_percent": None}, path)
    entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert len(entries) == 2
    assert entries[0]["strategies"] == ["cp-async-pipelining"]
    assert entries[0]["gain_percent"] == 25 and entries[0]["noise_percent"] == 0.5
    assert entries[0]["date"] == "2026-11-29"
    assert entries[1]["gain_percent"] is None
    assert path.read_text(encoding="utf-8").startswith("#")


def test_an_outcome_without_times_is_refused() -> None:
    found = compare(diagnosis(), diagnosis(), (), FRACTION)
    with pytest.raises(KneckError, match="needs both times"):
        outcome(diagnosis(), diagnosis(), found, datetime.date(2026, 11, 29))


def test_an_unwritable_evidence_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(KneckError) as caught:
        append({"a": 1}, tmp_path / "none" / "evidence.yaml")
    assert caught.value.place is not None
