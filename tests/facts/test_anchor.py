"""Counts anchored on the work of the problem: which loop is scaled, and by how much."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.accesses import collect
from kneck.facts.anchor import (
    Anchor,
    byte_anchor,
    flop_anchor,
    loop_regions,
    scale_accesses,
    scaled,
)
from kneck.facts.emulator.emulate import Emulation
from kneck.facts.executed import from_emulation
from kneck.facts.spans import exactly
from kneck.parsers.listing import Instruction

from .small_kernels import ARRAY, THREAD, run

TRIPS = 5
LOOP = (  # five times round: two multiply-adds and a load
    THREAD,
    "IMAD R2, R0, 0x4, RZ",
    ARRAY,
    "MOV R4, RZ",
    ".L_1: LDG.E R8, [R2.64]",
    "FFMA R9, R8, R8, R9",
    "FFMA R10, R8, R8, R10",
    "IADD3 R2, R2, 0x80, RZ",
    "IADD3 R4, R4, 0x1, RZ",
    f"ISETP.GE.AND P0, PT, R4, 0x{TRIPS:x}, PT",
    "@!P0 BRA `(.L_1)",
)
FIRST, LAST = 4 * 16, 10 * 16
PER_TRIP = 2 * 64  # two FFMA of 32 lanes


def flops_of(instruction: Instruction) -> float | None:
    return 64.0 if instruction.opcode == "FFMA" else None


def anchored(emulation: Emulation, wanted: float) -> Anchor | None:
    return flop_anchor(emulation, from_emulation(emulation).counts, flops_of, wanted)


def test_a_loop_is_what_a_jump_backwards_spans() -> None:
    assert loop_regions(run(*LOOP)) == [(FIRST, LAST)]
    assert loop_regions(run("FFMA R9, R8, R8, R9")) == []


def test_the_loop_runs_as_often_as_the_operations_ask_for() -> None:
    found = anchored(run(*LOOP), wanted=100 * PER_TRIP)
    assert found is not None
    assert found.region == (FIRST, LAST)
    assert found.scale == pytest.approx(100 / TRIPS)
    assert found.ratio == pytest.approx(TRIPS / 100)


def test_operations_outside_of_the_loop_are_taken_off_first() -> None:
    found = anchored(run("FFMA R12, R8, R8, R12", *LOOP), wanted=64 + 100 * PER_TRIP)
    assert found is not None and found.scale == pytest.approx(100 / TRIPS)


def test_less_work_than_stands_outside_of_the_loop_refutes_the_anchor() -> None:
    assert anchored(run("FFMA R12, R8, R8, R12", *LOOP), wanted=10) is None


def test_code_that_computes_nothing_has_no_anchor() -> None:
    assert anchored(run(THREAD, "IMAD R2, R0, 0x4, RZ"), wanted=1e6) is None
    assert anchored(run(*LOOP), wanted=0) is None


def test_without_a_loop_nothing_is_scaled() -> None:
    found = anchored(run("FFMA R9, R8, R8, R9"), wanted=6400)
    assert found == Anchor(None, 1.0, 64.0, 6400)


def test_of_nested_loops_the_inner_one_with_the_same_work_is_scaled() -> None:
    outer = (
        "MOV R6, RZ",
        f".L_0: {LOOP[0]}",
        *LOOP[1:],
        "IADD3 R6, R6, 0x1, RZ",
        "ISETP.GE.AND P1, PT, R6, 0x2, PT",
        "@!P1 BRA `(.L_0)",
    )
    emulation = run(*outer)
    assert len(loop_regions(emulation)) == 2
    found = anchored(emulation, wanted=1000 * PER_TRIP)
    assert found is not None and found.region == (FIRST + 16, LAST + 16)


def test_special_functions_may_be_counted_as_one_operation_each() -> None:
    lines = [line.replace("FFMA R10, R8, R8, R10", "MUFU.RCP R10, R8") for line in LOOP]
    found = anchored(run(*lines), wanted=100 * 32)
    assert found is not None
    assert found.most == pytest.approx(100 * 32 / (TRIPS * 32))  # one per lane and iteration


def test_bytes_anchor_what_only_moves_data() -> None:
    emulation = run(*LOOP)
    found = byte_anchor(emulation, collect(emulation), wanted=128 * 40)
    assert found is not None
    assert found.scale == pytest.approx(40 / TRIPS)


def test_places_that_are_data_anchor_nothing() -> None:
    emulation = run(*LOOP)
    (access,) = collect(emulation)
    assert byte_anchor(emulation, [replace(access, random_lanes={1: 8.0})], wanted=1e6) is None


@given(st.floats(0.1, 1000.0), st.floats(0.0, 0.5))
def test_only_counts_of_the_loop_are_scaled_and_get_a_spread(scale: float, spread: float) -> None:
    counts = {0: exactly(1.0), FIRST: exactly(5.0), LAST: exactly(5.0), LAST + 16: exactly(1.0)}
    found = scaled(counts, Anchor((FIRST, LAST), scale, 1.0, 1.0), spread)
    assert found[0] == found[LAST + 16] == exactly(1.0)
    for address in (FIRST, LAST):
        span = found[address]
        assert span.value == pytest.approx(5 * scale)
        assert (span.low, span.high) == pytest.approx(
            (span.value * (1 - spread), span.value * (1 + spread))
        )


@given(st.floats(0.1, 1000.0))
def test_accesses_of_the_loop_are_scaled_alike_and_keep_their_shape(scale: float) -> None:
    emulation = run(*LOOP)
    (before,) = collect(emulation)
    (after,) = scale_accesses([before], Anchor((FIRST, LAST), scale, 1.0, 1.0))
    assert after.executions == pytest.approx(before.executions * scale)
    assert after.bytes == pytest.approx(before.bytes * scale)
    assert after.sectors_per_request == pytest.approx(before.sectors_per_request)
    assert scale_accesses([before], Anchor((0, 16), scale, 1.0, 1.0)) == (before,)
