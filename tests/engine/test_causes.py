"""Why a latency-bound kernel takes its time: what one warp waits for longest, and where."""

from __future__ import annotations

import pytest

from kneck.engine.diagnosis import Diagnosis
from kneck.engine.truth.verdicts import ask

from ..truth.analysis import setting, truth


def found(name: str, with_arguments: bool = True) -> Diagnosis:
    """Ask about a measured kernel."""
    return ask(truth().kernel(name), truth(), setting(), with_arguments).diagnosis


def facts(diagnosis: Diagnosis) -> dict[str, object]:
    """Give the facts by name."""
    return {row.name: row.value for row in diagnosis.facts}


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("chase_one", "global loads"),
        ("chase_shared", "shared memory"),
        ("tiny_chain", "dependent arithmetic"),
        ("reduction_atomic", "atomics on the same addresses"),
        ("reduction_block", "sms without a block"),
        ("tiny_saxpy", "launch"),
        ("wave_tail", "last wave"),
    ],
)
def test_a_latency_bound_kernel_names_what_its_warps_wait_for(name: str, cause: str) -> None:
    diagnosis = found(name)
    assert diagnosis.bound == "latency"
    assert f"waits for {cause}" in str(diagnosis.bound_detail.cause)


def test_the_cause_tells_its_instructions_and_its_share_of_the_time() -> None:
    diagnosis = found("chase_shared")
    row = next(row for row in diagnosis.facts if row.name == "chain.cause")
    assert "0x" in str(row.source["detail"])
    share = facts(diagnosis)["chain.cause_share"]
    assert isinstance(share, float) and 0.6 < share < 1


def test_a_wait_that_explains_little_of_the_time_is_not_the_cause() -> None:
    diagnosis = found("constant_stream")
    assert diagnosis.bound == "latency"
    assert "waits for" not in str(diagnosis.bound_detail.cause)


def test_a_kernel_at_a_ceiling_has_no_cause_of_latency() -> None:
    assert found("rate_float").bound_detail.cause is None


def test_counts_that_do_not_come_from_the_emulation_name_no_wait() -> None:
    assert "chain.cause" not in facts(found("chase_one", with_arguments=False))
