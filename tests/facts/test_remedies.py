"""What a remedy leaves of the work, and the gain that follows, against kernels that have it."""

from __future__ import annotations

from functools import cache
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.engine.code_work import figures_of
from kneck.facts.bounds import Work
from kneck.facts.derive import derive
from kneck.facts.model import Fact, FactBase, Source, Value
from kneck.facts.remedies import REMEDIES, remade
from kneck.facts.remedy_draft import Figures, unchanged
from kneck.facts.remedy_facts import remedy_facts
from kneck.facts.remedy_gains import REMEDY_NAMES, gain_derivations

from ..truth.analysis import setting, work_of

THRESHOLD = 0.6


@cache
def figures() -> Figures:
    return figures_of(setting())


@cache
def after(name: str) -> dict[str, Work]:
    """Apply every remedy to a kernel of the measured set."""
    return remade(work_of(name).work, figures())


def largest(name: str, work: Work) -> float:
    return max(bound.time_ms.value for bound in work_of(name).bounds_of(work))


def fraction(name: str, remedy: str) -> float:
    """Give the largest bound after the remedy over the one before."""
    before = largest(name, unchanged(work_of(name).work).finished())
    return largest(name, after(name)[remedy]) / before


def wavefronts(work: Work, space: str = "shared") -> float:
    return sum(a.wavefronts.value for a in work.accesses if a.space == space)


def executions(work: Work, opcode: str) -> float:
    return sum(
        work.executed.counts[i.address].value
        for i in work.function.instructions
        if i.opcode == opcode and i.address in work.executed.counts
    )


def test_nothing_changed_is_the_work_as_it_was() -> None:
    found = work_of("transpose_conflict").work
    assert unchanged(found).finished() == found.work


# Each remedy against the kernel that has it applied


def test_without_conflicts_shared_memory_takes_what_the_padded_kernel_takes() -> None:
    base, padded = work_of("transpose_conflict").work.work, work_of("transpose_padded").work.work
    free = after("transpose_conflict")["conflict_free"]
    assert wavefronts(base) > 10 * wavefronts(padded)
    assert wavefronts(free) == pytest.approx(wavefronts(padded))


def test_coalesced_stores_reach_l2_as_those_of_the_tiled_transpose() -> None:
    tiled = work_of("transpose_padded").work.work
    found = after("transpose_naive")["coalesced"]
    assert found.traffic is not None and tiled.traffic is not None
    assert found.traffic.write_slots.value == pytest.approx(tiled.traffic.write_slots.value)
    assert found.traffic.tags.value == pytest.approx(tiled.traffic.tags.value, rel=0.05)


def test_whole_sectors_let_dram_move_no_more_than_is_asked_for() -> None:
    base, found = work_of("strided_read").work.work, after("strided_read")["coalesced"]
    asked = sum(access.bytes for access in base.accesses)
    assert base.traffic is not None and found.traffic is not None
    assert base.traffic.dram_bytes.value > 2 * asked
    assert found.traffic.dram_bytes.value == pytest.approx(asked)


def test_wider_loads_are_a_quarter_of_the_requests_for_the_same_bytes() -> None:
    base, wide = work_of("elementwise_saxpy").work.work, work_of("elementwise_vector").work.work
    found = after("elementwise_saxpy")["wider"]
    assert executions(found, "LDG") == pytest.approx(executions(base, "LDG") / 4)
    assert executions(found, "LDG") == pytest.approx(executions(wide, "LDG"))
    assert sum(a.bytes for a in found.accesses) == sum(a.bytes for a in base.accesses)


def test_without_spills_local_memory_is_not_touched() -> None:
    found = after("spill_capped")["no_spills"]
    assert not any(access.space == "local" for access in found.accesses)
    assert executions(found, "LDL") == executions(found, "STL") == 0
    assert executions(work_of("spill_capped").work.work, "LDL") > 0


def test_a_shuffle_takes_the_place_of_each_barrier() -> None:
    base = work_of("barrier_steps").work.work
    found = after("barrier_steps")["shuffled"]
    assert executions(found, "BAR") == 0
    assert executions(found, "STS") == 0
    assert executions(found, "LDS") <= executions(base, "BAR")


def test_with_full_lanes_as_much_runs_as_where_whole_warps_go_one_way() -> None:
    apart = work_of("divergent_warps").work.work.executed.total.value
    found = after("divergent_lanes")["full_lanes"].executed.total.value
    assert found == pytest.approx(apart, rel=0.1)
    assert work_of("divergent_lanes").work.work.executed.total.value > 3 * apart


def test_private_atomics_reach_shared_memory_instead_of_l2() -> None:
    found = after("histogram_global")["private_atomics"]
    assert not any(a.kind == "atomic" and a.space == "global" for a in found.accesses)
    base = work_of("histogram_global").work.work
    atomics = sum(a.executions for a in base.accesses if a.kind == "atomic")
    assert wavefronts(found) == pytest.approx(atomics * figures().random_ways)


def test_a_register_tile_loads_as_little_as_its_operations_need() -> None:
    found = work_of("sgemm_tiled").work
    tiled = after("sgemm_tiled")["register_tile"]
    products = executions(tiled, "FFMA")
    assert products == executions(found.work, "FFMA")
    assert executions(tiled, "LDS") == pytest.approx(products / figures().ops_per_load)


def test_a_row_of_outputs_loads_more_than_a_square_of_them() -> None:
    row, square = after("sgemm_tiled")["register_row"], after("sgemm_tiled")["register_tile"]
    base = work_of("sgemm_tiled").work.work
    assert executions(square, "LDS") < executions(row, "LDS") < executions(base, "LDS")


def test_what_is_read_once_asks_l2_for_distinct_bytes() -> None:
    found = after("stencil_space")["read_once"]
    base = work_of("stencil_space").work.work
    assert found.traffic is not None and base.traffic is not None
    assert found.traffic.read_sectors.value * 32 == pytest.approx(
        base.traffic.unique_bytes, rel=0.1
    )


@pytest.mark.parametrize(
    ("kernel", "remedy"),
    [
        ("transpose_padded", "conflict_free"),
        ("transpose_padded", "no_spills"),
        ("elementwise_vector", "wider"),
        ("divergent_warps", "full_lanes"),
        ("sgemm_vector", "register_tile"),
        ("sgemm_vector", "private_atomics"),
        ("elementwise_saxpy", "shuffled"),
        ("gather_index", "read_once"),
    ],
)
def test_a_remedy_that_changes_nothing_is_not_there(kernel: str, remedy: str) -> None:
    assert remedy not in after(kernel)


@pytest.mark.parametrize("kernel", ["sgemm_tiled", "transpose_naive", "spill_capped", "scan_steps"])
def test_no_remedy_makes_the_largest_bound_larger(kernel: str) -> None:
    assert after(kernel)
    for remedy in after(kernel):
        assert fraction(kernel, remedy) <= 1.0 + 1e-9, remedy


def test_remedies_as_facts_say_what_binds_then() -> None:
    found = work_of("transpose_naive")
    facts, missing = remedy_facts(found.work, found.bounds_of, figures())
    values = {fact.name: fact.value for fact in facts}
    assert values["after.coalesced.resource"] == "dram"
    assert float(values["after.coalesced.fraction"]) == pytest.approx(
        fraction("transpose_naive", "coalesced")
    )
    absent = {gap.name for gap in missing}
    assert "after.no_spills.fraction" in absent
    every = {f"after.{name}.{key}" for name in REMEDIES for key in ("fraction", "resource")}
    assert absent | values.keys() == every and not absent & values.keys()


def test_every_remedy_has_a_gain() -> None:
    assert set(REMEDY_NAMES) == set(REMEDIES)


# The gain that follows


def gains(time: float, bound: float, left: float, **more: Value) -> dict[str, float]:
    """Derive the gains of a remedy that leaves a part of the largest bound."""
    given: dict[str, Value] = {
        "baseline.time_ms": time,
        "bounds.largest.time_ms": bound,
        "method.saturation_fraction": THRESHOLD,
        "after.coalesced.fraction": left,
        **more,
    }
    source = Source("option", "test")
    base = FactBase({name: Fact(name, value, "", source) for name, value in given.items()})
    found = derive(base, gain_derivations())
    return {
        name.removeprefix("gain."): float(fact.value)
        for name, fact in found.facts.items()
        if name.startswith("gain.")
    }


def test_where_a_unit_sets_the_time_the_gain_lies_between_two_ends() -> None:
    # bound 0.8 of 1.0, 0.2 left of it: 0.2 + 0.2 unexplained, or 0.2 as well used as now
    found = gains(1.0, 0.8, 0.25)
    assert found["coalesced.low"] == pytest.approx(1 / 0.4 - 1)
    assert found["coalesced.high"] == pytest.approx(1 / 0.25 - 1)


def test_a_unit_is_not_promised_to_be_used_better_than_the_threshold() -> None:
    assert gains(1.0, 1.0, 0.25)["coalesced.low"] == pytest.approx(THRESHOLD / 0.25 - 1)


def test_where_waiting_sets_the_time_at_most_the_work_that_goes_is_saved() -> None:
    found = gains(1.0, 0.5, 0.4)
    assert found["coalesced.low"] == 0.0
    assert found["coalesced.high"] == pytest.approx(1 / (0.2 + 0.5) - 1)


def test_the_ceiling_is_the_bound_that_is_left() -> None:
    found = gains(1.0, 0.5, 0.4)
    assert found["coalesced.ceiling"] == pytest.approx(1 / 0.2 - 1)
    assert found["coalesced.filled"] == pytest.approx(THRESHOLD / 0.2 - 1)


@given(st.floats(0.01, 10.0), st.floats(0.01, 1.0), st.floats(0.001, 1.0))
def test_ranges_are_ordered_and_promise_nothing_beyond_the_ceiling(
    time: float, share: float, left: float
) -> None:
    found = gains(time, share * time, left)
    low, high, ceiling = (found[f"coalesced.{end}"] for end in ("low", "high", "ceiling"))
    assert -1e-9 <= low <= high + 1e-9
    assert high <= ceiling + 1e-6 * max(1.0, ceiling)
    assert high < inf


def test_without_bounds_conflicts_follow_from_their_ways_and_spills_from_reports() -> None:
    source = Source("option", "test")
    given = {
        "access.shared.conflict_ways": 4.0,
        "method.spill_gain_low": 0.3,
        "method.spill_gain_high": 1.8,
    }
    base = FactBase({name: Fact(name, value, "", source) for name, value in given.items()})
    found = derive(base, gain_derivations())
    assert (found.number("gain.conflict_free.low"), found.number("gain.conflict_free.high")) == (
        0,
        3,
    )
    assert (found.number("gain.no_spills.low"), found.number("gain.no_spills.high")) == (0.3, 1.8)
    assert found.number("gain.coalesced.high") is None
