"""The K-tile loop: which one it is, and what one of its iterations computes and loads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from kneck.facts.induction import trips
from kneck.facts.loop_linear import Interval, Known
from kneck.facts.loop_weights import Times
from kneck.facts.tile import TileLoop

from .flow_listings import KERNELS, only, ranges_of, sass, tile_of

COUNTS: list[dict[str, Any]] = yaml.safe_load(
    (KERNELS / "hand_counts.yaml").read_text(encoding="utf-8")
)["kernels"]


def tile(code: str, known: Known | None = None) -> TileLoop:
    found = tile_of(sass(code), known or Known())
    assert found is not None
    return found


def role_of(found: TileLoop, first: int) -> str:
    return next(loop.role for loop in found.rejected if loop.first == first)


def addresses(at: str | int) -> Iterator[int]:
    """Unfold `0x930 0x950-0x970`; a single address arrives as a number."""
    for run in at.split() if isinstance(at, str) else [hex(at)]:
        first, _, last = run.partition("-")
        yield from range(int(first, 16), int(last or first, 16) + 16, 16)


# Against the counts made by hand


@pytest.mark.parametrize("counted", COUNTS, ids=[count["kernel"] for count in COUNTS])
def test_one_iteration_is_as_counted_by_hand(counted: dict[str, Any]) -> None:
    found = tile_of(only(counted["kernel"]))
    assert found is not None
    assert [found.loop.first, found.loop.last] == counted["loop"]
    compute, loads = counted["compute"], counted["loads"]
    assert found.compute_op == compute["opcode"]
    assert found.compute_ops.times.expected == compute["executed"]
    assert list(found.compute_ops.addresses) == list(addresses(compute["at"]))
    assert found.load_ops.times.expected == loads["executed"]
    assert list(found.load_ops.addresses) == list(addresses(loads["at"]))
    assert found.load_bytes is not None and found.load_bytes.expected == counted["load_bytes"]
    ratio = compute["executed"] / loads["executed"]
    assert ratio == pytest.approx(counted["ratio"][0], rel=0.01)
    if "inner" in counted:
        (inner,) = found.weights.trips.values()
        assert (inner.low, inner.high) == (counted["inner"]["trips"],) * 2


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_90", "sm_120"])
@pytest.mark.parametrize(
    ("stem", "opcode", "ops", "loads"),
    [
        ("igemm", "IMMA", 8, 2),
        ("igemm_cp_async", "IMMA", 8, 2),
        ("flash_attention", "HMMA", 64, 8),
        ("flash_attention_cp_async", "HMMA", 64, 8),
        ("hgemm_staged", "HMMA", 16, 4),
        ("hgemm_cp_async", "HMMA", 16, 4),
        ("dgemm", "DFMA", 128, 2),
        ("sgemm_register", "FFMA", 512, 2),
        ("conv3x3_implicit_gemm", "FFMA", 128, 4),
    ],
)
def test_the_tile_of_a_kernel_is_the_same_on_every_architecture(
    stem: str, arch: str, opcode: str, ops: int, loads: int
) -> None:
    found = tile_of(only(stem, arch))
    assert found is not None
    assert (found.compute_op, found.compute_ops.times.expected) == (opcode, ops)
    assert found.load_ops.times.expected == loads
    assert found.unknown_opcodes == {}


@pytest.mark.parametrize("stem", ["saxpy", "transpose_naive", "softmax_registers"])
def test_a_kernel_without_a_loop_has_no_tile(stem: str) -> None:
    assert tile_of(only(stem)) is None


# Which loop


def test_the_main_loop_wins_over_its_remainder() -> None:
    found = tile_of(only("sgemm_double_buffered"))
    assert found is not None and role_of(found, 0x3070) == "remainder"


def test_of_two_loops_with_the_same_work_the_first_stands_for_both() -> None:
    found = tile_of(only("two_loops"))
    assert found is not None
    assert found.loop.first == 0x110
    assert role_of(found, 0x1F0) == "symmetrical"


def test_a_persistent_loop_over_tiles_is_not_the_tile() -> None:
    found = tile_of(only("hgemm_persistent"))
    assert found is not None
    assert found.loop.depth == 2
    assert role_of(found, 0x290) == "outer"


def test_a_load_loop_is_a_part_of_the_tile() -> None:
    found = tile_of(only("sgemm_load_loop"))
    assert found is not None
    assert role_of(found, 0x280) == "inner"
    assert "4 times" in next(loop.because for loop in found.rejected)


def test_the_loads_stand_around_an_inner_compute_loop() -> None:
    code = """
        MOV R9, RZ
        .L_tile:
        LDG.E.128 R4, [R2.64]
        MOV R8, RZ
        .L_k:
        FFMA R0, R4, R5, R0
        FFMA R1, R6, R7, R1
        IADD3 R8, R8, 0x1, RZ
        ISETP.LT.AND P0, PT, R8, 0x10, PT
        @P0 BRA `(.L_k)
        IADD3 R9, R9, 0x10, RZ
        ISETP.LT.AND P0, PT, R9, c[0x0][0x160], PT
        @P0 BRA `(.L_tile)
        EXIT
    """
    found = tile(code)
    assert found.loop.first == 0x10
    assert found.compute_ops.times == Times(32, 32, 32)
    assert found.load_ops.times == Times(1, 1, 1)
    assert found.flops == Times(2048, 2048, 2048)


def test_a_loop_that_retries_an_atomic_is_never_the_tile() -> None:
    code = """
        .L_work:
        LDG.E R4, [R2.64]
        FADD R5, R4, R5
        IADD3 R9, R9, 0x1, RZ
        ISETP.LT.AND P0, PT, R9, c[0x0][0x160], PT
        @P0 BRA `(.L_work)
        .L_retry:
        DADD R6, R4, R8
        DMUL R6, R6, R8
        ATOMG.E.CAS.64.STRONG.GPU PT, R6, [R2], R4, R6
        ISETP.NE.U32.AND P0, PT, R4, R6, PT
        @P0 BRA `(.L_retry)
        EXIT
    """
    found = tile(code)
    assert found.loop.first == 0x00
    assert role_of(found, 0x50) == "retry"


def test_waiting_for_an_mbarrier_inside_the_tile_is_no_loop_of_its_own() -> None:
    code = """
        .L_tile:
        LDG.E.128 R12, [R2.64]
        .L_wait:
        SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], RZ
        @!P0 BRA `(.L_wait)
        HMMA.16816.F32 R0, R4, R8, R0
        IADD3 R9, R9, 0x1, RZ
        ISETP.LT.AND P1, PT, R9, c[0x0][0x160], PT
        @P1 BRA `(.L_tile)
        EXIT
    """
    found = tile(code)
    assert found.loop.first == 0x00
    assert found.compute_ops.times == Times(1, 1, 1)
    assert role_of(found, 0x10) == "retry"


def test_where_no_loop_has_arithmetic_the_one_with_most_loads_is_taken() -> None:
    found = tile_of(only("histogram_global"))
    assert found is not None
    assert found.compute_op is None and found.compute_ops.times == Times(0, 0, 0)
    assert found.load_ops.times == Times(1, 1, 1)
    assert "no loop has arithmetic" in found.chosen_because


def test_bulk_copies_are_counted_apart_and_their_size_is_not_guessed() -> None:
    code = """
        .L_tile:
        UTMALDG.2D [UR8], [UR4], desc[UR10]
        HMMA.16816.F32 R0, R4, R8, R0
        @P1 BRA `(.L_tile)
        EXIT
    """
    found = tile_of(sass(code, "sm_90"))
    assert found is not None
    assert found.load_ops.times == Times(0, 0, 0)
    assert found.bulk_copies["UTMALDG.2D"].times == Times(1, 1, 1)
    assert found.bulk_copies["UTMALDG.2D"].addresses == (0x00,)


def test_matrix_operations_of_unknown_size_outweigh_everything() -> None:
    code = """
        .L_tile:
        UTCHMMA gdesc[UR4], gdesc[UR8], tmem[UR12], tmem[UR16], idesc[UR17], !UPT
        FFMA R0, R1, R2, R0
        @P1 BRA `(.L_tile)
        EXIT
    """
    found = tile_of(sass(code, "sm_100"))
    assert found is not None
    assert found.compute_op == "UTCHMMA"
    assert found.flops is None and found.flop_fractions == {}


# What one iteration executes


def test_filler_that_never_executes_is_not_counted() -> None:
    found = tile_of(only("hgemm_cp_async"))
    assert found is not None
    span = range(found.loop.first, found.loop.last + 1)
    inside = [i for i in only("hgemm_cp_async").instructions if i.address in span]
    assert sum(i.never_executes for i in inside) == 3
    assert found.instructions.high == len(inside) - 3


def test_a_prefetch_that_the_last_iteration_leaves_out_counts_as_executed() -> None:
    found = tile_of(only("hgemm_cp_async"))
    assert found is not None
    assert found.load_ops.times == Times(0, 4, 4)
    assert any("loop counter" in text for text in found.assumptions)


GUARDED = """
    MOV R9, RZ
    .L_tile:
    {test}
    @P2 BRA `(.L_skip)
    LDG.E.128 R4, [R2.64]
    .L_skip:
    FFMA R0, R4, R5, R0
    IADD3 R9, R9, 0x10, RZ
    ISETP.GE.AND P0, PT, R9, c[0x0][0x160], PT
    @!P0 BRA `(.L_tile)
    EXIT
"""


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("IADD3 R10, R9, 0x20, RZ\n ISETP.GE.AND P2, PT, R10, c[0x0][0x160], PT", 1),  # prefetch
        ("ISETP.LT.AND P2, PT, R9, 0x20, PT", 1),  # not in the first two iterations
        ("ISETP.GE.AND P2, PT, R11, c[0x0][0x164], PT", 1),  # a bounds check
        (
            "ISETP.GE.AND P3, PT, R11, c[0x0][0x164], PT\n"
            " ISETP.GE.OR P2, PT, R9, c[0x0][0x168], P3",
            1,
        ),  # two bounds at once
        ("ISETP.EQ.AND P2, PT, R9, 0x40, PT", 1),  # in one iteration only
        ("LOP3.LUT P2, RZ, R9, 0x10, RZ, 0xc0, !PT", None),  # every other iteration
        ("ISETP.GE.OR P2, PT, R9, c[0x0][0x168], P2", None),  # its own last value
        ("PLOP3.LUT P2, PT, P2, PT, PT, 0x8, 0x0", None),  # the other way each time
        ("LDS R12, [R9]\n ISETP.GE.AND P2, PT, R12, RZ, PT", None),  # data
    ],
)
def test_a_condition_on_the_loop_counter_goes_as_in_most_iterations(
    test: str, expected: int | None
) -> None:
    found = tile(GUARDED.format(test=test))
    assert found.load_ops.times == Times(0, 1, expected)
    assert found.compute_ops.times == Times(1, 1, 1)


def test_a_known_dimension_decides_a_condition() -> None:
    code = GUARDED.format(test="MOV R11, c[0x0][0x164]\n ISETP.GE.AND P2, PT, R11, 0x40, PT")
    assert tile(code, Known({(0, 0x164): 64})).load_ops.times == Times(0, 0, 0)
    assert tile(code, Known({(0, 0x164): 63})).load_ops.times == Times(1, 1, 1)


def test_the_slow_path_of_a_division_is_taken_not_to_be_executed() -> None:
    found = tile_of(only("precise_math"))
    assert found is not None
    assert found.compute_ops.times.low < (found.compute_ops.times.high or 0)
    assert found.compute_ops.times.expected is not None
    assert any("slow path" in text for text in found.assumptions)


def test_a_called_routine_counts_with_its_own_loop_and_says_when_that_is_not_known() -> None:
    found = tile_of(only("device_call"))
    assert found is not None
    assert found.flops is not None and found.flops.high is None and found.flops.expected is None
    assert found.flops.low == 64  # two FADD; the callee's loop may be skipped
    assert found.flops_by_opcode["FFMA"] == Times(0, None, None)


def test_branches_that_data_decide_give_a_range() -> None:
    found = tile_of(only("switch_brx"))
    assert found is not None
    assert found.load_ops.times.low == 1
    assert found.load_ops.times.high == 3
    assert found.load_ops.times.expected is None


# Trip counts


def count(code: str, known: Known | None = None) -> tuple[int, int | None]:
    ranges = ranges_of(sass(code), known or Known())
    found = trips(ranges, ranges.values.loops.loops[-1])
    return found.low, found.high


COUNTER = """
    MOV R0, {start}
    .L_top:
    FADD R9, R9, R8
    IADD3 R0, R0, {step}, RZ
    ISETP.{compare}.AND P0, PT, R0, {limit}, PT
    {branch}
    EXIT
"""


@pytest.mark.parametrize("start", [0, 3, -5])
@pytest.mark.parametrize("step", [1, 4, 7])
@pytest.mark.parametrize("limit", [8, 20, 21])
@pytest.mark.parametrize("compare", ["LT", "LE", "GE", "GT"])
def test_trips_are_those_of_running_the_loop(
    start: int, step: int, limit: int, compare: str
) -> None:
    goes_on = compare in ("LT", "LE")
    code = COUNTER.format(
        start=f"{start:#x}", step=f"{step:#x}", limit=f"{limit:#x}", compare=compare,
        branch="@P0 BRA `(.L_top)" if goes_on else "@!P0 BRA `(.L_top)",
    )  # fmt: skip
    value, ran = start, 0
    while True:
        value += step
        ran += 1
        holds = {"LT": value < limit, "LE": value <= limit, "GE": value >= limit,
                 "GT": value > limit}[compare]  # fmt: skip
        if holds != goes_on:
            break
    assert count(code) == (ran, ran)


def test_a_counter_may_run_down_to_zero() -> None:
    code = COUNTER.format(
        start="0x20", step="-0x4", compare="NE", limit="RZ", branch="@P0 BRA `(.L_top)"
    )
    assert count(code) == (8, 8)
    assert count(code.replace("-0x4", "0xfffffffc")) == (8, 8)


STRIDED = """
    S2R R0, SR_TID.X
    .L_top:
    LDG.E R4, [R2.64]
    IADD3 R0, R0, c[0x0][0x0], RZ
    ISETP.LT.AND P0, PT, R0, 0x400, PT
    @P0 BRA `(.L_top)
    EXIT
"""


def test_a_stride_by_the_block_size_needs_the_launch() -> None:
    assert count(STRIDED) == (1, None)
    launch = Known({(0, 0): 256}, {"SR_TID.X": Interval(0, 255)})
    assert count(STRIDED, launch) == (4, 4)


def test_a_block_that_does_not_divide_the_tile_gives_a_range() -> None:
    launch = Known({(0, 0): 192}, {"SR_TID.X": Interval(0, 191)})
    assert count(STRIDED, launch) == (5, 6)


def test_an_early_exit_makes_the_count_an_upper_bound() -> None:
    code = COUNTER.format(
        start="0x0", step="0x1", compare="LT", limit="0x8", branch="@P1 EXIT\n @P0 BRA `(.L_top)"
    )
    assert count(code) == (1, 8)


def test_a_constant_move_in_half_floats_is_read() -> None:
    code = COUNTER.format(
        start="RZ", step="0x1", compare="LT", limit="R7", branch="@P0 BRA `(.L_top)"
    )
    assert count("HFMA2.MMA R7, -RZ, RZ, 0, 7.152557373046875e-07\n" + code) == (12, 12)


def test_a_uniform_predicate_handed_to_a_plain_one_is_followed() -> None:
    code = """
        UMOV UR4, URZ
        .L_top:
        FADD R9, R9, R8
        UIADD3 UR4, UR4, 0x8, URZ
        UISETP.GE.AND UP0, UPT, UR4, UR10, UPT
        PLOP3.LUT P2, PT, PT, PT, UP0, 0x80, 0x0
        @P2 CALL.REL.NOINC `(.L_out)
        BRA `(.L_top)
        .L_out:
        EXIT
    """
    assert count("ULDC UR10, c[0x0][0x180]\n" + code, Known({(0, 0x180): 64})) == (8, 8)


def test_the_reason_names_what_is_missing() -> None:
    ranges = ranges_of(only("hgemm_staged"))
    found = trips(ranges, ranges.values.loops.loops[0])
    assert found.high is None
    assert re.search(r"c\[0x0\]\[0x180\]", found.because)


def test_a_dot_product_under_a_loop_over_rows_is_the_tile_whatever_stands_around_it() -> None:
    found = tile_of(only("row_dots"))
    assert found is not None
    assert (found.compute_op, found.compute_ops.times.expected) == ("FFMA", 1)
    assert found.load_ops.times.expected == 2
    assert found.loop.depth == 2
    (outer,) = found.rejected
    assert outer.role == "outer"


def test_a_loop_that_only_fills_shared_memory_is_a_part_of_the_tile() -> None:
    """It may compute on the way (here a scale), and go round as often as the launch says."""
    found = tile(
        """
        MOV R0, c[0x0][0x160]
    .L_outer:
        MOV R1, R9
    .L_load:
        LDG.E R2, [R4.64]
        FMUL R2, R2, R3
        STS [R1], R2
        IADD3 R1, R1, c[0x0][0x0], RZ
        ISETP.GE.AND P0, PT, R1, R8, PT
        @!P0 BRA `(.L_load)
        BAR.SYNC 0x0
        LDS R6, [R7]
        FFMA R10, R6, R6, R10
        FFMA R11, R6, R6, R11
        FFMA R12, R6, R6, R12
        BAR.SYNC 0x0
        IADD3 R0, R0, -0x1, RZ
        ISETP.NE.AND P1, PT, R0, RZ, PT
        @P1 BRA `(.L_outer)
        EXIT
        """
    )
    assert found.loop.depth == 1
    assert found.compute_op == "FFMA"
    (inner,) = found.rejected
    assert inner.role == "inner"
