"""Facts of emulated launches: what blocks share, what could be wider, lanes, bulk copies."""

from __future__ import annotations

from functools import cache

import pytest

from kneck.engine.code_work import figures_of
from kneck.facts.model import Value
from kneck.facts.work_facts import ACCESS_NAMES, work_facts

from ..truth.analysis import setting, work_of


@cache
def facts(name: str) -> dict[str, Value]:
    found = work_of(name)
    known, _ = work_facts(found.work, found.limits, figures_of(setting()).filled)
    return {fact.name: fact.value for fact in known}


@pytest.mark.parametrize(
    ("kernel", "reuse", "reread"),
    [
        # 16 x 16 threads: a row of A serves 16 of them; 128 blocks fetch each row, 128 each column
        ("sgemm_naive", 16, 128),
        # the same tiles loaded once by a block of 32 x 32, so that 64 blocks fetch each byte
        ("sgemm_tiled", 1, 64),
        # three passes over a row, the second and third served by caches of the SM
        ("softmax_passes", 3, 1),
        ("elementwise_saxpy", 1, 1),
        # blocks of 32 x 8 in one plane of seven points: two neighbours are other planes
        ("stencil_space", 1.85, 3.7),
    ],
)
def test_what_threads_of_a_block_share_and_what_blocks_fetch_again(
    kernel: str, reuse: float, reread: float
) -> None:
    found = facts(kernel)
    assert found["access.global.reuse_by_block"] == pytest.approx(reuse, rel=0.02)
    assert found["access.global.reread_factor"] == pytest.approx(reread, rel=0.02)


@pytest.mark.parametrize(
    ("kernel", "fraction"),
    [
        ("elementwise_saxpy", 1),  # words, lane beside lane
        ("elementwise_bytes", 1),
        ("elementwise_vector", 0),  # 16 bytes already
        ("rows_thread", 0),  # lanes are a row apart
        ("sgemm_register", 1),  # eight lanes fill a row of the tile, 32 bytes
        ("gather_index", 0.5),  # the indices; what they name is anywhere
    ],
)
def test_narrow_loads_that_fill_their_sectors_could_be_wider(kernel: str, fraction: float) -> None:
    assert facts(kernel)["access.global.widenable_fraction"] == pytest.approx(fraction)


def test_loads_of_one_lane_that_lie_side_by_side_are_counted() -> None:
    found = facts("rows_thread")
    assert found["access.global.merge_saved"] == 12  # 16 words of an unrolled loop in 4 loads
    assert found["access.merged_bytes"] == 16
    assert facts("elementwise_saxpy")["access.global.merge_saved"] == 0


def test_stores_are_no_loads_that_could_be_merged() -> None:
    # 64 results per thread are stored word by word, 16 bytes of them side by side
    assert facts("sgemm_vector")["access.global.merge_saved"] == 0


@pytest.mark.parametrize(
    ("kernel", "fraction"),
    [("divergent_warps", 1.0), ("divergent_lanes", 0.25), ("sgemm_naive", 1.0)],
)
def test_lanes_that_are_on_are_weighed_by_how_often_they_run(kernel: str, fraction: float) -> None:
    assert facts(kernel)["lanes.active_fraction"] == pytest.approx(fraction, abs=0.01)


@pytest.mark.parametrize("kernel", ["wgmma_serial", "wgmma_tensor"])
def test_a_barrier_of_bulk_copies_waits_for_one_tile(kernel: str) -> None:
    # 128 rows of A and of B, 64 halves each
    assert facts(kernel)["access.bulk.stage_bytes"] == 2 * 128 * 64 * 2


def test_what_a_kernel_does_not_do_does_not_apply() -> None:
    found = work_of("elementwise_vector")
    known, missing = work_facts(found.work, found.limits, figures_of(setting()).filled)
    absent = {gap.name for gap in missing if not gap.applies}
    assert "access.bulk.stage_bytes" in absent
    assert absent == set(ACCESS_NAMES) - {fact.name for fact in known}
