"""Stalls, chains, waits and loads in flight: by hand-written listings and on compiled kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from kneck.facts.control_flow import control_flow
from kneck.facts.dep_constraints import constraints_from
from kneck.facts.dep_operands import Accesses, register_name
from kneck.facts.dep_stalls import Stall, loose_stalls, stalls
from kneck.facts.dep_steps import Steps
from kneck.facts.dep_table import TableTiming

from .flow_listings import (
    KERNELS,
    dependences_of,
    functions,
    only,
    operands,
    sass,
    table,
    tile_of,
)

# What an instruction reads and writes


@pytest.mark.parametrize(
    ("text", "writes", "reads"),
    [
        ("IADD3 R2, P0, PT, R4, UR4, RZ", "R2 P0", "R4 UR4"),
        ("IADD3.X R5, R5, R7, RZ, P0, !PT", "R5", "R5 R7 P0"),
        ("IMAD.WIDE.U32 R10, P0, R8, R3, R10", "R10 R11 P0", "R8 R3 R10 R11"),
        ("ISETP.GE.AND.EX P0, PT, R3, UR6, PT, P1", "P0", "R3 UR6 P1"),
        ("LOP3.LUT P0, RZ, R2, 0x3, RZ, 0xc0, !PT", "P0", "R2"),
        ("PLOP3.LUT P0, P1, P2, P3, PT, 0x80, 0x8", "P0 P1", "P2 P3"),
        ("SEL R22, R3, UR15, !P1", "R22", "R3 UR15 P1"),
        ("VOTE.ANY R5, PT, P1", "R5", "P1"),
        ("P2R R2, PR, RZ, 0x7f", "R2", "P0 P1 P2 P3 P4 P5 P6"),
        ("R2P PR, R2, 0x7f", "P0 P1 P2 P3 P4 P5 P6", "R2"),
        ("DFMA R6, R6, R8, R10", "R6 R7", "R6 R7 R8 R9 R10 R11"),
        ("DSETP.GE.AND P0, PT, R4, R6, PT", "P0", "R4 R5 R6 R7"),
        ("FFMA2 R4, R28.F32x2.HI_LO, R3.F32, R0.F32", "R4 R5", "R28 R29 R3 R0"),
        ("F2F.F32.F64 R2, R4", "R2", "R4 R5"),
        ("F2F.F64.F32 R2, R4", "R2 R3", "R4"),
        ("CS2R R4, SRZ", "R4 R5", ""),
        ("HMMA.16816.F32 R16, R8, R50, R20", "R16 R17 R18 R19",
         "R8 R9 R10 R11 R50 R51 R20 R21 R22 R23"),
        ("HMMA.16816.F16 R16, R8, R50, R20", "R16 R17", "R8 R9 R10 R11 R50 R51 R20 R21"),
        ("HMMA.1688.F32 R16, R8, R50, R20", "R16 R17 R18 R19", "R8 R9 R50 R20 R21 R22 R23"),
        ("IMMA.16816.S8.S8 R28, R2.ROW, R43.COL, R24", "R28 R29 R30 R31",
         "R2 R3 R43 R24 R25 R26 R27"),
        ("LDG.E.128 R4, desc[UR4][R2.64+0x10]", "R4 R5 R6 R7", "R2 R3 UR4 UR5"),
        ("LDS.64 R4, [R2.X4+UR4]", "R4 R5", "R2 UR4"),
        ("LDSM.16.M88.4 R8, [R2]", "R8 R9 R10 R11", "R2"),
        ("STS.64 [R10+UR9], R16", "", "R10 UR9 R16 R17"),
        ("STG.E.128 [R2.64], R4", "", "R2 R3 R4 R5 R6 R7"),
        ("LDGSTS.E.BYPASS.128 [R17+0xa00], [R8.64], P1", "", "R17 R8 R9 P1"),
        ("ATOM.E.CAS.64.STRONG.GPU P0, R4, [R12], R6, R8", "P0 R4 R5", "R12 R13 R6 R7 R8 R9"),
        ("SHFL.DOWN PT, R17, R16, 0x1, 0x1f", "R17", "R16"),
        ("BAR.SYNC R19, 0x100", "", "R19"),
        ("BRA.U !UP0, `(.L_x)", "", "UP0"),
        ("UIADD3 UR4, UP0, UPT, UR8, UR10, URZ", "UR4 UP0", "UR8 UR10"),
    ],
)  # fmt: skip
def test_reads_and_writes(text: str, writes: str, reads: str) -> None:
    access = operands().access(sass(text).instructions[0])
    assert " ".join(map(register_name, access.writes)) == writes
    assert " ".join(map(register_name, access.reads)) == reads


@pytest.mark.parametrize(
    ("mnemonic", "results"),
    [
        ("HGMMA.64x96x16.F32", 48),
        ("HGMMA.64x96x16.F32.BF16", 48),
        ("HGMMA.64x256x16.F32", 128),
        ("HGMMA.64x64x16.F16", 16),
        ("QGMMA.64x64x32.F32.E4M3.E4M3", 32),
        ("QGMMA.64x64x32.F16.E4M3.E4M3", 16),
        ("IGMMA.64x8x32.S8.S8", 4),
        ("HGMMA", 128),  # a name without a shape: the widest there is
    ],
)
def test_results_of_warp_group_matrix_instructions_take_what_their_shape_says(
    mnemonic: str, results: int
) -> None:
    """64 rows times its columns, over the 128 lanes of four warps."""
    text = f"{mnemonic} R24, R152, gdesc[UR12].tnspB, R24, gsb0"
    access = operands().access(sass(text, "sm_90").instructions[0])
    assert access.writes == tuple(range(24, 24 + results))
    assert access.replaces is (mnemonic != "HGMMA")
    a, descriptor = (152, 153, 154, 155), tuple(256 + n for n in range(12, 16))
    assert set(access.reads) == {*a, *descriptor, *access.writes}


def test_a_phase_that_is_waited_for_is_one_register() -> None:
    text = "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR5+0x10], R19"
    access = operands().access(sass(text, "sm_90").instructions[0])
    assert register_name(access.data[0]) == "R19" and len(access.data) == 1
    assert access.replaces


def test_an_address_on_turing_is_a_pair_without_saying_so() -> None:
    access = operands().access(sass("LDG.E.SYS R0, [R2+0x10]", "sm_75").instructions[0])
    assert set(access.reads) == {2, 3}


def test_a_guarded_write_may_leave_the_old_value() -> None:
    access = operands().access(sass("@!P1 MOV R0, R1").instructions[0])
    assert access.guard is not None and register_name(access.guard) == "P1"
    assert not access.replaces


# Stalls


def analysed(code: str, arch: str = "sm_86", product_class: str | None = None) -> list[Stall]:
    function = sass(code, arch)
    accesses = Accesses(function.instructions, operands())
    timing = TableTiming(table(), arch, product_class)
    steps = Steps(control_flow(function), accesses, timing)
    return stalls(steps, range(len(function.instructions)))


def required(code: str, arch: str = "sm_86", product_class: str | None = None) -> list[int | None]:
    """The stall that each instruction needs, None where it is never called reducible."""
    found = {stall.position: stall.required for stall in analysed(code, arch, product_class)}
    count = len(sass(code, arch).instructions)
    return [found.get(position) for position in range(count)]


def loose(*texts: str, stall: int = 9) -> str:
    """Give every instruction the same long stall, and an end."""
    lines = [text if text.startswith("[") else f"[B------:R-:W-:-:S{stall:02d}] {text}"
             for text in texts]  # fmt: skip
    return "\n".join([*lines, "[B------:R-:W-:-:S05] EXIT"])


FFMA = "FFMA R0, R1, R2, R3"
OTHER = "FFMA R9, R10, R11, R12"


@pytest.mark.parametrize(
    ("arch", "producer", "dependent", "needs", "independent", "alone"),
    [
        # One row per family: what a dependent instruction needs, what an independent one does.
        ("sm_86", FFMA, "FFMA R4, R0, R1, R2", 4, OTHER, 1),
        ("sm_86", "IMAD R0, R1, R2, R3", "IMAD R4, R0, R1, R2", 4, "IMAD R9, R10, R11, R12", 2),
        ("sm_86", "IADD3 R0, R1, R2, R3", "IADD3 R4, R0, R1, R2", 4, "IADD3 R9, R10, R11, RZ", 2),
        ("sm_86", "HFMA2 R0, R1, R2, R3", "HFMA2 R4, R0, R1, R2", 4, "HFMA2 R9, R10, R11, R12", 2),
        ("sm_90", "DFMA R0, R2, R4, R6", "DFMA R8, R0, R2, R4", 8, "DFMA R20, R22, R24, R26", 2),
        ("sm_80", "HMMA.16816.F32 R0, R4, R8, R0", "FADD R30, R0, R31", 15,
         "HMMA.16816.F32 R12, R16, R20, R12", 8),
        ("sm_80", "IMMA.16816.S8.S8 R0, R4.ROW, R8.COL, R0", "IMAD R30, R0, R31, R32", 15,
         "IMMA.16816.S8.S8 R12, R16.ROW, R20.COL, R12", 4),
    ],
)  # fmt: skip
def test_independence_by_opcode_family(
    arch: str, producer: str, dependent: str, needs: int, independent: str, alone: int
) -> None:
    assert required(loose(producer, dependent, stall=15), arch)[0] == needs
    assert not analysed(loose(producer, dependent, stall=needs), arch)[0].is_independent
    assert required(loose(producer, independent, stall=15), arch)[0] == alone
    assert analysed(loose(producer, independent, stall=needs), arch)[0].is_independent


@pytest.mark.parametrize(
    "text", ["MUFU.RCP R0, R1", "LDS R0, [R1]", "LDG.E R0, [R2.64]", "DFMA R0, R2, R4, R6"]
)
def test_the_stall_of_an_instruction_of_variable_latency_is_never_called_reducible(
    text: str,
) -> None:
    assert required(loose(f"[B------:R-:W0:-:S09] {text}", OTHER))[0] is None


def test_a_matrix_product_needs_its_latency_over_several_instructions() -> None:
    code = loose(
        "HMMA.16816.F32 R0, R4, R8, R0",
        "FFMA R40, R41, R42, R43",
        "FFMA R44, R41, R42, R43",
        "FADD R30, R0, R31",
        stall=15,
    )
    assert sum(cycles or 0 for cycles in required(code, "sm_80")[:3]) == 24


def test_the_pipe_of_a_geforce_holds_a_matrix_product_longer_than_its_dependences() -> None:
    code = loose("HMMA.16816.F16 R0, R4, R8, R0", "HMMA.16816.F16 R12, R16, R20, R12", stall=15)
    assert required(code, "sm_86", "geforce")[0] == 15
    assert analysed(code, "sm_86", "geforce")[0].is_independent


def test_a_result_goes_to_another_pipe_a_cycle_later() -> None:
    assert required(loose(FFMA, "IADD3 R4, R0, R1, RZ"))[0] == 5


def test_a_predicate_needs_longer_as_a_guard_than_as_an_operand() -> None:
    compare = "ISETP.GE.AND P0, PT, R1, R2, PT"
    assert required(loose(compare, "@P0 MOV R4, R5", stall=15))[0] == 13
    assert required(loose(compare, "SEL R4, R5, R6, P0", stall=15))[0] == 4


def test_a_uniform_result_is_followed() -> None:
    code = loose("UIADD3 UR4, UR5, 0x1, URZ", "IADD3 R4, R5, UR4, RZ")
    assert required(code)[0] == 6


def test_the_second_register_of_a_pair_counts() -> None:
    code = loose("IMAD.WIDE R2, R4, R5, R6", "IADD3 R9, R3, R10, RZ")
    assert required(code)[0] == 5


def test_independent_instructions_in_between_take_over_the_distance() -> None:
    assert required(loose(FFMA, OTHER, "FFMA R4, R0, R1, R2"))[:2] == [1, 3]


def test_a_value_that_the_next_iteration_needs_holds_the_stall() -> None:
    code = """
        .L_top:
        [B------:R-:W-:-:S09] FFMA R8, R9, R10, R11
        [B------:R-:W-:-:S09] FFMA R0, R1, R2, R0
        [B------:R-:W-:-:S05] @P0 BRA `(.L_top)
        [B------:R-:W-:-:S05] EXIT
    """
    # R0 comes round after 1 + 9 + 5 cycles where 4 would do; the one before the branch is kept.
    assert required(code)[:2] == [1, 9]
    last = """
        .L_top:
        [B------:R-:W-:-:S01] FFMA R8, R0, R10, R11
        [B------:R-:W-:-:S04] FFMA R0, R1, R2, R3
        [B------:R-:W-:-:S01] @P0 BRA `(.L_top)
        [B------:R-:W-:-:S05] EXIT
    """
    assert required(last)[1] == 4


def test_every_path_to_a_reader_counts() -> None:
    code = """
        [B------:R-:W-:-:S09] FFMA R0, R1, R2, R3
        [B------:R-:W-:-:S09] FFMA R8, R9, R10, R11
        [B------:R-:W-:-:S01] @P0 BRA `(.L_use)
        [B------:R-:W-:-:S09] FFMA R12, R9, R10, R11
        .L_use:
        [B------:R-:W-:-:S09] FADD R4, R0, R5
        [B------:R-:W-:-:S05] EXIT
    """
    assert required(code)[0] == 1  # what stands before the branch keeps its 9 cycles
    short = code.replace("S09] FFMA R8", "S01] FFMA R8")
    assert required(short)[0] == 2  # 2 + 1 + 1 over the branch that is taken


def test_a_register_that_is_written_again_keeps_the_order() -> None:
    code = loose("HMMA.1688.F32 R0, R4, R8, R0", "FADD R0, R20, R21", stall=15)
    assert required(code, "sm_80")[0] == 13  # 16 - 4 + 1


def test_a_load_into_an_operand_waits_a_cycle() -> None:
    load = "[B------:R-:W0:-:S02] LDS R1, [R20]"
    assert required(loose(FFMA, load))[0] == 2
    assert required(loose(OTHER, load))[0] == 1


def test_what_a_load_may_still_read_is_not_overwritten_earlier() -> None:
    unguarded = loose("[B------:R-:W-:-:S02] STG.E [R2.64], R4", OTHER, "FFMA R4, R5, R6, R7")
    assert required(unguarded)[1] == 9
    waited = loose(
        "[B------:R1:W-:-:S02] STG.E [R2.64], R4",
        OTHER,
        "[B-1----:R-:W-:-:S09] FFMA R4, R5, R6, R7",
    )
    assert required(waited)[1] == 1


def test_a_scoreboard_is_waited_for_from_the_second_cycle_on() -> None:
    code = loose(
        "[B------:R-:W0:-:S01] LDS R0, [R20]", OTHER, "[B0-----:R-:W-:-:S09] FADD R4, R0, R5"
    )
    assert required(code)[1] == 1
    late = loose(
        "[B------:R-:W0:-:S02] LDS R0, [R20]", "[B0-----:R-:W-:-:S09] FADD R4, R0, R5", OTHER
    )
    assert required(late)[1] == 1


def test_what_stands_before_a_barrier_or_a_branch_is_kept() -> None:
    for last in ("BAR.SYNC.DEFER_BLOCKING 0x0", "BSYNC B0", "WARPSYNC R40", "CALL.ABS.NOINC `(f)"):
        assert required(loose(FFMA, last))[0] == 9


def test_an_unknown_opcode_is_never_shortened_and_keeps_what_it_may_read() -> None:
    code = loose("FFMA R8, R1, R2, R3", OTHER, "FROBNICATE R4, R8", "FADD R5, R4, R6")
    assert required(code) == [9, 9, None, 9, None]
    assert required(loose(FFMA, "FFMA R13, R1, R2, R3", "FROBNICATE R4, R0"))[0] == 9


def test_an_architecture_without_timing_gives_no_saving() -> None:
    assert analysed(loose(FFMA, OTHER), "sm_99") == []


# Rows of compiled kernels

PRODUCTS = sorted(
    path.name.removesuffix(".sm_86.cubin")
    for pattern in ("*gemm*.sm_86.cubin", "flash*.sm_86.cubin")
    for path in (KERNELS / "cubin").glob(pattern)
)
COMPILED = [(stem, "sm_86") for stem in PRODUCTS] + [
    (stem, arch)
    for stem in ("hgemm_staged", "igemm", "sgemm_register", "flash_attention")
    for arch in ("sm_75", "sm_80", "sm_90", "sm_120")
]


@pytest.mark.parametrize(("stem", "arch"), COMPILED)
def test_the_compiler_leaves_no_slack_on_products(stem: str, arch: str) -> None:
    found = dependences_of(only(stem, arch))
    for opcode in ("FFMA", "HMMA", "IMMA", "DFMA"):
        assert found.reducible_cycles(opcode) == 0, opcode
        assert found.largest_slack(opcode) == 0
    total = sum(row.reducible_cycles for row in found.rows or ())
    assert found.issue_cycles is not None and total <= 0.03 * found.issue_cycles


def test_a_loosened_kernel_shows_its_slack() -> None:
    found = dependences_of(only("sgemm_register", folder="loosened"), "geforce")
    (row,) = [row for row in found.rows or () if row.opcode == "FFMA" and row.stall == 4]
    assert row.count == 512
    assert row.independent > 490
    assert row.required == 1
    assert row.largest_slack == 3
    untouched = dependences_of(only("sgemm_register"), "geforce")
    assert untouched.issue_cycles is not None and found.issue_cycles is not None
    added = found.issue_cycles - untouched.issue_cycles
    assert 0.95 * added < row.reducible_cycles <= added


def test_nothing_depends_on_an_instruction_behind_its_reach() -> None:
    between = "\n".join(
        f"[B------:R-:W-:-:S04] IADD3 R{40 + n}, R{80 + n}, 0x1, RZ" for n in range(40)
    )
    function = sass(
        f"""
        [B------:R-:W0:-:S02] LDG.E R0, [R2.64]
        {between}
        [B------:R-:W-:-:S04] FFMA R4, R0, R0, R0
        [B------:R-:W-:-:S05] EXIT
        """
    )
    accesses = Accesses(function.instructions, operands())
    timing = TableTiming(table(), function.arch)
    steps = Steps(control_flow(function), accesses, timing)
    assert list(constraints_from(steps, 0, timing.reach)) == []


def test_a_pipe_that_is_taken_for_longer_than_any_latency_holds_stalls_far_behind() -> None:
    between = "\n".join(
        f"[B------:R-:W-:-:S02] FMUL R{160 + n}, R{200 + n}, R{200 + n}" for n in range(40)
    )
    function = sass(
        f"""
        .L_top:
        [B------:R-:W-:-:S02] HGMMA.64x192x16.F32 R24, gdesc[UR4], R24, gsb0
        {between}
        [B------:R-:W-:-:S02] FMUL R25, R24, R24
        [B------:R-:W-:-:S05] BRA `(.L_top)
        """,
        "sm_90",
    )
    steps = Steps(
        control_flow(function),
        Accesses(function.instructions, operands()),
        TableTiming(table(), "sm_90"),
    )
    assert steps.reach > steps.timing.reach
    positions = range(len(function.instructions))
    assert loose_stalls(steps, positions) == [s for s in stalls(steps, positions) if s.slack]
    assert loose_stalls(steps, positions) == []


SOME = sorted([*KERNELS.glob("loosened/*.cubin"), *KERNELS.glob("cubin/[ceirs]*.sm_86.cubin")])


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.stem)
def test_the_loose_stalls_alone_are_those_of_all(path: Path) -> None:
    stem, arch, _ = path.name.split(".")
    for function in functions(stem, arch, path.parent.name).values():
        if tile_of(function) is not None:
            found = dependences_of(function)
            assert found.loose == tuple(stall for stall in found.stalls or () if stall.slack)


def test_what_the_pipe_takes_anyway_is_no_slack() -> None:
    found = dependences_of(only("igemm", folder="loosened"), "geforce")
    assert found.reducible_cycles("IMMA") == 0
    assert any(row.independent for row in found.rows or () if row.opcode == "IMMA")


def test_a_row_names_the_addresses_that_it_rests_on() -> None:
    found = dependences_of(only("igemm_fat_block", folder="loosened"), "geforce")
    (row,) = [row for row in found.rows or () if row.opcode == "IMMA" and row.stall == 12]
    assert row.required == 8
    assert set(row.reducible_addresses) <= set(row.addresses)
    assert row.reducible_addresses and len(row.addresses) == row.count


def test_without_control_words_nothing_is_said_about_stalls() -> None:
    code = """
        .L_top:
        LDG.E R4, [R2.64]
        FFMA R0, R4, R5, R0
        @P0 BRA `(.L_top)
        EXIT
    """
    found = dependences_of(sass(code))
    assert found.rows is None and found.waits is None and found.issue_cycles is None
    assert found.reducible_cycles("FFMA") is None
    assert found.carried.cycles == 4


# Chains


@pytest.mark.parametrize(
    ("stem", "cycles"),
    [
        ("chain", 16 * 4),  # one chain of 16 FFMA
        ("four_chains", 4 * 4),  # the same 16 in four chains
        ("sgemm_register", 8 * 4),  # each sum takes eight products
        ("hgemm_staged", 2 * 24),  # and here two matrix products
        ("igemm", 24),
    ],
)
def test_the_loop_carried_chain(stem: str, cycles: int) -> None:
    assert dependences_of(only(stem)).carried.cycles == cycles


def test_the_chain_names_its_instructions() -> None:
    chain = dependences_of(only("chain")).carried
    assert len(chain.addresses) == 16
    opcodes = {i.opcode for i in only("chain").instructions if i.address in chain.addresses}
    assert opcodes == {"FFMA"}


def test_an_inner_loop_lengthens_the_chain_by_its_trips() -> None:
    code = """
        [B------:R-:W-:-:S01] MOV R9, RZ
        .L_tile:
        [B------:R-:W0:-:S02] LDG.E R4, [R2.64]
        [B------:R-:W-:-:S04] MOV R8, RZ
        .L_k:
        [B0-----:R-:W-:-:S04] FFMA R0, R4, R5, R0
        [B------:R-:W-:-:S04] IADD3 R8, R8, 0x1, RZ
        [B------:R-:W-:-:S13] ISETP.LT.AND P0, PT, R8, 0x10, PT
        [B------:R-:W-:-:S05] @P0 BRA `(.L_k)
        [B------:R-:W-:-:S04] IADD3 R9, R9, 0x10, RZ
        [B------:R-:W-:-:S13] ISETP.LT.AND P1, PT, R9, c[0x0][0x160], PT
        [B------:R-:W-:-:S05] @P1 BRA `(.L_tile)
        [B------:R-:W-:-:S05] EXIT
    """
    found = dependences_of(sass(code))
    assert found.carried.cycles == 16 * 4
    assert found.carried.is_exact
    assert "LDG" in found.critical.unknown
    assert found.issue_cycles == 2 + 4 + 16 * 26 + 22


# Waits, loads in flight, staging


def test_a_wait_says_how_long_ago_the_load_was_issued() -> None:
    code = """
        .L_top:
        [B------:R-:W0:-:S02] LDG.E R4, [R2.64]
        [B------:R-:W-:-:S01] FFMA R8, R9, R10, R8
        [B------:R-:W-:-:S04] FFMA R9, R9, R10, R9
        [B0-----:R-:W-:-:S04] FFMA R0, R4, R5, R0
        [B------:R-:W-:-:S05] @P0 BRA `(.L_top)
        [B------:R-:W-:-:S05] EXIT
    """
    (wait,) = dependences_of(sass(code)).waits or ()
    assert (wait.address, wait.scoreboard) == (0x30, 0)
    assert (wait.producers, wait.opcodes) == ((0x00,), ("LDG",))
    assert (wait.cycles, wait.instructions) == (7, 2)


def test_a_load_that_the_next_iteration_waits_for_is_found() -> None:
    code = """
        .L_top:
        [B0-----:R-:W-:-:S04] FFMA R0, R4, R5, R0
        [B------:R-:W0:-:S02] LDG.E R4, [R2.64]
        [B------:R-:W-:-:S05] @P0 BRA `(.L_top)
        [B------:R-:W-:-:S05] EXIT
    """
    (wait,) = dependences_of(sass(code)).waits or ()
    assert (wait.address, wait.cycles, wait.instructions) == (0x00, 7, 1)


@pytest.mark.parametrize(
    ("stem", "loads", "size"),
    [
        ("hgemm_staged", 4, 64),
        ("hgemm_cp_async", 4, 64),
        ("hgemm_cp_async_4", 12, 192),  # four stages, three of them under way
        ("pointer_chase", 1, 4),
    ],
)
def test_loads_in_flight(stem: str, loads: int, size: int) -> None:
    found = dependences_of(only(stem)).in_flight
    assert (found.loads, found.bytes_per_thread) == (loads, size)


@pytest.mark.parametrize(
    ("stem", "stages"),
    [
        ("hgemm_staged", True),
        ("hgemm_prefetch", True),
        ("sgemm_load_loop", True),
        ("hgemm_cp_async", False),
        ("sgemm_naive", False),
        ("stencil7_march", False),
    ],
)
def test_staging_of_global_loads_through_shared_memory(stem: str, stages: bool) -> None:
    assert dependences_of(only(stem)).stages_global_through_shared == stages


def test_staging_is_followed_through_conversions_into_the_next_iteration() -> None:
    code = """
        .L_top:
        STS [R20], R6
        LDG.E.U8 R4, [R2.64]
        I2FP.F32.S32 R5, R4
        FMUL R6, R5, R7
        @P0 BRA `(.L_top)
        EXIT
    """
    assert dependences_of(sass(code)).staged_stores == (0x00,)


def test_a_value_used_as_an_address_is_no_staging() -> None:
    code = """
        .L_top:
        LDG.E R4, [R2.64]
        STS [R4], R9
        @P0 BRA `(.L_top)
        EXIT
    """
    assert dependences_of(sass(code)).staged_stores == ()


@pytest.mark.parametrize(
    ("stem", "tiles"),
    [
        ("hgemm_30k", 1),
        ("sgemm_four_tiles", 4),  # unrolled by the compiler: eight barriers
        ("sgemm_double_buffered", 1),
        ("hgemm_cp_async", 1),
        ("hgemm_many_barriers", 1),  # six barriers for one tile
        ("nbody", 1),
        ("sgemm_naive", 1),  # none at all counts as one
    ],
)
def test_tiles_of_an_iteration(stem: str, tiles: int) -> None:
    assert dependences_of(only(stem)).tiles == tiles
