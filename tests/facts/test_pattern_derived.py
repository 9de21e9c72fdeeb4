"""What follows from code, launch and hardware: fill of the GPU, bytes under way, cliffs."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.derive import derive
from kneck.facts.model import Fact, FactBase, Source, Value
from kneck.facts.occupancy import occupancy
from kneck.facts.pattern_derived import pattern_derivations
from kneck.rules.hardware import load_architecture
from kneck.rules.hardware_files import shipped_folder

_FOUND = load_architecture("sm_86", [shipped_folder()])
assert _FOUND is not None
LIMITS = _FOUND.limits
STEPS = pattern_derivations(LIMITS)


def derived(known: dict[str, Value]) -> FactBase:
    here = Source("option", "test")
    return derive(FactBase({name: Fact(name, v, "", here) for name, v in known.items()}), STEPS)


def registers(per_thread: int, threads: int) -> FactBase:
    blocks = occupancy(LIMITS, per_thread, threads).blocks_per_sm
    return derived(
        {
            "arch.max_warps_per_sm": LIMITS.max_warps_per_sm,
            "occupancy.registers_per_thread": per_thread,
            "launch.threads": threads,
            "occupancy.blocks_per_sm": blocks,
        }
    )


def test_168_registers_of_128_threads_stand_at_the_edge_of_three_blocks() -> None:
    facts = registers(168, 128)
    assert facts.value("occupancy.registers_to_cliff") == 0
    assert registers(173, 128).number("occupancy.registers_to_cliff") == 255 - 173


@given(st.integers(8, 255), st.sampled_from([32, 64, 128, 256, 512]))
def test_the_registers_without_loss_are_the_most_at_these_blocks(
    per_thread: int, threads: int
) -> None:
    now = occupancy(LIMITS, per_thread, threads).blocks_per_sm
    most = registers(per_thread, threads).value("occupancy.registers_without_loss")
    if now == 0:
        assert most is None
        return
    assert isinstance(most, int)
    assert occupancy(LIMITS, max(most, per_thread), threads).blocks_per_sm == now
    if most < LIMITS.max_registers_per_thread:
        assert occupancy(LIMITS, most + 1, threads).blocks_per_sm < now


@given(st.integers(1, 5000), st.integers(1, 200))
def test_the_fill_is_the_mean_over_the_busiest_sm(blocks: int, sms: int) -> None:
    facts = derived({"launch.blocks": blocks, "device.sm_count": sms})
    busiest = facts.number("launch.blocks_per_busiest_sm")
    fill = facts.number("launch.sm_fill_fraction")
    assert busiest == math.ceil(blocks / sms)
    assert fill is not None and 0 < fill <= 1
    assert fill * busiest * sms == pytest.approx(blocks)


def test_170_blocks_on_84_sms_are_three_rounds_at_67_percent() -> None:
    facts = derived({"launch.blocks": 170, "device.sm_count": 84})
    assert facts.value("launch.blocks_per_busiest_sm") == 3
    assert facts.number("launch.sm_fill_fraction") == pytest.approx(0.675, abs=1e-3)


LATENCY: dict[str, Value] = {
    "arch.dram_latency_ns": 280.0,
    "method.latency_load_factor": 2,
    "roofline.peak_gb_per_s": 608.0,
    "device.sm_count": 48,
    "arch.threads_per_warp": 32,
}


def test_the_warps_that_the_bandwidth_needs_depend_on_the_width_of_the_loads() -> None:
    """Audit A15: 28 warps with 4-byte loads, 7 with 16-byte loads, without what load adds."""
    unloaded = {**LATENCY, "method.latency_load_factor": 1}
    for width, warps in ((4, 28), (16, 7)):
        facts = derived({**unloaded, "loads.bytes_in_flight": width})
        assert facts.value("latency.warps_needed") == warps


def test_a_latency_under_load_needs_no_factor() -> None:
    facts = derived({**LATENCY, "arch.loaded_dram_latency_ns": 580.0})
    assert facts.value("latency.ns") == 580.0
    assert derived(LATENCY).value("latency.ns") == 560.0


def test_an_architecture_without_a_latency_takes_the_assumed_one_and_says_so() -> None:
    known = {name: value for name, value in LATENCY.items() if name != "arch.dram_latency_ns"}
    fact = derived({**known, "method.dram_latency_ns": 280}).facts["latency.ns"]
    assert fact.value == 560.0
    assert "assumed" in fact.source.detail


def test_a_grid_of_few_blocks_leaves_fewer_warps_than_fit() -> None:
    facts = derived(
        {
            "launch.blocks": 96,
            "device.sm_count": 48,
            "launch.warps": 2,
            "occupancy.active_warps": 32,
        }
    )
    assert facts.value("launch.resident_warps") == 4


TILE: dict[str, Value] = {
    **LATENCY,
    "tile.instructions": 302,
    "tile.barriers": 2,
    "tile.stages_through_shared": True,
    "launch.resident_warps": 20,
    "arch.sub_partitions": 4,
    "device.boost_ghz": 1.77,
    "method.barrier_cycles": 30,
    "method.prefetch_cover_fraction": 0.5,
}


def test_waiting_is_what_barriers_and_the_exposed_latency_take() -> None:
    waiting = 560 * 1.77 + 2 * 30
    share = derived(TILE).number("tile.wait_fraction")
    assert share == pytest.approx(waiting / (waiting + 5 * 302))


def test_a_prefetched_tile_waits_for_its_barriers_only() -> None:
    share = derived({**TILE, "loop.cover_fraction": 1.0}).number("tile.wait_fraction")
    assert share == pytest.approx(60 / (60 + 5 * 302))


def test_the_slowest_pipe_counts_where_it_takes_longer_than_issuing() -> None:
    share = derived({**TILE, "loop.slowest_pipe_cycles": 1024.0}).number("tile.wait_fraction")
    waiting = 560 * 1.77 + 2 * 30
    assert share == pytest.approx(waiting / (waiting + 5 * 1024))
