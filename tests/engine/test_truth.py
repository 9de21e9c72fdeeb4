"""Sets of measured kernels: how they judge, what counts as right, and what a faulty set says."""

from __future__ import annotations

import json
import lzma
import shutil
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kneck.engine.cli import main
from kneck.engine.knowledge import load_setting
from kneck.engine.truth import load as loading
from kneck.engine.truth.figures import figures, misses, pair_figures
from kneck.engine.truth.judge import busiest_units, half, measured_class, unit_of
from kneck.engine.truth.load import TruthSet, load_judge, load_set, own_sets
from kneck.engine.truth.pairs import PairRow, measured_gain
from kneck.engine.truth.schema import Demands, Judge
from kneck.engine.truth.verdicts import Row, request_for
from kneck.facts.request import Request
from kneck.parsers.errors import KneckError

SUFFIX = ".avg.pct_of_peak_sustained_elapsed"
SET = Path(__file__).resolve().parents[1] / "truth"
FAMILY = "special"  # its cubin is small, and its kernels do not depend on data


@cache
def judge() -> Judge:
    return load_judge()


@cache
def truth() -> TruthSet:
    return load_set(SET)


# The set itself


def test_the_set_has_enough_kernels_of_each_class() -> None:
    classes = Counter(
        measured_class(measured.counters, judge()) for measured in truth().measured.values()
    )
    assert len(truth().manifest.kernels) >= 40
    assert set(classes) == {"compute", "memory", "latency"}
    assert min(classes.values()) >= 8


def test_both_halves_have_every_class_and_families_stand_on_one_side() -> None:
    sides: dict[str, set[str]] = {}
    classes: dict[str, set[str]] = {}
    for entry in truth().manifest.kernels:
        side = half(entry.family)
        sides.setdefault(entry.family, set()).add(side)
        measured = truth().measured[entry.name]
        classes.setdefault(side, set()).add(measured_class(measured.counters, judge()))
    assert all(len(found) == 1 for found in sides.values())
    assert classes == dict.fromkeys(("calibration", "test"), {"compute", "memory", "latency"})


def test_the_half_of_a_family_follows_from_its_name_alone() -> None:
    # the last byte of the SHA-1: 0x7b of sgemm, 0x60 of elementwise
    assert half("sgemm") == "test"
    assert half("elementwise") == "calibration"


def test_the_set_has_enough_pairs() -> None:
    assert len(truth().manifest.pairs) >= 20


def test_a_repository_brings_its_own_sets() -> None:
    assert own_sets() == [SET, SET.parent / "pairs"]


def test_every_pair_of_the_test_kernels_is_a_strategy_of_the_knowledge_base() -> None:
    known = load_setting(Request(target="")).knowledge.by_id
    further = load_set(SET.parent / "pairs").manifest
    assert len(further.pairs) >= 40
    assert {pair.strategy for pair in further.pairs} <= known.keys()


# How counters judge


def counters(compute: float, memory: float, **units: float) -> dict[str, float]:
    names = {"sm__throughput": compute, "gpu__compute_memory_throughput": memory, **units}
    return {name + SUFFIX: value for name, value in names.items()}


@pytest.mark.parametrize(
    ("compute", "memory", "expected"),
    [
        (80, 40, "compute"),
        (40, 80, "memory"),
        (59.9, 59.9, "latency"),
        (60, 10, "compute"),
        (70, 70, "memory"),
    ],
)
def test_the_larger_throughput_decides_from_sixty_percent_on(
    compute: float, memory: float, expected: str
) -> None:
    assert measured_class(counters(compute, memory), judge()) == expected


def test_units_that_are_equally_busy_are_all_right() -> None:
    found = counters(
        90, 10, sm__issue_active=88, sm__pipe_fma_cycles_active=90, sm__pipe_alu_cycles_active=50
    )
    assert set(busiest_units(found, "compute", judge())) == {"issue", "fma"}


def test_a_part_counts_as_its_unit() -> None:
    assert unit_of("l2_tags", judge()) == "l2"
    assert unit_of("fma_heavy", judge()) == "fma"
    assert unit_of("xu", judge()) == "xu"
    assert unit_of(None, judge()) is None


# Figures


def row(**changes: Any) -> Row:
    given: dict[str, Any] = {
        "name": "k", "half": "test", "measured": "memory", "found": "memory",
        "roofline": "latency", "confidence": "high", "resource": "l2", "busiest": ("l2",),
        "executed": 1.0, "wavefronts": None, "sectors": 1.0, "depends_on_data": False,
        "seconds": 0.1,
    }  # fmt: skip
    return Row(**{**given, **changes})


def test_a_count_that_is_not_known_is_wrong() -> None:
    found = figures([row(), row(executed=None)], judge())
    assert found.executed == 0.5
    assert found.equal == 1.0


def test_counts_are_right_up_to_their_tolerance() -> None:
    rows = [row(executed=1.049, sectors=1.099), row(executed=1.051, sectors=1.101)]
    found = figures(rows, judge())
    assert (found.executed, found.sectors) == (0.5, 0.5)


def test_addresses_that_are_data_are_not_counted() -> None:
    found = figures([row(), row(sectors=9.0, depends_on_data=True)], judge())
    assert found.sectors == 1.0


def test_a_resource_is_asked_for_where_a_side_is_saturated() -> None:
    latency = row(measured="latency", found="latency", busiest=(), resource=None)
    assert figures([row(), row(resource="dram"), latency], judge()).resource == 0.5


def pair(**changes: Any) -> PairRow:
    given: dict[str, Any] = {
        "base": "a", "variant": "b", "strategy": "s", "half": "test", "gain": 50.0, "rank": 1,
        "first": ("s",), "low": 20.0, "high": 60.0, "basis": "model", "doubted": False,
    }  # fmt: skip
    return PairRow(**{**given, **changes})


def test_the_error_is_that_of_the_speed_up_in_the_middle_of_the_range() -> None:
    assert pair(gain=40.0).error == 0.0
    assert pair(gain=100.0, low=20.0, high=60.0).error == pytest.approx(0.3)
    assert pair(low=None).error is None


def test_a_strategy_that_is_not_recommended_has_no_range_and_is_not_inside() -> None:
    missed = pair(rank=None, first=("x", "y", "z"), low=None, high=None, basis=None)
    found = pair_figures([pair(), missed], judge())
    assert (found.pairs, found.ranges) == (2, 1)
    assert (found.among_first, found.inside) == (0.5, 0.5)


def test_a_ceiling_promises_nothing_and_is_not_inside() -> None:
    assert not pair(low=None, high=90.0).inside


def test_what_made_it_slower_may_not_stand_first_without_a_doubt() -> None:
    slower = pair(gain=-5.0)
    assert slower.misleads(noise=0.02)
    assert not slower.misleads(noise=0.06)
    assert not pair(gain=-5.0, doubted=True).misleads(0.02)
    assert not pair(gain=-5.0, rank=2).misleads(0.02)
    assert pair_figures([slower], judge()).misleading == ("a, s",)


def test_a_ceiling_holds_up_to_its_end() -> None:
    ceiling = pair(low=None, high=60.0, basis="ceiling")
    assert ceiling.holds is True
    assert pair(low=None, high=40.0, basis="ceiling").holds is False
    assert pair().holds is None
    found = pair_figures([ceiling, pair()], judge())
    assert (found.ceilings, found.ceilings_that_hold) == (1, 1)


def test_figures_below_the_demands_of_a_set_are_named() -> None:
    demands = Demands(class_with_arguments=0.9, executed=0.85, gain_inside=0.7)
    rows = [row(), row(found="compute"), row(half="calibration", executed=None)]
    found = misses(rows, [], [pair(), pair(gain=-9.0, low=-10.0)], demands, judge())
    assert found == [
        "class with arguments: 50.0 %, asked are 90 %",
        "executed instructions: 66.7 %, asked are 85 %",
        "slower, and first without a doubt: a, s",
    ]


# Questions


def test_the_question_is_what_a_user_would_ask() -> None:
    request = request_for(truth().kernel("sgemm_naive"), truth(), with_arguments=True)
    assert (
        request.args
        == "f32[2048*2048], f32[2048*2048], f32[2048*2048], i32 2048, i32 2048, i32 2048"
    )
    assert (request.grid, request.block, request.gpu) == ("128,128", "16,16", "h200")
    assert request.time_ms == truth().measured["sgemm_naive"].time_ms
    assert request_for(truth().kernel("sgemm_naive"), truth(), with_arguments=False).args is None


def test_times_of_different_sizes_are_compared_per_operation() -> None:
    setting = load_setting(Request(target=""))
    pairs = {(p.base, p.variant): p for p in truth().manifest.pairs}
    one = pairs["hgemm_large", "wgmma_tensor"]  # the variant is four times as large
    times = [truth().measured[name].time_ms for name in (one.base, one.variant)]
    assert measured_gain(one, truth(), setting) == pytest.approx(
        100 * (4 * times[0] / times[1] - 1)
    )


# Sets of others


@cache
def everything() -> dict[str, Any]:
    """Read the measured figures of the repository's set."""
    return dict(json.loads((SET / "measured" / "h200.json").read_text())["set"])


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A set of two kernels and one pair, in a folder of its own."""
    (tmp_path / "cubin").mkdir()
    (tmp_path / "measured").mkdir()
    shutil.copy(SET / "cubin" / f"{FAMILY}.cubin", tmp_path / "cubin")
    whole = everything()
    names = (f"{FAMILY}_divide", f"{FAMILY}_fast")
    kept = {"set": {name: whole[name] for name in names}}
    (tmp_path / "measured" / "h200.json").write_text(json.dumps(kept))
    lines = [
        line
        for line in (SET / "manifest.yaml").read_text().splitlines()
        if any(f"{{name: {name}," in line or f"{{base: {name}," in line for name in names)
    ]
    kernels = [line for line in lines if "{name:" in line]
    pairs = [line for line in lines if "{base:" in line]
    text = "\n".join(["gpu: h200", "kernels:", *kernels, "pairs:", *pairs, ""])
    (tmp_path / "manifest.yaml").write_text(text)
    return tmp_path


def test_backtest_replays_the_set_that_it_is_pointed_at(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kb", "backtest", "--truth", str(small)]) == 0
    said = capsys.readouterr().out
    assert "2 kernels measured on h200" in said
    assert "fast-math" in said
    assert "1 pairs, strategy among the first 3: 100.0 %" in said
    assert "GPA" in said


def test_backtest_gives_its_figures_as_data(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kb", "backtest", "--truth", str(small), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["outcomes"] == found["as_reported"]
    (measured,) = found["measured"].values()
    assert measured["with_arguments"]["all"]["kernels"] == 2
    assert measured["with_arguments"]["rows"][0]["name"] == f"{FAMILY}_divide"
    assert measured["pairs"]["pairs"] == 1


def test_kernels_without_counters_serve_pairs_alone(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = small / "measured" / "h200.json"
    measured = json.loads(path.read_text())
    for entry in measured["set"].values():
        del entry["counters"]
    path.write_text(json.dumps(measured))
    assert main(["kb", "backtest", "--truth", str(small)]) == 0
    said = capsys.readouterr().out
    assert "With arguments" not in said
    assert "1 pairs, strategy among the first 3: 100.0 %" in said


def test_a_set_that_asks_for_more_than_is_reached_fails(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = small / "manifest.yaml"
    manifest.write_text(manifest.read_text() + "demands: {wavefronts: 0.5, gain_inside: 1.0}\n")
    path = small / "measured" / "h200.json"
    measured = json.loads(path.read_text())
    measured["set"][f"{FAMILY}_fast"]["time_ms"] /= 100  # a gain that no range holds
    path.write_text(json.dumps(measured))
    assert main(["kb", "backtest", "--truth", str(small)]) == 1
    assert "gain inside its range: 0.0 %, asked are 100 %" in capsys.readouterr().out


def test_without_a_set_backtest_says_which_option_brings_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(loading, "own_sets", list)
    assert main(["kb", "backtest"]) == 0
    said = capsys.readouterr().out
    assert "outcomes come out as reported" in said
    assert "kneck kb backtest --truth DIR" in said


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("gpu: h200", "gpu: h200\nspeed: 1", r'unknown key "speed"[\s\S]*manifest.yaml:2:1'),
        ("base: special_divide", "base: special_div", r'no kernel "special_div"[\s\S]*:6:12'),
        ("name: special_fast", "name: special_divide", r"stands here twice[\s\S]*:4:12"),
        ("grid: [16384]", "grid: [0]", r"kernels.*grid[\s\S]*manifest.yaml:3:"),
        ("variant: special_fast", "variant: special_slow", r'no kernel "special_slow"[\s\S]*:6:37'),
        ("gpu: h200", "gpu: h100", r"no such file[\s\S]*measured/h100.json"),
    ],
)
def test_a_fault_of_a_manifest_has_its_place(
    small: Path, before: str, after: str, fault: str
) -> None:
    manifest = small / "manifest.yaml"
    text = manifest.read_text()
    assert before in text
    manifest.write_text(text.replace(before, after, 1))
    with pytest.raises(KneckError, match=fault):
        load_set(small)


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("h200.json", b"{", "this is not JSON"),
        ("h200.json", b"[]", 'there is no "set"'),
        ("h200.json", b"\xff", "this is not UTF-8"),
        ("h200.json", b'{"set": {}}', "no time was measured"),
        ("h200-instructions.json.xz", b"plain", "counts by instruction cannot be read"),
        ("h200-instructions.json.xz", lzma.compress(b"{"), "counts by instruction"),
    ],
)
def test_damaged_measurements_are_named(small: Path, name: str, content: bytes, fault: str) -> None:
    (small / "measured" / name).write_bytes(content)
    with pytest.raises(KneckError, match=fault):
        load_set(small)


def test_a_folder_without_a_set_is_an_error_with_a_next_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kb", "backtest", "--truth", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "manifest.yaml" in said and "help: name a folder" in said


def test_a_set_and_none_at_once_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kb", "backtest", "--truth", str(SET), "--outcomes-only"]) == 2
    assert "exclude each other" in capsys.readouterr().err
