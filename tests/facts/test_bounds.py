"""Bounds of hand-made work: each resource's time is its work over its rate."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.accesses import Access
from kneck.facts.bounds import Bound, Chip, Work, bounds, clock_ghz, pipe_cycles
from kneck.facts.executed import Executed
from kneck.facts.hardware import Architecture
from kneck.facts.instructions import InstructionTable
from kneck.facts.l2 import Traffic
from kneck.facts.pipes import PipeTable
from kneck.facts.spans import NOTHING, Span, exactly
from kneck.rules.hardware import load_architecture, load_instructions
from kneck.rules.hardware_files import shipped_folder
from kneck.rules.pipes import load_pipes

from .small_kernels import function_of

FOLDERS = [shipped_folder()]
SMS, GHZ = 132, 1.97
LANES = 4 * SMS  # sub-partitions
CHIP = Chip("h200", SMS, 1.98, "datacenter", 60 << 20, 4800.0)


@cache
def pipes() -> PipeTable:
    found = load_pipes("sm_90", FOLDERS)
    assert found is not None
    return found


@cache
def architecture() -> Architecture:
    found = load_architecture("sm_90", FOLDERS)
    assert found is not None
    return found


@cache
def table() -> InstructionTable:
    return load_instructions(FOLDERS)


def work(counts: dict[str, float | Span], accesses: tuple[Access, ...] = ()) -> Work:
    """Let instructions run so many times over the launch."""
    function = function_of(*counts)
    spans = {
        16 * n: value if isinstance(value, Span) else exactly(value)
        for n, value in enumerate(counts.values())
    }
    return Work(function, Executed(spans, "emulation"), accesses)


def of(some: Work, time_ms: float | None = None) -> dict[str, Bound]:
    found = bounds(some, CHIP, pipes(), table(), architecture(), time_ms)
    return {bound.resource: bound for bound in found}


def access(space: str, address: int = 0, **changes: Any) -> Access:
    given: dict[str, Any] = {
        "address": address, "mnemonic": "LDG", "opcode": "LDG", "space": space, "kind": "load",
        "width": 4, "executions": 1e6, "lanes": 32e6, "data_share": 0.0, "unknown_share": 0.0,
        "sectors": exactly(4e6), "lines": exactly(1e6), "requests": exactly(1e6),
        "wavefronts": exactly(1e6), "ideal_wavefronts": 1e6, "ideal_sectors": 4e6, "bytes": 128e6,
    }  # fmt: skip
    return Access(**{**given, **changes})


def ms(cycles: float, units: int) -> float:
    return cycles / (units * GHZ * 1e6)


def test_issue_takes_a_cycle_of_a_sub_partition_per_instruction() -> None:
    found = of(work({"FFMA R1, R2, R3, R4": 1e9, "MOV R1, R2": 5e8}))
    assert found["issue"].time_ms.value == pytest.approx(ms(1.5e9, LANES))
    assert found["issue"].side == "compute"


def test_pipes_take_their_own_cycles() -> None:
    found = of(
        work(
            {
                "FFMA R1, R2, R3, R4": 1e9,
                "MUFU.RCP R1, R2": 1e8,
                "LOP3.LUT R1, R2, R3, RZ, 0xc0, !PT": 1e8,
            }
        )
    )
    assert found["fma"].time_ms.value == pytest.approx(ms(1e9, LANES))
    assert found["xu"].time_ms.value == pytest.approx(ms(8e8, LANES))
    assert found["alu"].time_ms.value == pytest.approx(ms(2e8, LANES))


def test_a_heavy_multiply_add_fills_one_half_of_its_pipe() -> None:
    found = of(work({"IMAD R1, R2, R3, R4": 1e9}))
    assert found["fma_heavy"].time_ms.value == pytest.approx(2 * found["fma"].time_ms.value)


def test_memory_instructions_enter_one_per_cycle_and_sm_on_both_sides() -> None:
    found = of(work({"LDG.E R1, [R2.64]": 1e8}, (access("global", executions=1e8),)))
    assert found["lsu"].time_ms.value == pytest.approx(ms(1e8, SMS))
    assert found["l1_requests"].time_ms.value == pytest.approx(found["lsu"].time_ms.value)
    assert (found["lsu"].side, found["l1_requests"].side) == ("compute", "memory")


def test_conflicts_take_wavefronts_of_shared_memory() -> None:
    shared = access("shared", wavefronts=exactly(8e6), sectors=NOTHING, lines=NOTHING)
    found = of(work({"LDS R1, [R2]": 1e6}, (shared,)))
    assert found["shared"].time_ms.value == pytest.approx(ms(8e6, SMS))
    assert found["l1"].time_ms.value == pytest.approx(ms(8e6, SMS))


def test_a_shuffle_passes_the_stage_of_l1_once() -> None:
    found = of(
        work(
            {"SHFL.DOWN PT, R1, R2, 0x1, 0x1f": 1e6},
            (access("global", address=64, wavefronts=NOTHING),),
        )
    )
    assert found["l1"].time_ms.value == pytest.approx(ms(1e6, SMS))


def test_l2_and_dram_are_work_over_their_rates() -> None:
    path = pipes().l2["h200"]
    flow = Traffic(exactly(1e9), exactly(2e9), exactly(3e8), exactly(1e9), 6.4e10, 1e9)
    found = of(replace(work({"LDG.E R1, [R2.64]": 1.0}), traffic=flow))
    assert found["l2_tags"].time_ms.value == pytest.approx(1e9 / (path.tags_per_ns * 1e6))
    assert found["l2_read"].time_ms.value == pytest.approx(2e9 / (path.read_sectors_per_ns * 1e6))
    assert found["l2_write"].time_ms.value == pytest.approx(3e8 / (path.write_slots_per_ns * 1e6))
    dram = pipes().dram_gb_per_s["h200"]
    assert found["dram"].time_ms.value == pytest.approx(1e9 / (dram * 1e6))
    assert {found[name].group for name in ("l2_tags", "l2_read", "l2_write")} == {"l2"}


def test_bytes_of_the_problem_stand_in_where_no_access_tells() -> None:
    found = of(replace(work({"FFMA R1, R2, R3, R4": 1.0}), dram_bytes=4.8e9))
    assert found["dram"].time_ms.value == pytest.approx(
        4.8e9 / (pipes().dram_gb_per_s["h200"] * 1e6)
    )
    assert found["dram"].basis == "unique bytes of the problem"


def test_a_share_is_the_bound_over_the_time() -> None:
    some = work({"FFMA R1, R2, R3, R4": 1e9})
    share = of(some, 2.0)["issue"].share
    assert share is not None
    assert share.value == pytest.approx(of(some)["issue"].time_ms.value / 2)
    assert of(some)["issue"].share is None


def test_an_interval_of_counts_is_one_of_times() -> None:
    found = of(work({"FFMA R1, R2, R3, R4": Span(0.0, 1e9, 2e9)}))["fma"].time_ms
    assert (found.low, found.value, found.high) == pytest.approx(
        (0, ms(1e9, LANES), ms(2e9, LANES))
    )


def test_an_opcode_that_no_table_knows_is_named_and_still_issues() -> None:
    some = work({"FROBNICATE R1, R2": 1e6})
    used = pipe_cycles(some, pipes(), table(), architecture(), None)
    assert used.unknown == ("FROBNICATE",)
    assert used.issued.value == 1e6


def test_tensor_work_lowers_the_clock_once_it_is_a_part_of_the_time() -> None:
    clocks = pipes().clocks["h200"]
    some = work({"HMMA.16816.F32 R4, R8, R12, R4": 1e9})
    used = pipe_cycles(some, pipes(), table(), architecture(), None)
    assert clock_ghz(CHIP, clocks, used, 1.0, LANES) == clocks.tensor
    assert clock_ghz(CHIP, clocks, used, 1000.0, LANES) == clocks.plain
    assert clock_ghz(CHIP, clocks, used, None, LANES) == clocks.plain
    assert clock_ghz(CHIP, None, used, 1.0, LANES) == CHIP.boost_ghz


COUNT = st.floats(1e3, 1e9)


@given(COUNT, COUNT, st.floats(1.0, 10.0))
def test_more_work_never_lowers_a_bound_and_twice_the_work_takes_twice(
    multiply: float, load: float, factor: float
) -> None:
    def times(scale: float) -> dict[str, float]:
        some = work({"FFMA R1, R2, R3, R4": multiply * scale, "LDS R1, [R2]": load * scale})
        return {name: bound.time_ms.value for name, bound in of(some).items()}

    once, more = times(1.0), times(factor)
    assert once.keys() == more.keys()
    for name, time in once.items():
        assert more[name] == pytest.approx(time * factor)


@given(COUNT, COUNT)
def test_bounds_come_the_largest_first(one: float, two: float) -> None:
    found = list(of(work({"FFMA R1, R2, R3, R4": one, "MUFU.RCP R1, R2": two})).values())
    assert [b.time_ms.value for b in found] == sorted(
        (b.time_ms.value for b in found), reverse=True
    )
