"""Patterns of loops, loads, branches and calls: a listing in, facts with their addresses out."""

from __future__ import annotations

import pytest

from kneck.facts.arch_table import ArchTable
from kneck.facts.kernel import analyse
from kneck.facts.model import Fact, Missing, Value
from kneck.facts.pattern_facts import pattern_facts
from kneck.parsers.listing import Function

from .flow_listings import NOTHING_KNOWN, functions, only, operands, sass, table

Facts = dict[str, Fact]


def patterns(function: Function) -> tuple[Facts, dict[str, Missing]]:
    known = ArchTable(table(), function.arch, "geforce")
    facts, missing = pattern_facts(analyse(function, known, operands(), NOTHING_KNOWN), known)
    assert len({fact.name for fact in facts}) == len(facts)
    return {fact.name: fact for fact in facts}, {gap.name: gap for gap in missing}


def values(code: str, *names: str) -> list[Value]:
    found = patterns(sass(code))[0]
    return [found[name].value for name in names]


def of_cubin(stem: str, name: str, arch: str = "sm_86") -> Value:
    return patterns(only(stem, arch))[0][name].value


INDEX = """
    S2R R0, SR_TID.X
    S2R R1, SR_CTAID.X
    IMAD R2, R1, 0x100, R0
"""


def body(code: str) -> str:
    """A loop of 64 iterations around a few instructions."""
    return f"""{INDEX}
    MOV R90, RZ
    .L_loop:
    {code}
    IADD3 R90, R90, 0x1, RZ
    ISETP.GE.AND P6, PT, R90, 0x40, PT
    @!P6 BRA `(.L_loop)
    STG.E [R80.64], R70
    EXIT
    """


# Widths


def test_neighbouring_loads_of_one_base_could_be_one_wide_load() -> None:
    code = f"""{INDEX}
    SHF.L.U32 R2, R2, 0x2, RZ
    MOV R9, 0x4
    IMAD.WIDE R4, R2, R9, c[0x0][0x160]
    LDG.E R10, [R4.64+0x4]
    LDG.E R11, [R4.64]
    LDG.E R12, [R4.64+0xc]
    LDG.E R13, [R4.64+0x8]
    EXIT
    """
    names = ("loads.mergeable", "loads.mergeable_saved", "loads.merged_bytes")
    assert values(code, *names) == [4, 3, 16]
    assert values(code, "loads.alignment_unknown", "loads.narrow") == [0, 4]


def test_loads_of_lanes_four_bytes_apart_cannot_be_merged() -> None:
    code = f"""{INDEX}
    MOV R9, 0x4
    IMAD.WIDE R4, R2, R9, c[0x0][0x160]
    LDG.E R10, [R4.64]
    LDG.E R11, [R4.64+0x4]
    EXIT
    """
    assert values(code, "loads.mergeable") == [0]


def test_a_row_stride_known_at_run_time_leaves_the_alignment_open() -> None:
    code = f"""{INDEX}
    MOV R9, 0x4
    IMAD R3, R2, c[0x0][0x170], RZ
    IMAD.WIDE R4, R3, R9, c[0x0][0x160]
    LDG.E R10, [R4.64]
    LDG.E R11, [R4.64+0x4]
    EXIT
    """
    assert values(code, "loads.mergeable", "loads.alignment_unknown") == [2, 1]


def test_a_base_written_between_two_loads_parts_them() -> None:
    code = f"""{INDEX}
    SHF.L.U32 R2, R2, 0x2, RZ
    MOV R9, 0x4
    IMAD.WIDE R4, R2, R9, c[0x0][0x160]
    LDG.E R10, [R4.64]
    IMAD.WIDE R4, R2, R9, c[0x0][0x168]
    LDG.E R11, [R4.64+0x4]
    EXIT
    """
    assert values(code, "loads.mergeable") == [0]


def test_wide_loads_and_bytes_are_told_apart() -> None:
    code = f"""{INDEX}
    IADD3 R4, P0, R2, c[0x0][0x160], RZ
    LDG.E.128 R8, [R4.64]
    LDG.E.U8 R12, [R4.64+0x100]
    EXIT
    """
    assert values(code, "loads.narrow", "loads.sub_word") == [1, 1]


# Where addresses come from


def test_a_load_at_a_loaded_address_is_a_gather() -> None:
    code = f"""{INDEX}
    MOV R9, 0x4
    IMAD.WIDE R4, R2, R9, c[0x0][0x160]
    LDG.E R6, [R4.64]
    IMAD.WIDE R6, R6, R9, c[0x0][0x168]
    LDG.E R10, [R6.64]
    LDG.E R11, [R6.64+0x4]
    EXIT
    """
    assert values(code, "gather.loads", "gather.bytes") == [2, 8.0]


def test_without_a_gather_its_bytes_do_not_apply() -> None:
    facts, missing = patterns(sass(f"{INDEX}\n EXIT"))
    assert facts["gather.loads"].value == 0
    assert missing["gather.bytes"].applies is False


def test_a_load_whose_address_is_its_own_last_value_is_chased() -> None:
    code = body("LDG.E R4, [R4.64]\n MOV R5, RZ\n")
    assert values(code, "loads.chased") == [1]
    assert of_cubin("pointer_chase", "loads.chased") == 1
    assert of_cubin("spmv_csr_scalar", "loads.chased") == 0


@pytest.mark.parametrize(
    ("address", "shared"),
    [
        ("IMAD.WIDE R4, R2, R9, c[0x0][0x160]", 0),  # every thread has its own
        ("IMAD.WIDE R4, R90, R9, c[0x0][0x160]", 1),  # the counter alone
        ("SHF.R.U32.HI R3, RZ, 0x4, R0\n IMAD.WIDE R4, R3, R9, c[0x0][0x160]", 1),
        (
            "SHF.R.U32.HI R3, RZ, 0x4, R0\n LOP3.LUT R6, R0, 0xf, RZ, 0xc0, !PT\n"
            "IMAD R3, R6, 0x40, R3\n IMAD.WIDE R4, R3, R9, c[0x0][0x160]",
            0,  # row and column of a tile: together they may tell all threads apart
        ),
    ],
)
def test_loads_with_one_address_for_several_threads(address: str, shared: int) -> None:
    code = body(f"MOV R9, 0x4\n {address}\n LDG.E R70, [R4.64]")
    assert values(code, "loads.same_for_threads") == [shared]


def test_a_spilled_address_is_not_taken_for_loaded_data() -> None:
    code = body("LDL R4, [R1+0x8]\n MOV R5, RZ\n LDG.E R70, [R4.64]")
    assert values(code, "gather.loads", "loop.spill_accesses") == [0, 1]


def test_two_opposite_guards_leave_nothing_of_the_old_value() -> None:
    code = body(
        "LDG.E R4, [R8.64]\n ISETP.GE.AND P0, PT, R0, 0x40, PT\n"
        "@P0 MOV R4, R2\n @!P0 MOV R4, R0\n MOV R5, RZ\n LDG.E R70, [R4.64]"
    )
    assert values(code, "gather.loads") == [0]


def test_an_array_in_local_memory_is_no_spill() -> None:
    code = body("LDL R70, [R6]\n STL [R6+0x4], R70")
    assert values(code, "loop.spill_accesses", "loop.indexed_local_accesses") == [0, 2]


def test_two_loops_over_the_same_row_are_found() -> None:
    found = patterns(only("softmax_reread"))[0]["loads.repeated_by_loops"]
    assert found.value == 2
    assert found.source.detail == "0x0460 0x0910"
    assert of_cubin("two_loops", "loads.repeated_by_loops") == 0


# Atomics


def test_an_atomic_in_a_loop_is_paid_for_each_element() -> None:
    names = ("atomics.global_in_loops", "atomics.global_by_data", "atomics.shared_in_loops")
    for stem, expected in (
        ("reduce_atomic", [1, 0, 0]),
        ("histogram_global", [1, 1, 0]),
        ("histogram_shared", [0, 0, 1]),
    ):
        found = patterns(only(stem))[0]
        assert [found[name].value for name in names] == expected, stem


@pytest.mark.parametrize(
    ("test", "count"),
    [("ISETP.GE.AND P0, PT, R2, c[0x0][0x170], PT", 1), ("ISETP.NE.AND P0, PT, R0, RZ, PT", 0)],
)
def test_an_atomic_of_one_elected_thread_is_not(test: str, count: int) -> None:
    code = f"{INDEX}\n {test}\n @P0 EXIT\n RED.E.ADD.STRONG.GPU [R4.64], R6\n EXIT"
    assert values(code, "atomics.global_per_element") == [count]


# Arithmetic


def test_a_product_with_one_use_in_a_sum_could_be_fused() -> None:
    code = body("FMUL R10, R11, R12\n FADD R70, R70, R10")
    assert values(code, "loop.fusable_pairs") == [1]


def test_a_product_with_a_second_use_could_not() -> None:
    code = body("FMUL R10, R11, R12\n FADD R70, R70, R10\n FADD R71, R71, R10")
    assert values(code, "loop.fusable_pairs") == [0]


def test_multiply_adds_of_loaded_values_mark_a_matrix_product() -> None:
    loaded = body("LDS R10, [R20]\n LDS R11, [R21]\n FFMA R70, R10, R11, R70")
    polynomial = body("FFMA R70, R70, R12, R13")
    name = "loop.loaded_products_fraction"
    assert values(loaded, name) == [1.0]
    assert values(polynomial, name) == [0.0]


def test_halves_that_are_widened_still_count_as_loaded() -> None:
    assert of_cubin("hgemm_ffma", "loop.loaded_products_fraction") == 1.0
    assert of_cubin("hgemm_ffma", "loop.half_conversions") == 8


def test_the_slowest_pipe_is_told_with_its_cycles() -> None:
    found = patterns(only("fp64_literal"))[0]
    assert found["loop.slowest_pipe"].value == "fp64"
    assert found["loop.slowest_pipe_cycles"].value == 16 * 64  # a warp takes 64 cycles on GeForce
    assert found["loop.fp64_conversions"].value == 8


def test_conversions_are_weighed_against_arithmetic() -> None:
    assert of_cubin("convert_in_loop", "loop.conversions_per_compute") == 1.0
    assert of_cubin("convert_by_bits", "loop.conversions_per_compute") == 0.0


def test_executed_counts_hold_for_the_fractions() -> None:
    """The load loop of sgemm_load_loop runs four times per tile."""
    found = patterns(only("sgemm_load_loop"))[0]
    assert found["tile.ops_per_shared_load"].value == 256 / 32
    assert found["tile.load_registers"].value == 8


# Overlap


def test_a_prefetched_load_has_the_arithmetic_between_itself_and_its_use() -> None:
    assert of_cubin("hgemm_staged", "loop.cover_fraction") == 0.0
    assert of_cubin("hgemm_prefetch", "loop.cover_fraction") == 1.0


def test_the_wait_tells_how_many_groups_of_copies_stay_under_way() -> None:
    assert of_cubin("hgemm_cp_async", "loop.async_groups_left") == 0
    assert of_cubin("hgemm_cp_async_4", "loop.async_groups_left") == 2
    assert patterns(only("hgemm_staged"))[1]["loop.async_groups_left"].applies is False


# Branches, barriers, calls


def test_a_branch_on_loaded_data_diverges_and_a_counter_does_not() -> None:
    assert of_cubin("divergent", "loop.divergent_branches") == 1
    assert of_cubin("divergent", "loop.divergent_fraction") == pytest.approx(24 / 33, abs=0.02)
    assert of_cubin("convergent", "loop.divergent_branches") == 0
    assert of_cubin("hgemm_cp_async", "loop.divergent_branches") == 0


def test_slow_paths_are_no_divergence_and_no_functions_of_the_program() -> None:
    found = patterns(only("precise_math"))[0]
    assert found["loop.helper_calls"].value == 2
    assert found["kernel.function_calls"].value == 0
    assert of_cubin("device_call", "kernel.function_calls") == 1
    assert of_cubin("device_call", "loop.helper_calls") == 0


def test_a_call_that_never_returns_is_a_jump() -> None:
    assert of_cubin("flash_attention", "kernel.function_calls") == 0


def test_barriers_between_steps_of_a_tree_are_found() -> None:
    assert of_cubin("reduce_barrier", "loops.tree_barriers") == 1
    assert of_cubin("reduce_block_shuffle", "loops.tree_barriers") == 0
    assert of_cubin("hgemm_staged", "loops.tree_barriers") == 0


def test_an_unrolled_tree_is_found_too() -> None:
    step = "LDS R4, [R20]\n FADD R5, R5, R4\n BAR.SYNC 0x0\n STS [R20], R5\n BAR.SYNC 0x0\n"
    assert values(f"{INDEX}\n BAR.SYNC 0x0\n {step * 3} EXIT", "loops.tree_barriers") == [7]
    assert values(f"{INDEX}\n BAR.SYNC 0x0\n LDS R4, [R20]\n EXIT", "loops.tree_barriers") == [0]


def test_block_indices_that_are_divided_show_another_order_of_blocks() -> None:
    assert of_cubin("hgemm_rasterized", "kernel.remaps_blocks") is True
    assert of_cubin("hgemm_cp_async", "kernel.remaps_blocks") is False


def test_remainder_loops_are_counted() -> None:
    assert of_cubin("row_sum_strided", "loops.remainders") == 1
    assert of_cubin("rolled", "loops.remainders") == 0


# Without a loop, and on every architecture


def test_without_a_loop_its_figures_do_not_apply_and_its_counts_are_zero() -> None:
    facts, missing = patterns(only("saxpy"))
    assert facts["loop.barriers"].value == 0
    assert facts["loads.bytes_in_flight"].value == 8
    for name in ("loop.bytes", "loop.integer_fraction", "tile.ops_per_shared_load"):
        assert missing[name].applies is False


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_the_patterns_are_those_of_the_source_on_every_architecture(arch: str) -> None:
    assert of_cubin("reduce_barrier", "loops.tree_barriers", arch) == 1
    assert of_cubin("gather_arrays", "gather.loads", arch) == 8
    assert of_cubin("add_scalar", "loads.mergeable", arch) == 8
    assert of_cubin("softmax_reread", "loads.repeated_by_loops", arch) == 2
    assert of_cubin("precise_math", "loop.helper_calls", arch) == 2


def test_code_for_a_feature_set_is_of_the_hardware_without_the_letter() -> None:
    assert patterns(sass("EXIT", "sm_90a"))[0]["kernel.arch"].value == "sm_90"


def test_two_kernels_of_a_file_are_looked_at_apart() -> None:
    found = {name: patterns(each)[0] for name, each in functions("two_kernels").items()}
    assert found["dot_partial"]["loops.count"].value == 1
    assert [f["loops.count"].value for name, f in found.items() if name != "dot_partial"] == [0]
