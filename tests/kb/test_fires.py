"""Every strategy and pitfall fires on facts extracted from a real cubin, in at least one case."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from subprocess import run

import pytest

from kneck.engine.session import Result
from kneck.parsers.tools import find_tool
from kneck.rules.cache import load_knowledge
from kneck.rules.overlay import knowledge_folders

from .subjects import KERNELS, diagnosis_of, loosened, state, why_not

HERE = Path(__file__).resolve().parent
Case = Callable[[], Result]


def on(kernel: str, arch: str = "sm_86", time_ms: float | None = None, **options: object) -> Case:
    return lambda: diagnosis_of(kernel, arch, time_ms, **options)


@cache
def beyond_the_instruction_cache() -> Result:
    """The base of a pair built by nvcc 13.0 -O2 for sm_120, whose instruction cache is known."""
    target = str(HERE / "cubin" / "unrolled_far.sm_120.cubin")
    return diagnosis_of("unrolled_far", "sm_120", target=target)


STRATEGIES: dict[str, Case] = {
    "algorithmic-restructuring": on("sgemm_register_thin"),
    "at-the-roof": on("add_vector"),
    "avoid-fp64": on("fp64_literal"),
    "block-rasterization": on("hgemm_cp_async", "sm_90", 1.0),
    "coalesce-accesses": on("transpose_naive"),
    "cp-async-pipelining": on("hgemm_30k"),
    "deeper-pipeline": on("hgemm_cp_async", time_ms=7.0),
    "fast-math": on("precise_math"),
    "fewer-barriers": on("hgemm_many_barriers"),
    "fewer-conversions": on("convert_in_loop"),
    "ffma-stall-tightening": lambda: loosened("sgemm_wide_loose"),
    "fill-the-grid": on("grid_stride_32"),
    "fp16-accumulate": on("hgemm_large_tile"),
    "fuse-multiply-add": on("separate_multiply_add"),
    "hierarchical-reduction": on("reduce_atomic"),
    "hoist-address-arithmetic": on("index_in_loop", time_ms=0.5),
    "imma-stall-tightening": lambda: loosened("igemm_fat_block_loose"),
    "improve-locality": on("gather_arrays"),
    "keep-data-in-registers": on("softmax_reread"),
    "larger-tile": on("sgemm_short_k"),
    "launch-overhead": on("one_step"),
    "longer-k-tile": on("sgemm_short_k"),
    "lower-l2-traffic": on("hgemm_cp_async", "sm_90", 1.0),
    "more-ilp": on("chain"),
    "more-warps": on("saxpy_32"),
    "pad-or-swizzle-shared": on("transpose_shared"),
    "privatize-atomics": on("histogram_global"),
    "raise-occupancy": on("window_32k"),
    "reduce-divergence": on("divergent"),
    "reduce-unroll": beyond_the_instruction_cache,
    "register-prefetch": on("hgemm_staged", "sm_75", 14.0),
    "register-tiling": on("sgemm_shared"),
    "remove-spills": on("spilled"),
    "shared-memory-tiling": on("sgemm_naive"),
    "shrink-smem-tile": on("hgemm_over_cliff"),
    "split-k": on("hgemm_staged_deep"),
    "tensor-tile-reuse": on("hgemm_staged", time_ms=4.6),
    "unroll": on("rolled"),
    "use-tensor-cores": on("hgemm_ffma"),
    "use-tma": on("hgemm_cp_async", "sm_90"),
    "use-wgmma": on("hgemm_staged", "sm_90"),
    "vectorize-loads": on("add_scalar"),
    "warp-shuffle-instead-of-barrier": on("reduce_barrier"),
}
PITFALLS: dict[str, Case] = {
    "accumulator-peak": on("hgemm_large_tile"),
    "alignment": on("row_sum_strided"),
    "callee-registers": on("device_call"),
    "clock-not-steady": on("saxpy", what_if=("measurement.drift_fraction=0.08",)),
    "counted-in-source": on("hgemm_staged", what_if=("source.compute_calls=1",)),
    "dynamic-smem-unknown": on("hgemm_over_cliff", dynamic_smem=0),
    "expectation-unreachable": on("saxpy", expect=80.0),
    "extra-traffic": on("conv3x3_direct"),
    "foreign-cliff": on("hgemm_over_cliff"),
    "gain-below-noise": on("add_vector", what_if=("measurement.spread_fraction=0.2",)),
    "instruction-cache": beyond_the_instruction_cache,
    "jit-code-differs": on("hgemm_staged", "sm_80", gpu="rtx-3070-ti"),
    "l2-resident-timing": on("one_step"),
    "launch-above-compiled-limit": on("spilled", block="512"),
    "launch-fails": on("hgemm_large_tile", block="512"),
    "no-warm-up": on("saxpy", what_if=("baseline.warmup_launches=0",)),
    "occupancy-futile": on("hgemm_30k"),
    "one-fat-block-is-fine": on("sgemm_wide"),
    "over-smem-cliff": on("hgemm_over_cliff"),
    "rate-above-peak": on("add_vector", time_ms=0.05),
    "re-read-multiplication": on("hgemm_30k"),
    "register-cliff-near": on("hgemm_prefetch"),
    "remainder-loop-counted": on("row_sum_strided"),
    "reserve-counted-twice": on("hgemm_staged", "sm_90"),
    "share-is-not-cycles": on("hgemm_staged"),
    "sparse-peak": on("hgemm_staged", peaks="published"),
    "spec-peak-not-reached": on("add_vector"),
    "spill-decides": on("spilled"),
    "static-smem-above-48k": on("hgemm_over_cliff"),
    "tail-wave": on("dot_partial"),
    "tied-limiters": on("hgemm_f16_accumulate"),
    "too-small-to-saturate": on("one_step"),
    "warp-interleaving-ignored": on("sgemm_wide"),
    "whole-file-count": on("hgemm_cp_async"),
    "wrong-peak-precision": on("hgemm_ffma"),
}


@pytest.mark.parametrize("rule", sorted({**STRATEGIES, **PITFALLS}))
def test_a_rule_fires_on_a_real_kernel(rule: str) -> None:
    result = {**STRATEGIES, **PITFALLS}[rule]()
    assert state(result, rule) == "fired", why_not(result, rule)


def zero_stall(text: str) -> str:
    """Clear the stall count (bits 105 to 108) of the first FFMA, in the upper word."""
    lines = text.splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if " FFMA " in line)

    def cleared(found: re.Match[str]) -> str:
        return f"0x{int(found[1], 16) & ~(0xF << 41):016x}"

    lines[at + 1] = re.sub(r"0x([0-9a-f]{16})", cleared, lines[at + 1])
    return "".join(lines)


def test_a_stall_count_of_zero_is_pointed_out(tmp_path: Path) -> None:
    cubin = KERNELS / "cubin" / "chain.sm_86.cubin"
    command = [find_tool("nvdisasm").path, "-c", "-hex", str(cubin)]
    text = run(command, check=True, capture_output=True, text=True).stdout
    listing = tmp_path / "chain.sass"
    listing.write_text(zero_stall(text), encoding="utf-8")
    result = diagnosis_of("chain", target=str(listing))
    assert state(result, "stall-zero") == "fired", why_not(result, "stall-zero")
    assert result.facts.value("kernel.stall_zero") == 1
    assert state(diagnosis_of("chain"), "stall-zero") == "silent"


def test_every_strategy_and_pitfall_has_a_case() -> None:
    knowledge = load_knowledge(knowledge_folders(()))
    assert {rule.id for rule in knowledge.of_kind("strategy")} == STRATEGIES.keys()
    pitfalls = {rule.id for rule in knowledge.of_kind("pitfall")}
    assert pitfalls == PITFALLS.keys() | {"stall-zero"}


@pytest.mark.parametrize("rule", sorted(STRATEGIES))
def test_the_advice_is_concrete_and_has_an_experiment(rule: str) -> None:
    """It names figures of this kernel, all of which are known where the rule fires."""
    result = STRATEGIES[rule]()
    (strategy,) = [s for s in result.diagnosis.strategies if s.id == rule]
    action = result.inference.knowledge.by_id[rule].action
    assert action is not None
    assert any(not isinstance(part, str) for part in action.parts), action.text
    assert "unknown" not in strategy.action
    assert strategy.experiment
