"""Where two verdicts are left, both are named, with the one measurement that would decide."""

from __future__ import annotations

from functools import cache

from kneck.engine.diagnosis import Diagnosis
from kneck.engine.truth.verdicts import ask

from ..truth.analysis import setting, truth


@cache
def found(name: str, with_arguments: bool = True) -> Diagnosis:
    """Ask about a measured kernel."""
    return ask(truth().kernel(name), truth(), setting(), with_arguments).diagnosis


def open_between(diagnosis: Diagnosis) -> str:
    """Give the sentence that names two classes, empty where there is none."""
    return next((r for r in diagnosis.bound_detail.reasons if "would decide" in r), "")


def test_sides_within_the_margin_are_both_named_and_counters_would_decide() -> None:
    tie = found("convolution_filters")
    assert (tie.bound, tie.bound_detail.confidence) == ("memory", "medium")
    assert open_between(tie) == (
        "memory or compute: near the threshold, within 5% of the shares; counters of Nsight "
        "Compute (--ncu) would decide"
    )


def test_intervals_that_arguments_would_close_ask_for_the_arguments() -> None:
    wide = found("chase_four", with_arguments=False)
    assert wide.bound_detail.confidence == "low"
    assert wide.bound in open_between(wide) and "latency" in open_between(wide)
    assert open_between(wide).endswith("the kernel's arguments (--args) would decide")


def test_intervals_that_arguments_leave_open_ask_for_counters() -> None:
    by_data = found("spill_indexed")
    assert by_data.bound_detail.confidence == "low"
    assert open_between(by_data).startswith("memory or latency:")
    assert open_between(by_data).endswith("counters of Nsight Compute (--ncu) would decide")


def test_a_class_that_holds_at_all_ends_is_sure_and_names_no_other() -> None:
    clear = found("hgemm_direct")
    assert (clear.bound, clear.bound_detail.confidence) == ("memory", "high")
    assert not open_between(clear)


def test_what_the_time_refutes_is_cut_at_the_time() -> None:
    by_data = found("spill_indexed")
    largest = by_data.bounds[0]
    assert (largest.resource, largest.share) == ("l2_write", 1.0)
    assert "as many as the time allows" in largest.basis


def test_a_tie_of_the_lsu_pipe_and_the_first_cache_is_the_memory_sides() -> None:
    for name in ("convolution_direct", "barrier_shuffle", "scan_steps"):
        tie = found(name)
        shares = {b.resource: b.share for b in tie.bounds}
        assert shares["lsu"] == shares["l1_requests"]
        assert tie.bound == "memory"
        assert tie.bound_detail.resource in ("l1", "l1_requests")
