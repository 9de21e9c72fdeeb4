"""Ranges become problems, tables become times, and neighbours with other verdicts are flips."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.measure.flips import flips, verdict
from kneck.facts.measure.plot import draw_roofline, points_of
from kneck.facts.measure.sweep import SweepPoint, expand
from kneck.facts.measure.sweep_times import read_times, time_of
from kneck.parsers.errors import KneckError, MissingProgramError


def test_the_range_of_the_issue_gives_four_square_problems() -> None:
    points = expand("gemm:M=1024..8192*2,N=M,K=M,dtype=f16")
    assert [p.varied["M"] for p in points] == [1024, 2048, 4096, 8192]
    assert points[1].problem == "gemm:M=2048,N=2048,K=2048,dtype=f16"


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        ("x:n=1..8*2", ["x:n=1", "x:n=2", "x:n=4", "x:n=8"]),
        ("x:n=1..9*2", ["x:n=1", "x:n=2", "x:n=4", "x:n=8"]),
        ("x:n=512..1536+512", ["x:n=512", "x:n=1024", "x:n=1536"]),
        ("x:n=4..16", ["x:n=4", "x:n=8", "x:n=16"]),
        ("x:n=7..7*2", ["x:n=7"]),
        ("x:n=m/2,m=4..8*2", ["x:n=2,m=4", "x:n=4,m=8"]),
        ("x:a=b,b=c,c=1..2*2", ["x:a=1,b=1,c=1", "x:a=2,b=2,c=2"]),
        ("x:n=1..2*2,k=3..4+1", ["x:n=1,k=3", "x:n=1,k=4", "x:n=2,k=3", "x:n=2,k=4"]),
        ("x:n=1..2*2,k=64,m=n*k", ["x:n=1,k=64,m=64", "x:n=2,k=64,m=128"]),
        ("x:n=1..2*2,causal=1,dtype=s8", ["x:n=1,causal=1,dtype=s8", "x:n=2,causal=1,dtype=s8"]),
    ],
)
def test_ranges_steps_and_dependent_dimensions(spec: str, problems: list[str]) -> None:
    assert [point.problem for point in expand(spec)] == problems


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("gemm", "names no dimensions"),
        ("gemm:M=1024", "has no range"),
        ("gemm:M", "is no KEY=VALUE"),
        ("gemm:M=8..4*2", "is empty"),
        ("gemm:M=0..4*2", "is empty"),
        ("gemm:M=1..4*1", "never ends"),
        ("gemm:M=1..4+0", "never ends"),
        ("gemm:M=1..x", "is no range"),
        ("gemm:M=1..1000+1", "more than 200"),
        ("gemm:M=1..4*2,N=K,K=N", "depends on a dimension that has no value"),
        ("gemm:M=1..4*2,N=M/3", "is no whole size here"),
    ],
)
def test_faulty_ranges_say_what_to_write(spec: str, words: str) -> None:
    with pytest.raises(KneckError, match=words) as caught:
        expand(spec)
    assert caught.value.help


@given(st.integers(1, 1000), st.integers(0, 3000), st.integers(2, 9))
def test_a_geometric_range_stays_inside_its_ends(first: int, more: int, by: int) -> None:
    sizes = [p.varied["n"] for p in expand(f"x:n={first}..{first + more}*{by}")]
    assert sizes[0] == first and sizes[-1] <= first + more < sizes[-1] * by
    assert all(right == by * left for left, right in zip(sizes, sizes[1:], strict=False))


# Times


@pytest.mark.parametrize(
    "text",
    [
        "M,time_ms\n1024,0.05\n2048,0.3\n",
        "# measured\nM time_us\n1024 50\n2048 300\n",
        '[{"M": 1024, "time_ms": 0.05}, {"M": 2048, "time_s": 3e-4, "note": "x"}]',
        '{"points": [{"M": 1024, "time_ms": 0.05}, {"M": 2048, "time_ms": 0.3}]}',
    ],
)
def test_times_come_from_a_table(text: str) -> None:
    rows = read_times(text, "t")
    assert time_of(SweepPoint("x", {"M": 2048}), rows, "t") == pytest.approx(0.3)


def test_with_two_dimensions_both_must_agree() -> None:
    rows = read_times("M,N,time_ms\n1,1,0.1\n1,2,0.2\n", "t")
    assert time_of(SweepPoint("x", {"M": 1, "N": 2}), rows, "t") == 0.2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("M,time_ms\n", "has no rows"),
        ("M,size\n1,2\n", "row 1 has no time"),
        ("M,time_ms\n1\n", "1 fields where the header names 2"),
        ("M,time_ms\n1,0\n", "a time of 0 ms"),
        ("[1, ", "this is no JSON"),
    ],
)
def test_faulty_tables_are_refused(text: str, words: str) -> None:
    with pytest.raises(KneckError, match=words):
        read_times(text, "t.csv")


def test_a_size_without_a_time_is_named() -> None:
    rows = read_times("M,time_ms\n1,0.1\n", "t")
    with pytest.raises(KneckError, match="no time for M=4"):
        time_of(SweepPoint("x", {"M": 4}), rows, "t")


# Flips


def diagnosis(bound: str, resource: str, memory: float, compute: float) -> dict[str, Any]:
    return {
        "bound": bound,
        "bound_detail": {"resource": resource, "cause": "tail"},
        "bounds": [
            {"resource": "dram", "share": memory},
            {"resource": "tensor", "share": compute},
        ],
        "roofline": {"arithmetic_intensity": 100.0},
        "baseline": {"time_ms": 1.0, "gflops": 1000.0 * compute},
    }


def test_a_flip_names_both_verdicts_and_what_moved_most() -> None:
    points = expand("gemm:M=1024..4096*2")
    diagnoses = [
        diagnosis("memory", "dram", 0.8, 0.3),
        diagnosis("memory", "dram", 0.75, 0.5),
        diagnosis("compute", "tensor", 0.4, 0.9),
    ]
    (flip,) = flips(points, diagnoses)
    assert (flip.before.varied, flip.after.varied) == ({"M": 2048}, {"M": 4096})
    assert flip.verdicts == ("memory (dram)", "compute (tensor)")
    assert flip.because[0] == "share of dram 0.75 -> 0.4"
    assert "share of tensor 0.5 -> 0.9" in flip.because


def test_another_resource_of_the_same_class_is_a_flip() -> None:
    points = expand("x:n=1..2*2")
    found = flips(points, [diagnosis("memory", "dram", 1, 0), diagnosis("memory", "l2", 1, 0)])
    assert [flip.verdicts for flip in found] == [("memory (dram)", "memory (l2)")]


def test_no_flip_where_the_verdict_holds() -> None:
    points = expand("x:n=1..8*2")
    assert flips(points, [diagnosis("memory", "dram", 0.8, 0.2)] * 4) == []


def test_neighbours_in_a_grid_differ_in_one_dimension_by_one_step() -> None:
    points = expand("x:n=1..4*2,k=1..2*2")
    diagnoses = [
        diagnosis("memory" if p.varied["k"] == 1 else "compute", "r", 1, 1) for p in points
    ]
    assert len(flips(points, diagnoses)) == 3


def test_a_latency_verdict_names_its_cause() -> None:
    assert verdict(diagnosis("latency", "dram", 0.1, 0.1)) == "latency (tail)"
    assert verdict({"bound": "unknown"}) == "unknown"


# The picture


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_sweep_is_drawn_on_the_roofline(tmp_path: Path, ending: str) -> None:
    diagnoses = [diagnosis("memory", "dram", 0.8, 0.3), diagnosis("compute", "tensor", 0.2, 0.9)]
    points = points_of(["1024", "2048"], diagnoses)
    path = tmp_path / f"roof.{ending}"
    draw_roofline(points, 1000.0, 10.0, "gemm", path)
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG" if ending == "png" else b"<?xml")
    assert ending == "png" or content.count(b"2048") >= 1 or b"<text" not in content


def test_points_without_a_rate_are_not_drawn(tmp_path: Path) -> None:
    assert points_of(["1"], [{"roofline": {}, "baseline": {}}]) == []
    with pytest.raises(KneckError, match="no size has both"):
        draw_roofline([], 1.0, 1.0, "x", tmp_path / "x.png")


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(KneckError, match='cannot be written as ".bmp"'):
        draw_roofline([], 1.0, 1.0, "x", tmp_path / "x.bmp")


def test_without_matplotlib_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    points = points_of(["1"], [diagnosis("memory", "dram", 0.8, 0.3)])
    with pytest.raises(MissingProgramError, match="matplotlib") as caught:
        draw_roofline(points, 1000.0, 10.0, "x", tmp_path / "x.png")
    assert caught.value.help == "pip install 'kneck[plot]'"
