"""The method on compiled kernels: every row of its matrix, every pitfall, the counts per tile.

Each verdict here rests on facts taken from a cubin, a launch, a problem, and a time that is assumed
in tests/kernels/manifest.yaml.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

import kneck
from kneck.engine.diagnosis import Diagnosis, NotChosen, StallRow
from kneck.engine.numbers import plain

from .cases import KERNELS, cubin, diagnosed, manifest, options, value

LOOSENED = {
    recipe["id"]: recipe
    for recipe in yaml.safe_load((KERNELS / "loosened.yaml").read_text(encoding="utf-8"))[
        "loosened"
    ]
}
HAND_COUNTS = {
    count["kernel"]: count
    for count in yaml.safe_load((KERNELS / "hand_counts.yaml").read_text(encoding="utf-8"))[
        "kernels"
    ]
}


def loosened(id: str, **more: Any) -> Diagnosis:
    """Diagnose a cubin whose stall counts were lengthened by tests/kernels/loosen.py."""
    recipe = LOOSENED[id]
    given = options(recipe["base"], time_ms=recipe["assumed_time_ms"], **more)
    return kneck.infer(str(KERNELS / recipe["cubin"]), **given)


def chosen(diagnosis: Diagnosis) -> list[str]:
    return [strategy.id for strategy in diagnosis.strategies]


def pitfalls(diagnosis: Diagnosis) -> list[str]:
    return [pitfall.id for pitfall in diagnosis.pitfalls]


def not_chosen(diagnosis: Diagnosis, id: str) -> NotChosen:
    (found,) = [entry for entry in diagnosis.not_chosen if entry.id == id]
    return found


def reducible(diagnosis: Diagnosis, opcode: str) -> list[StallRow]:
    rows = [row for row in diagnosis.stalls if row.mnemonic.startswith(opcode)]
    return [row for row in rows if row.reducible_cycles]


# The seven rows of the decision matrix


def test_row_1_a_memory_side_loop_of_low_ratio_is_advised_to_overlap_its_loads() -> None:
    diagnosis = diagnosed("igemm")
    assert (diagnosis.roofline.side, diagnosis.bound) == ("memory", "latency")
    assert diagnosis.tile is not None
    assert (diagnosis.tile.class_, diagnosis.smem.over_cliff) == ("low", False)
    first = diagnosis.strategies[0]
    assert first.id == "cp-async-pipelining"
    assert first.gain.low is not None and first.gain.low > 0


def test_row_1_a_latency_bound_loop_that_stages_its_loads_is_advised_to_overlap_them() -> None:
    diagnosis = diagnosed("hgemm_30k")
    assert (diagnosis.roofline.side, diagnosis.bound) == ("compute", "latency")
    assert value(diagnosis, "tile.stages_through_shared") is True
    assert "cp-async-pipelining" in chosen(diagnosis)


@pytest.mark.parametrize("overlapped", ["igemm_cp_async", "hgemm_cp_async", "hgemm_prefetch"])
def test_row_1_is_silent_where_the_loads_overlap_already(overlapped: str) -> None:
    assert "cp-async-pipelining" not in chosen(diagnosed(overlapped))


def test_row_2_a_memory_bound_loop_of_high_ratio_is_advised_to_change_its_algorithm() -> None:
    thin = "gemm:M=262144,N=128,K=64,dtype=f32,acc=f32,out=f32"
    diagnosis = diagnosed("sgemm_register_thin", problem=thin, time_ms=0.44)
    assert (diagnosis.roofline.side, diagnosis.bound) == ("memory", "memory")
    assert diagnosis.tile is not None and diagnosis.tile.class_ == "high"
    active = diagnosis.occupancy.active_warps
    assert active is not None and active >= 8
    assert "algorithmic-restructuring" in chosen(diagnosis)


def test_row_3_slack_on_independent_ffma_is_advised_to_be_tightened() -> None:
    diagnosis = loosened("sgemm_wide_loose")
    assert diagnosis.bound == "compute"
    assert value(diagnosis, "tile.ffma_fraction") > 0.5
    (row,) = reducible(diagnosis, "FFMA")
    assert (row.stall, row.required) == (4, 1)
    assert row.independent is not None and row.independent > 400
    assert "ffma-stall-tightening" in chosen(diagnosis)


def test_row_3_is_silent_on_what_the_compiler_wrote() -> None:
    diagnosis = diagnosed("sgemm_wide")
    assert diagnosis.bound == "compute"
    assert reducible(diagnosis, "FFMA") == []
    failed = not_chosen(diagnosis, "ffma-stall-tightening").why_not
    (row,) = [row for row in failed if row.fact == "stalls.FFMA.reducible_cycles"]
    assert (row.value, row.needed, row.margin) == (0, "> 0", 0)


def test_row_3_is_silent_where_other_warps_fill_the_gap() -> None:
    diagnosis = loosened("sgemm_register_loose")
    assert reducible(diagnosis, "FFMA")
    failed = not_chosen(diagnosis, "ffma-stall-tightening").why_not
    assert [row.fact for row in failed] == ["tile.issue_fill"]
    assert failed[0].value == value(diagnosis, "tile.issue_fill") > 1


def test_row_4_a_compute_bound_tensor_loop_is_advised_to_reuse_its_tiles() -> None:
    diagnosis = diagnosed("hgemm_cp_async")
    assert diagnosis.bound == "compute"
    assert value(diagnosis, "tile.hmma_fraction") > 0.5
    assert "tensor-tile-reuse" in chosen(diagnosis)
    assert "tensor-tile-reuse" not in chosen(diagnosed("hgemm_large_tile"))


def test_row_5_slack_on_independent_imma_is_advised_to_be_tightened_last_of_all() -> None:
    diagnosis = loosened("igemm_fat_block_loose")
    assert diagnosis.bound == "compute"
    (row,) = reducible(diagnosis, "IMMA")
    assert (row.stall, row.required) == (12, 8)
    assert chosen(diagnosis)[-1] == "imma-stall-tightening"
    last = diagnosis.strategies[-1]
    assert (last.status, last.gain.high) == ("refuted", 1.6)


def test_row_5_is_silent_on_what_the_compiler_wrote() -> None:
    diagnosis = diagnosed("igemm_fat_block")
    assert diagnosis.bound == "compute"
    assert reducible(diagnosis, "IMMA") == []
    failed = not_chosen(diagnosis, "imma-stall-tightening").why_not
    (row,) = [row for row in failed if row.fact == "stalls.IMMA.reducible_cycles"]
    assert (row.value, row.needed, row.margin) == (0, "> 0", 0)


def test_row_5_a_stall_that_the_pipe_needs_is_no_slack() -> None:
    assert reducible(loosened("igemm_loose"), "IMMA") == []


def test_row_6_a_latency_bound_kernel_of_few_warps_is_advised_to_fit_another_block() -> None:
    diagnosis = diagnosed("window_32k")
    assert diagnosis.bound == "latency"
    active = diagnosis.occupancy.active_warps
    assert active is not None and active < 8
    assert chosen(diagnosis)[0] == "raise-occupancy"
    assert "raise-occupancy" not in chosen(diagnosed("window_8k"))


def test_row_7_a_block_over_the_cliff_is_advised_to_shrink_or_to_do_more_work() -> None:
    diagnosis = diagnosed("hgemm_over_cliff")
    assert diagnosis.smem.over_cliff is True
    assert diagnosis.occupancy.blocks_per_sm == 1
    (shrink,) = [s for s in diagnosis.strategies if s.id == "shrink-smem-tile"]
    assert "60 KiB to 49 KiB" in shrink.action
    assert "accept one block per SM and raise the work per tile" in shrink.action


def relation(diagnosis: Diagnosis, one: str, two: str) -> tuple[str, str]:
    (edge,) = [edge for edge in diagnosis.conflicts if set(edge.between) == {one, two}]
    return edge.kind, edge.because


def test_two_ways_to_the_next_block_are_not_added_up() -> None:
    diagnosis = diagnosed("hgemm_over_cliff")
    kind, because = relation(diagnosis, "raise-occupancy", "shrink-smem-tile")
    assert kind == "competes"
    assert because.startswith("smem.per_block 61,440 -> 50,176 B: ")
    assert "occupancy.blocks_per_sm 1 -> 2" in because
    assert diagnosis.plan.strategies == ["raise-occupancy", "register-prefetch"]
    high = diagnosis.plan.gain["high"]
    assert high is not None and 100 < high < 100 * (2 * 1.18 - 1)  # under one roof, not 2 x 1.18
    # shared memory is given up here, no register: nothing can spill
    assert "spill-decides" not in {id for edge in diagnosis.conflicts for id in edge.between}


def test_a_next_block_bought_with_registers_may_spill() -> None:
    diagnosis = diagnosed("not_spilled", time_ms=12)
    assert value(diagnosis, "occupancy.next.resource") == "registers"
    kind, because = relation(diagnosis, "raise-occupancy", "spill-decides")
    assert kind == "conflicts" and "registers per thread" in because


def test_a_chain_that_its_pipe_outlasts_is_no_chain_to_split() -> None:
    diagnosis = diagnosed("hgemm_over_cliff")  # 288 cycles of chain, 3,072 of the tensor pipe
    failed = not_chosen(diagnosis, "more-ilp").why_not
    assert "tile.recurrence_cycles" in " ".join(row.condition for row in failed)
    assert "more-ilp" in chosen(diagnosed("chain"))


def test_where_no_winner_emerges_an_isolating_experiment_is_named() -> None:
    diagnosis = diagnosed("hgemm_over_cliff")
    assert len(diagnosis.strategies) > 1
    assert all(strategy.experiment for strategy in diagnosis.strategies)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
def test_the_matrix_holds_on_other_architectures(arch: str) -> None:
    devices = {"sm_80": "a100", "sm_90": "h100", "sm_120": "rtx-5090"}
    diagnosis = diagnosed("igemm", arch, gpu=devices[arch])
    assert diagnosis.tile is not None
    assert diagnosis.tile.class_ == "low"
    assert "cp-async-pipelining" in chosen(diagnosis)


def test_asynchronous_copies_are_not_advised_where_the_architecture_has_none() -> None:
    diagnosis = diagnosed("hgemm_30k", "sm_75", gpu="t4")
    assert "cp-async-pipelining" not in chosen(diagnosis)
    failed = not_chosen(diagnosis, "cp-async-pipelining").why_not
    assert "arch.has_async_copy" in [row.fact for row in failed]


# The pitfalls of the method


def test_pitfall_loads_that_move_the_bytes_many_times() -> None:
    diagnosis = diagnosed("conv3x3_direct")
    assert "re-read-multiplication" in pitfalls(diagnosis)
    assert value(diagnosis, "tile.reread_factor") > 9
    assert "re-read-multiplication" not in pitfalls(diagnosed("saxpy"))


def test_pitfall_the_peak_of_another_accumulator() -> None:
    diagnosis = diagnosed("hgemm_f16_accumulate")  # its problem says acc=f32
    assert diagnosis.roofline.precision == "fp16_tensor_fp16acc"
    assert "wrong-peak-precision" in pitfalls(diagnosis)
    right = "gemm:M=4096,N=4096,K=4096,dtype=f16,acc=f16,out=f32"
    assert "wrong-peak-precision" not in pitfalls(diagnosed("hgemm_f16_accumulate", problem=right))


def test_pitfall_a_tensor_problem_on_the_fma_pipe() -> None:
    diagnosis = diagnosed("hgemm_ffma")
    assert diagnosis.roofline.precision == "fp32_ffma"
    assert "wrong-peak-precision" in pitfalls(diagnosis)


def test_pitfall_the_published_peak_with_sparsity() -> None:
    assert "wrong-peak-precision" in pitfalls(diagnosed("hgemm_large_tile", peaks="published"))
    assert "wrong-peak-precision" not in pitfalls(diagnosed("hgemm_large_tile"))


@pytest.mark.parametrize("smem", [51_200, 61_440, 65_536])
def test_pitfall_a_cliff_of_another_chip(smem: int) -> None:
    assert "foreign-cliff" in pitfalls(diagnosed("hgemm_over_cliff", dynamic_smem=smem))


@pytest.mark.parametrize("smem", [50_176, 99_000])
def test_no_foreign_cliff_below_the_own_one_and_far_above_every_other(smem: int) -> None:
    assert "foreign-cliff" not in pitfalls(diagnosed("hgemm_over_cliff", dynamic_smem=smem))


def test_pitfall_warps_that_interleave_already() -> None:
    diagnosis = diagnosed("sgemm_wide")
    assert diagnosis.tile is not None and diagnosis.tile.cp_async == "detrimental"
    assert "warp-interleaving-ignored" in pitfalls(diagnosis)


def test_pitfall_no_warm_up() -> None:
    cold = diagnosed("saxpy", what_if=["baseline.warmup_launches=0"])
    warm = diagnosed("saxpy", what_if=["baseline.warmup_launches=5"])
    assert "no-warm-up" in pitfalls(cold)
    assert "no-warm-up" not in pitfalls(warm)


def test_pitfall_a_rate_above_the_peak() -> None:
    diagnosis = diagnosed("saxpy", time_ms=0.1)
    assert "rate-above-peak" in pitfalls(diagnosis)
    assert diagnosis.bound == "unknown"


def test_pitfall_an_expectation_above_the_roof() -> None:
    diagnosis = diagnosed("saxpy", expect=50)
    assert "expectation-unreachable" in pitfalls(diagnosis)
    assert diagnosis.baseline.expected_fraction == 0.5
    assert "expectation-unreachable" not in pitfalls(diagnosed("hgemm_30k", expect=50))


def test_pitfall_spills_in_the_loop() -> None:
    log = KERNELS / "cubin" / "spilled.sm_86.log"
    assert "spill-decides" in pitfalls(diagnosed("spilled", resources=str(log)))
    assert "spill-decides" not in pitfalls(diagnosed("not_spilled"))


@pytest.mark.parametrize(
    ("launch", "because"),
    [
        ({"dynamic_smem": 120_000}, "121,088 B of shared memory with the reserve are more than"),
        ({"block": (512, 1, 1)}, "the largest block with so many registers is 384 threads"),
    ],
)
def test_pitfall_a_launch_that_fails_names_the_resource(
    launch: dict[str, Any], because: str
) -> None:
    diagnosis = diagnosed("hgemm_over_cliff", **launch)
    (found,) = [pitfall for pitfall in diagnosis.pitfalls if pitfall.id == "launch-fails"]
    assert because in found.title
    assert ("largest block" in found.title) == ("block" in launch)
    assert diagnosis.occupancy.active_warps == 0
    assert "launch.resident_warps" not in {row.name for row in diagnosis.facts}


def test_a_log_of_another_build_is_pointed_out_and_the_cubin_counts(tmp_path: Path) -> None:
    log = (KERNELS / "cubin" / "saxpy.sm_86.log").read_text(encoding="utf-8")
    other = tmp_path / "other.log"
    other.write_text(log.replace("Used 10 registers", "Used 200 registers"), encoding="utf-8")
    diagnosis = diagnosed("saxpy", resources=str(other))
    assert diagnosis.occupancy.registers_per_thread == 10
    (limit,) = [limit for limit in diagnosis.limits if limit.id == "resources-disagree"]
    assert "10 registers in" in limit.text and f"200 registers in {other}" in limit.text
    same = diagnosed("saxpy", resources=str(KERNELS / "cubin" / "saxpy.sm_86.log"))
    assert "resources-disagree" not in [limit.id for limit in same.limits]


def test_pitfall_more_threads_than_the_kernel_was_compiled_for() -> None:
    diagnosis = diagnosed("hgemm_30k", block=(256, 1, 1))
    assert value(diagnosis, "resources.max_threads") == 128
    assert "launch-above-compiled-limit" in pitfalls(diagnosis)


@pytest.mark.parametrize(
    ("arch", "gpu", "included"), [("sm_86", "rtx-3070-ti", False), ("sm_90", "h100", True)]
)
def test_whether_the_reserve_was_counted_is_known_from_the_cubin(
    arch: str, gpu: str, included: bool
) -> None:
    diagnosis = diagnosed("hgemm_staged", arch, gpu=gpu)
    assert value(diagnosis, "resources.includes_reserve") is included
    assert ("reserve-counted-twice" in pitfalls(diagnosis)) is included
    assert "resources.includes_reserve" not in [gap.fact for gap in diagnosis.missing]


def test_pitfall_a_problem_too_small_to_fill_the_gpu() -> None:
    assert "too-small-to-saturate" in pitfalls(diagnosed("grid_stride_32"))
    assert "too-small-to-saturate" not in pitfalls(diagnosed("saxpy"))


# The K-tile loop through the whole pipeline


def test_igemm_with_8_imma_per_tile_is_low() -> None:
    tile = diagnosed("igemm").tile
    assert tile is not None
    assert (tile.compute_op, tile.compute_ops, tile.load_ops) == ("IMMA", 8, 2)
    assert (tile.ratio, tile.class_) == (4, "low")


def test_flash_attention_with_64_hmma_and_8_loads_is_medium() -> None:
    tile = diagnosed("flash_attention").tile
    assert tile is not None
    assert (tile.compute_op, tile.compute_ops, tile.load_ops) == ("HMMA", 64, 8)
    assert (tile.ratio, tile.class_) == (8, "medium")


@pytest.mark.parametrize("id", HAND_COUNTS)
def test_the_counts_per_tile_are_those_counted_by_hand(id: str) -> None:
    count = HAND_COUNTS[id]
    tile = diagnosed(id).tile
    assert tile is not None
    assert [int(tile.loop.first, 16), int(tile.loop.last, 16)] == count["loop"]
    assert (tile.compute_op, tile.compute_ops) == (
        count["compute"]["opcode"],
        count["compute"]["executed"],
    )
    assert (tile.load_ops, tile.load_bytes) == (count["loads"]["executed"], count["load_bytes"])
    assert [tile.ratio, tile.class_] == count["ratio"]


@pytest.mark.parametrize(
    ("id", "class_", "by_ratio", "by_bytes", "advice", "decided_by"),
    [
        # 32 FLOP per loaded byte, balance point 35.8; 1 and 0.56; 42.7 and 35.8
        ("hgemm_ffma", "high", "detrimental", "beneficial", "beneficial", "flops_per_byte"),
        ("flash_attention", "medium", "neutral", "beneficial", "beneficial", "flops_per_byte"),
        ("dgemm_small_tile", "low", "beneficial", "neutral", "neutral", "flops_per_byte"),
        ("sgemm_wide", "high", "detrimental", "neutral", "detrimental", "ratio"),
    ],
)
def test_where_the_currencies_disagree_the_report_says_which_one_decided_and_why(
    id: str, class_: str, by_ratio: str, by_bytes: str, advice: str, decided_by: str
) -> None:
    diagnosis = diagnosed(id)
    tile = diagnosis.tile
    assert tile is not None
    assert (tile.class_, tile.cp_async_by_ratio, tile.cp_async_by_bytes) == (
        class_,
        by_ratio,
        by_bytes,
    )
    assert (tile.cp_async, tile.cp_async_decided_by) == (advice, decided_by)
    names = {"flops_per_byte": "FLOP per loaded byte", "ratio": "instructions per load"}
    overruled, its_advice = (
        ("ratio", by_ratio) if decided_by == "flops_per_byte" else ("flops_per_byte", by_bytes)
    )
    told = f"decided by {names[decided_by]}; {names[overruled]} alone: {its_advice}."
    assert f"balance point of {plain(diagnosis.roofline.balance_point)}" in tile.cp_async_because
    for report in (diagnosis.to_text(), diagnosis.to_markdown(), diagnosis.to_html()):
        words = " ".join(report.split())
        assert told in words
        assert tile.cp_async_because in words
    document = diagnosis.to_dict()["tile"]
    assert document["cp_async_decided_by"] == decided_by
    assert document["cp_async_because"] == tile.cp_async_because


def test_where_the_currencies_agree_the_report_says_so() -> None:
    diagnosis = diagnosed("igemm")
    tile = diagnosis.tile
    assert tile is not None
    assert (tile.cp_async_by_ratio, tile.cp_async_by_bytes) == ("beneficial", "beneficial")
    assert (tile.cp_async, tile.cp_async_decided_by) == ("beneficial", "both")
    assert "both currencies agree" in diagnosis.to_text()


def test_without_a_balance_point_the_report_says_what_the_ratio_alone_would_advise() -> None:
    diagnosis = kneck.infer(str(cubin("igemm", "sm_90")), block=128)  # no device can run it
    tile = diagnosis.tile
    assert tile is not None
    assert (tile.cp_async_by_ratio, tile.cp_async_by_bytes) == ("beneficial", "unknown")
    assert (tile.cp_async, tile.cp_async_decided_by) == ("unknown", "unknown")
    told = "instructions per load alone: beneficial, the other currency is not known"
    assert told in " ".join(diagnosis.to_text().split())


@pytest.mark.parametrize(
    ("id", "arch", "gpu", "why"),
    [
        ("igemm_cp_async", "sm_86", "rtx-3070-ti", "2 LDGSTS of the loop copy asynchronously"),
        ("grid_stride", "sm_86", "rtx-3070-ti", "the loop stores no loads to shared memory"),
        ("hgemm_30k", "sm_75", "t4", "sm_75 has no asynchronous copies"),
        ("hgemm_30k", "sm_86", "rtx-3070-ti", ""),
    ],
)
def test_the_report_says_where_there_is_no_copy_to_make_asynchronous(
    id: str, arch: str, gpu: str, why: str
) -> None:
    tile = diagnosed(id, arch, gpu=gpu).tile
    assert tile is not None
    assert why in tile.copies if why else tile.copies == ""


# Sources


NVCC = shutil.which("nvcc")
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="no nvcc here")
SOURCE = """\
extern "C" __global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
"""


@needs_nvcc
def test_a_source_is_compiled_with_the_default_line_and_its_log_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("twice.cu").write_text(SOURCE)
    diagnosis = kneck.infer("twice.cu", block=256, grid=1024)
    assert (diagnosis.kernel.name, diagnosis.kernel.arch) == ("twice", "sm_86")
    assert diagnosis.kernel.source == "twice.cu"
    assert value(diagnosis, "resources.spill_stores") == 0  # only the log tells spills
    for name in ("occupancy.registers_per_thread", "resources.spill_stores"):
        fact = diagnosis.fact(name)
        assert fact is not None and "/" not in str(fact.source["detail"])


@needs_nvcc
def test_a_source_is_compiled_with_the_users_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("twice.cu").write_text(SOURCE)
    command = "nvcc --cubin -arch=sm_90 -maxrregcount 32 -o made.cubin {source}"
    diagnosis = kneck.infer("twice.cu", build=command, gpu="h100")
    assert diagnosis.kernel.arch == "sm_90"
    assert Path("made.cubin").exists()


@needs_nvcc
def test_a_source_is_compiled_for_the_device_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("twice.cu").write_text(SOURCE)
    assert kneck.infer("twice.cu", gpu="a100").kernel.arch == "sm_80"
    assert kneck.infer("twice.cu", arch="sm_90").kernel.arch == "sm_90"


@needs_nvcc
def test_a_failing_build_shows_the_compilers_own_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.cu").write_text("__global__ void f() { return 1 }\n")
    with pytest.raises(kneck.KneckError) as raised:
        kneck.infer("bad.cu")
    text = str(raised.value)
    assert text.startswith("error: the build failed:\n    bad.cu(1): error: ")
    assert "\n  --> bad.cu\n  help: the command was: nvcc --cubin -arch=sm_86 -O2" in text
    assert raised.value.exit_status == 2


@needs_nvcc
def test_pitfall_counts_in_the_source() -> None:
    diagnosis = kneck.infer(str(KERNELS / "igemm.cu"), **options("igemm"))
    assert "counted-in-source" in pitfalls(diagnosis)
    assert "counted-in-source" not in pitfalls(diagnosed("igemm"))  # a cubin has no source


@needs_nvcc
def test_a_source_and_its_cubin_get_the_same_verdict() -> None:
    built = kneck.infer(str(KERNELS / "hgemm_30k.cu"), **options("hgemm_30k"))
    read = diagnosed("hgemm_30k")
    assert (built.bound, chosen(built)) == (read.bound, chosen(read))
    assert built.tile == read.tile


def test_barriers_are_judged_per_tile_not_per_unrolled_iteration() -> None:
    diagnosis = diagnosed("sgemm_four_tiles")
    assert (value(diagnosis, "tile.barriers"), value(diagnosis, "tile.tiles")) == (8, 4)
    assert diagnosis.bound == "latency"
    assert "fewer-barriers" not in chosen(diagnosis)
    assert "fewer-barriers" in chosen(diagnosed("hgemm_many_barriers"))


def test_a_loop_over_rows_is_not_the_tile_and_its_reduction_stages_nothing() -> None:
    diagnosis = diagnosed("row_dots")
    assert diagnosis.tile is not None
    assert (diagnosis.tile.loop.depth, diagnosis.tile.compute_op) == (2, "FFMA")
    assert value(diagnosis, "tile.stages_through_shared") is False
    assert "cp-async-pipelining" not in chosen(diagnosis)


def test_a_launch_that_refutes_a_bounds_check_counts_what_it_executes() -> None:
    diagnosis = diagnosed("sgemm_guarded")  # each thread loads 4 elements of either operand
    tile = diagnosis.tile
    assert tile is not None
    assert (tile.compute_op, tile.compute_ops) == ("FFMA", 128)
    assert (tile.load_ops, tile.load_bytes, tile.ratio) == (8, 32, 16)
    row = diagnosis.fact("tile.load_ops")
    assert row is not None and row.source["kind"] == "emulated"


def test_a_way_that_data_choose_leaves_the_counts_of_an_iteration_open() -> None:
    tile = diagnosed("switch_brx").tile  # a jump table, indexed by data
    assert tile is not None
    assert (tile.compute_ops, tile.load_ops, tile.ratio) == (None, None, None)


def test_a_loop_without_arithmetic_says_so() -> None:
    report = diagnosed("histogram_global").to_text()
    assert "no arithmetic, 1 loads per iteration" in report


def test_a_prefetch_that_the_last_iteration_leaves_out_stays_one_of_the_tile() -> None:
    tile = diagnosed("hgemm_cp_async").tile
    assert tile is not None
    assert (tile.load_ops, tile.load_bytes) == (4, 64)  # not the mean of 32 iterations, 3.97


def test_every_kernel_that_this_file_names_is_in_the_manifest() -> None:
    for id in (*HAND_COUNTS, *(recipe["base"] for recipe in LOOSENED.values())):
        assert id in manifest()
        assert cubin(id).exists()
