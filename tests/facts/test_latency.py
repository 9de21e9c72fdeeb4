"""The chain of one warp: what it waits for, how blocks fill the chip, which cause is named."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.latency import IDLE_SMS, LAST_WAVE, LAUNCH, SAME_ADDRESS, Latency, Slots, latency
from kneck.facts.pipes import PipeTable
from kneck.rules.hardware_files import shipped_folder
from kneck.rules.pipes import load_pipes

from ..truth.analysis import truth, work_of

SMS, GHZ = 132, 1.98


@cache
def pipes() -> PipeTable:
    found = load_pipes("sm_90", [shipped_folder()])
    assert found is not None
    return found


@cache
def chain(name: str) -> Latency:
    found = latency(work_of(name).work, pipes(), SMS, GHZ)
    assert found is not None
    return found


def measured_ms(name: str) -> float:
    return truth().measured[name].time_ms


# How the grid meets the chip


@pytest.mark.parametrize(
    ("blocks", "per_sm", "rounds", "fill", "idle"),
    [
        (132, 1, 1, 1.0, 0.0),
        (133, 1, 2, 1 / 132, 0.0),
        (264, 2, 1, 1.0, 0.0),
        (66, 1, 1, 0.5, 0.5),
        (1, 8, 1, 1 / 1056, 131 / 132),
    ],
)
def test_blocks_follow_each_other_in_rounds(
    blocks: int, per_sm: int, rounds: int, fill: float, idle: float
) -> None:
    slots = Slots(blocks, per_sm, SMS)
    assert slots.rounds == rounds
    assert slots.tail_fill == pytest.approx(fill)
    assert slots.idle_sms == pytest.approx(idle)


@given(st.integers(1, 100_000), st.integers(1, 32))
def test_rounds_hold_all_blocks_and_the_last_one_is_never_empty(blocks: int, per_sm: int) -> None:
    slots = Slots(blocks, per_sm, SMS)
    held = slots.rounds * per_sm * SMS
    assert held >= blocks > held - per_sm * SMS
    assert 0 < slots.tail_fill <= 1
    assert 0 <= slots.idle_sms < 1


# What the chain of a warp says of measured kernels


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("chase_one", "global loads"),
        ("chase_shared", "shared memory"),
        ("rate_chain", "dependent arithmetic"),
        ("tiny_chain", "dependent arithmetic"),
        ("barrier_serial", "dependent arithmetic"),  # of the one warp that the others wait for
        ("reduction_block", IDLE_SMS),
        ("reduction_atomic", SAME_ADDRESS),
        ("histogram_global", SAME_ADDRESS),
        ("wave_tail", LAST_WAVE),
    ],
)
def test_the_cause_is_what_the_kernel_was_written_to_show(name: str, cause: str) -> None:
    assert chain(name).cause == cause


@pytest.mark.parametrize("name", ["chase_one", "chase_shared", "rate_chain", "rate_pair"])
def test_a_kernel_that_only_waits_takes_about_the_time_of_its_chain(name: str) -> None:
    assert 0.5 < chain(name).time_ms / measured_ms(name) < 1.3


def test_two_chains_beside_each_other_take_less_than_one_after_the_other() -> None:
    # both kernels do the same work per thread, one of them in two independent halves
    assert chain("rate_pair").time_ms < 0.75 * chain("rate_chain").time_ms


def test_a_tail_takes_a_second_round() -> None:
    assert (chain("wave_full").rounds, chain("wave_tail").rounds) == (1, 2)
    assert chain("wave_tail").time_ms == pytest.approx(2 * chain("wave_full").time_ms, rel=0.01)


def test_more_loads_under_way_are_more_bytes_in_flight() -> None:
    assert chain("chase_four").bytes_in_flight > 2 * chain("chase_one").bytes_in_flight


def test_parts_come_the_largest_first_and_issue_is_no_cause() -> None:
    found = chain("rate_float")
    times = [part.time_ms for part in found.parts]
    assert times == sorted(times, reverse=True)
    assert found.cause != "issue"


def test_the_time_of_an_empty_launch_is_added() -> None:
    work = work_of("tiny_saxpy").work
    without, given = (latency(work, pipes(), SMS, GHZ, ms) for ms in (None, 0.002))
    assert without is not None and given is not None
    assert given.time_ms == pytest.approx(without.time_ms + 0.002)
    assert any(part.cause == LAUNCH for part in given.parts)
    assert not any(part.cause == LAUNCH for part in without.parts)
