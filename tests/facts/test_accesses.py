"""What lane addresses cost: rules against measured patterns, and laws that hold for all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kneck.facts.accesses import Access
from kneck.facts.wavefronts import (
    bank_wavefronts,
    copy_requests,
    distinct,
    matrix_wavefronts,
    same_bank_lanes,
    stage_wavefronts,
)

from ..truth.analysis import work_of
from ..truth.jobs import bank_jobs

MEASURED = Path(__file__).parents[1] / "truth" / "measured" / "h200-banks.json"
WARPS = 132 * 8  # that ran each pattern
ALL = np.ones((1, 32), np.bool_)
# instruction: (wavefronts of a warp beside it, times that it runs, bytes per lane)
SHARED = {
    "lds": (17.125, 1, 4), "lds64": (17.125, 1, 8), "lds128": (17.125, 4, 16),
    "sts": (3.125, 4, 4), "sts64": (3.125, 4, 8), "sts128": (3.125, 4, 16),
}  # fmt: skip
GLOBAL = {"ldg": (4, 1, 4), "ldg64": (3, 1, 8), "ldg128": (3, 1, 16)}
Lanes = NDArray[np.uint64]


@cache
def patterns() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Pair each pattern with its counters."""
    return list(zip(bank_jobs(), json.loads(MEASURED.read_text()), strict=True))


def cases(kernel: str) -> list[tuple[str, Lanes, Lanes, dict[str, float]]]:
    """Give pattern, two rows of offsets, and the counters of each warp."""
    found = []
    for job, row in patterns():
        if job["name"] == f"bank_{kernel}":
            table = np.array(job["parameters"][0]["value"], np.uint64)
            numbers = {k: v / WARPS for k, v in row.items() if isinstance(v, int | float)}
            found.append((row["pattern"], table[None, :32], table[None, 32:], numbers))
    assert found
    return found


def places(*offsets: int) -> Lanes:
    """Repeat offsets over the lanes of a warp."""
    return np.resize(np.array(offsets, np.uint64), 32)[None]


@pytest.mark.parametrize("kernel", SHARED)
def test_wavefronts_of_shared_memory_are_as_measured_for_every_pattern(kernel: str) -> None:
    beside, times, width = SHARED[kernel]
    for pattern, lanes, _, counters in cases(kernel):
        measured = (counters["l1tex__data_pipe_lsu_wavefronts_mem_shared"] - beside) / times
        assert bank_wavefronts(lanes, ALL, width, kernel.startswith("lds"))[0] == measured, pattern


def test_atomics_in_shared_memory_follow_each_other_on_one_bank() -> None:
    for pattern, lanes, _, counters in cases("atoms"):
        measured = (counters["l1tex__data_pipe_lsu_wavefronts_mem_shared"] - 2.125) / 64
        assert same_bank_lanes(lanes, ALL)[0] == measured, pattern


@pytest.mark.parametrize("kernel", GLOBAL)
def test_passes_of_l1_are_as_measured_for_every_regular_pattern(kernel: str) -> None:
    beside, times, width = GLOBAL[kernel]
    off = []
    for pattern, lanes, _, counters in cases(kernel):
        measured = (counters["l1tex__data_pipe_lsu_wavefronts"] - beside) / times
        found = stage_wavefronts(lanes, ALL, width)[0]
        if pattern.startswith("random"):
            off.append(found / measured)
        else:
            assert found == measured, pattern
    assert all(0.7 < ratio < 1.4 for ratio in off)
    assert 0.8 < np.mean(off) < 1.2


def test_copies_past_l1_ask_l2_as_measured() -> None:
    # Copies to one place overtake each other in this measurement, so only proportions count: to
    # rows of one line each, which need one request and four sectors per line.
    found = {
        pattern: (*copy_requests(sources, targets, ALL), counters)
        for pattern, targets, sources, counters in cases("copy_bypass")
    }
    base = found["rows8_dense"]
    assert (base[0][0], base[1][0]) == (4, 16)
    for pattern in ("rows8_pad16", "rows8_swizzled", "rows8_two_sectors_on", "rows4_dense"):
        requests, sent, counters = found[pattern]
        asked = counters["lts__t_requests_srcunit_tex"] / base[2]["lts__t_requests_srcunit_tex"]
        brought = (
            counters["l1tex__m_xbar2l1tex_read_sectors"]
            / base[2]["l1tex__m_xbar2l1tex_read_sectors"]
        )
        assert requests[0] / 4 == pytest.approx(asked, rel=0.03), pattern
        assert sent[0] / 16 == pytest.approx(brought, rel=0.04), pattern


def test_padding_by_half_a_sector_fetches_half_sectors_alone() -> None:
    dense = np.arange(32, dtype=np.uint64)[None] * np.uint64(16)
    padded = dense + dense // np.uint64(128) * np.uint64(16)
    assert copy_requests(dense, dense, ALL)[1][0] == 16
    assert copy_requests(dense, padded, ALL)[1][0] == 24


def test_eight_rows_of_a_matrix_conflict_by_their_pitch() -> None:
    lane = np.arange(32, dtype=np.uint64)[None]
    assert matrix_wavefronts(lane % np.uint64(8) * np.uint64(128), 1)[0] == 8
    assert matrix_wavefronts(lane * np.uint64(128), 4)[0] == 32
    assert matrix_wavefronts(lane * np.uint64(144), 4)[0] == 4


def test_a_load_that_all_lanes_share_takes_one_pass() -> None:
    assert bank_wavefronts(places(64), ALL, 4)[0] == 1
    assert bank_wavefronts(places(64), ALL, 8)[0] == 1
    assert stage_wavefronts(places(64), ALL, 4)[0] == 1


@given(
    st.lists(st.integers(0, 4095), min_size=32, max_size=32),
    st.lists(st.booleans(), min_size=32, max_size=32).filter(any),
    st.sampled_from([4, 8, 16]),
)
def test_wavefronts_lie_between_the_words_and_the_worst(
    words: list[int], used: list[bool], width: int
) -> None:
    active = np.array([used])
    lanes = np.array([words], np.uint64) * np.uint64(width)
    lanes = np.where(active, lanes, lanes[0, active[0].argmax()])
    ways = bank_wavefronts(lanes, active, width)[0]
    assert 1 <= ways <= int(active.sum()) * width // 4
    assert bank_wavefronts(lanes + np.uint64(128), active, width)[0] == ways
    passes = stage_wavefronts(lanes, active, width)[0]
    assert 1 <= passes <= int(active.sum()) * max(1, width // 4) * 2
    assert distinct(lanes >> np.uint64(5))[0] >= distinct(lanes >> np.uint64(7))[0]


@given(st.permutations(range(32)))
def test_the_order_of_lanes_changes_nothing_for_words(order: list[int]) -> None:
    lanes = np.array([[7 * lane % 61 for lane in range(32)]], np.uint64) * np.uint64(4)
    assert bank_wavefronts(lanes[:, order], ALL, 4)[0] == bank_wavefronts(lanes, ALL, 4)[0]


def accesses_of(name: str) -> Sequence[Access]:
    return work_of(name).work.work.accesses


def test_a_naive_transpose_stores_a_sector_per_lane() -> None:
    by_kind = {access.kind: access for access in accesses_of("transpose_naive")}
    assert by_kind["load"].sectors_per_request == 4
    assert by_kind["store"].sectors_per_request == 32
    assert not by_kind["store"].depends_on_data


def test_a_column_of_a_tile_conflicts_until_the_tile_is_padded() -> None:
    def ways(name: str) -> set[float | None]:
        return {a.conflict_ways for a in accesses_of(name) if a.space == "shared"}

    assert ways("transpose_conflict") == {1.0, 32.0}
    assert ways("transpose_padded") == {1.0}


def test_a_gather_is_an_interval_and_says_that_it_depends_on_data() -> None:
    random = [a for a in accesses_of("gather_index") if a.unknown_share]
    assert random
    for access in random:
        assert access.depends_on_data
        assert access.sectors.low < access.sectors.high == access.lanes
