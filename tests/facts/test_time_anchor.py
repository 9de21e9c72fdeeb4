"""Which counts the time leaves standing, and what it decides in the place of the others."""

from __future__ import annotations

import pytest

from kneck.facts.anchor import Anchor
from kneck.facts.time_anchor import DOUBT, REFUTED, UNEXPLAINED

from ..truth.analysis import truth, work_of

OPERATIONS = 64  # method.special_function_operations


def doubts(name: str) -> tuple[str, tuple[str, ...]]:
    """Give what the counts of a kernel rest on without its arguments, and why they may be wrong."""
    executed = work_of(name, False).work.work.executed
    return executed.basis, executed.doubts


@pytest.mark.parametrize("name", ["special_convert", "shared_vectors", "chase_shared"])
def test_operations_or_bytes_that_need_more_than_the_time_give_way_to_it(name: str) -> None:
    basis, why = doubts(name)
    assert basis == "time"
    assert REFUTED in why and DOUBT in why


@pytest.mark.parametrize("name", ["special_fast", "special_divide", "cache_async"])
def test_a_convention_that_leaves_most_of_the_time_unexplained_gives_way(name: str) -> None:
    basis, why = doubts(name)
    assert basis == "time"
    assert UNEXPLAINED in why


@pytest.mark.parametrize("name", ["rows_warp", "barrier_steps", "constant_stream"])
def test_work_that_is_no_convention_stands(name: str) -> None:
    basis, why = doubts(name)
    assert basis == "anchor"
    assert not {REFUTED, UNEXPLAINED} & set(why)


def test_what_the_time_decides_fills_the_time_and_no_more() -> None:
    found = work_of("special_convert", False)
    shares = [bound.share.value for bound in found.limits if bound.share is not None]
    assert max(shares) == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(
    ("special", "of_bytes", "exact"),
    [(0.0, False, True), (1.0, False, True), (2.0, False, False), (0.0, True, False)],
)
def test_bytes_and_operations_around_special_functions_are_no_exact_work(
    special: float, of_bytes: bool, exact: bool
) -> None:
    anchor = Anchor((0, 16), 1.0, 100.0, 100.0, 0.0, special, of_bytes)
    assert anchor.is_exact(OPERATIONS) is exact


def test_a_loop_that_goes_around_in_a_small_array_finds_it_in_the_first_cache() -> None:
    around = work_of("cache_words").work
    rates = [hit.rate for hit in around.hits.values()]
    assert rates and min(rates) > 0.85
    counters = truth().measured["cache_words"].counters
    asked = counters["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]
    missed = counters["l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum"]
    assert sum(rates) / len(rates) == pytest.approx(1 - missed / asked, abs=0.05)


def test_a_round_that_the_first_cache_cannot_hold_is_fetched_again() -> None:
    assert max(hit.rate for hit in work_of("cache_read").work.hits.values()) == 0


def test_what_data_decides_may_touch_nothing() -> None:
    found = work_of("sparse_thread", False).work.work
    decided = [a for a in found.accesses if found.executed.counts[a.address].low == 0]
    assert decided
    assert all(access.sectors.low == 0 < access.sectors.value for access in decided)


def test_rows_of_a_sparse_matrix_are_said_to_be_taken_as_even() -> None:
    assert any("equally long" in why for why in work_of("sparse_thread").work.work.executed.doubts)
