"""What was measured on an H200, held against known figures of the card and against itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kneck.engine.api import architecture
from kneck.engine.measurement import measurement_settings, probe_list
from kneck.facts.measure.probe_figures import combined
from kneck.facts.measure.probe_types import Measured
from kneck.facts.measure.statistics import summarize
from kneck.facts.occupancy import occupancy
from kneck.rules.hardware import load_device

DATA = Path(__file__).parent / "data" / "h200"
H200 = load_device("h200", [Path(__file__).parents[2] / "kb"])
CASES = ("hgemm", "igemm", "flash_attention", "saxpy_1_gib", "saxpy_wide_1_gib", "reduction",
         "pointer_chase")  # fmt: skip


def read(name: str) -> Any:
    return json.loads((DATA / f"{name}.json").read_text())


BENCH = {(entry["id"], entry["cache"]): entry for entry in read("bench")}
FIRST, AGAIN = ([Measured(**m) for m in read(name)["measured"]] for name in ("probe", "again"))
PROBE = {figure.name: figure for figure in FIRST}


# Times


@pytest.mark.parametrize("case", CASES)
def test_times_agree_with_the_independent_loop_within_two_percent(case: str) -> None:
    entry = BENCH[case, "flush"]
    low, high = sorted(entry["independent_ms"])
    assert 0.98 * low <= entry["timing"]["series"]["median"] <= 1.02 * high
    assert entry["timing"]["series"]["shape"] == "steady"


@pytest.mark.parametrize("case", CASES)
def test_the_summary_follows_from_the_samples(case: str) -> None:
    entry = BENCH[case, "flush"]
    found = summarize(entry["timing"]["samples"], measurement_settings().bench.timing.series)
    assert found.median == pytest.approx(entry["timing"]["series"]["median"], rel=1e-6)
    assert found.shape == "steady"


def test_saxpy_reaches_nine_tenths_of_the_copy_ceiling() -> None:
    moved = 3 * 4 * 134_217_728
    rate = moved / BENCH["saxpy_wide_1_gib", "flush"]["timing"]["series"]["median"] / 1e6
    assert rate >= 0.9 * PROBE["dram_copy_gb_per_s"].value


def test_one_element_a_thread_does_not_reach_it() -> None:
    """The plain saxpy of tests/kernels: 80 % of the ceiling, ncu names L2 beside DRAM."""
    moved = 3 * 4 * 134_217_728
    rate = moved / BENCH["saxpy_1_gib", "flush"]["timing"]["series"]["median"] / 1e6
    assert 0.75 < rate / PROBE["dram_copy_gb_per_s"].value < 0.9


@pytest.mark.parametrize("cache", ["flush", "rotate", "warm"])
def test_a_megabyte_of_saxpy_is_known_to_be_in_l2_and_launch_bound(cache: str) -> None:
    entry = BENCH["saxpy_1_mb", cache]
    assert entry["working_set_bytes"] <= entry["device"]["l2_bytes"]
    assert entry["timing"]["series"]["median"] < 3 * entry["empty_launch_ms"]


def test_a_warm_cache_is_faster_than_a_flushed_one() -> None:
    warm, flushed = (
        BENCH["saxpy_1_mb", cache]["timing"]["series"]["median"] for cache in ("warm", "flush")
    )
    assert warm < flushed


# Ceilings


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("dram_copy_gb_per_s", 4200, 4400),  # about 4.3 TB/s
        ("dram_read_gb_per_s", 4400, 4800),
        ("fp32_ffma", 64_000, 67_000),  # 2 x 132 x 128 x 1.98 GHz = 66.9 TFLOPS
        ("fp64", 32_000, 33_500),
        ("fp16_tensor_fp32acc_mma_sync", 590_000, 660_000),  # about 620 TFLOPS
        ("fp16_tensor_fp32acc_wgmma", 750_000, 990_000),  # well above, below the dense peak
        ("fp64_tensor", 64_000, 67_000),
        ("smem_bytes_per_sm_clock", 126, 128),
        ("issue_per_sm_clock", 3.95, 4),
        ("cost.FFMA", 1, 1.02),
        ("cost.IMAD", 2, 2.02),
        ("cost.LOP3", 2, 2.03),
        ("cost.DFMA", 2, 2.02),
        ("cost.MUFU_EX2", 8, 8.02),
        ("cost.LDS", 4, 4.02),
        ("cost.SHFL", 4, 4.02),
        ("cost.HMMA_16816_F32", 6, 6.1),
        ("cost.LDS_32_ways", 128, 128.1),
        ("latency.FFMA", 4, 4.1),
        ("latency.HMMA_16816", 24, 24.1),
    ],
)
def test_ceilings_are_those_of_the_card(name: str, low: float, high: float) -> None:
    assert low <= PROBE[name].value <= high


def test_the_driver_names_the_card_that_was_probed() -> None:
    device = read("probe")["device"]
    assert (device["name"], device["arch"], device["sms"]) == ("NVIDIA H200", "sm_90", 132)


def test_the_probe_ends_within_three_minutes() -> None:
    assert read("probe")["seconds"] < 180


def test_every_value_repeats_within_three_percent_or_is_marked() -> None:
    stable_fraction = probe_list().settings.stable_fraction
    joined = {figure.name: figure for figure in combined([FIRST, AGAIN], stable_fraction)}
    again = {figure.name: figure.value for figure in AGAIN}
    for figure in FIRST:
        apart = abs(again[figure.name] / figure.value - 1)
        assert apart <= stable_fraction or not joined[figure.name].stable, figure.name
    assert sum(not figure.stable for figure in joined.values()) <= 5


def test_only_instructions_of_other_architectures_were_left_out() -> None:
    assert set(read("probe")["skipped"].values()) == {
        "only on sm_75",
        "only on sm_89, sm_120, sm_121",
    }


def test_ptx_gives_the_same_figures_as_machine_code() -> None:
    for figure in read("jit")["measured"]:
        known = PROBE.get(figure["name"])
        if known is not None and known.probe in ("dram copy", "LDS", "latency of L2"):
            assert figure["value"] == pytest.approx(known.value, rel=0.08)


def test_the_device_file_holds_the_two_runs_joined() -> None:
    joined = combined([FIRST, AGAIN], probe_list().settings.stable_fraction)
    facts = {fact.name: fact for fact in H200.facts}
    for figure in joined:
        peak = H200.peaks["measured"].get(figure.name)
        value = peak.value if peak else facts[f"device.measured.{figure.name}"].value
        assert value == pytest.approx(figure.value, rel=1e-4)


def test_the_datasheet_stands_beside_what_was_measured() -> None:
    for name, low, high in (("fp16_tensor_fp32acc", 0.75, 1), ("dram_gb_per_s", 0.9, 1)):
        measured, dense = H200.peak(name, "measured"), H200.peak(name, "dense")
        assert measured is not None and dense is not None
        assert (measured.basis, dense.basis) == ("measured", "dense")
        assert low < measured.value / dense.value < high


# The driver's own answers


def test_the_driver_and_kneck_compute_the_same_occupancy() -> None:
    rows, limits = read("support")["occupancy"], architecture("sm_90").limits
    assert len(rows) == 180
    for name, registers, static, threads, dynamic, blocks in rows:
        found = occupancy(limits, registers, threads, static, dynamic)
        assert found.blocks_per_sm == blocks, (name, threads, dynamic)


def test_arrays_on_the_gpu_held_what_numpy_says() -> None:
    contents = read("support")["contents"]
    assert len(contents) == 52 and set(contents.values()) == {"same"}


def test_kernel_failures_had_names() -> None:
    said = {name: failure["out"] for name, failure in read("support")["failures"].items()}
    assert "takes 4 arguments, --args gives 3" in said["wrong argument count"]
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in said["illegal address"]
    assert "do not fit into the GPU's memory" in said["out of memory"]
    assert all(text.startswith("2\nerror:") and "help:" in text for text in said.values())
