"""Counters overrule inferred facts; both stay, and a large difference is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.measure.counter_facts import merge
from kneck.facts.model import Fact, FactBase, Missing, Source, SourceKind


def fact(name: str, value: float | str, kind: SourceKind = "derived") -> Fact:
    return Fact(name, value, "instructions", Source(kind, "x"))


def base(*facts: Fact) -> FactBase:
    return FactBase({f.name: f for f in facts})


def test_a_counter_replaces_the_inferred_value_and_keeps_it_beside() -> None:
    merged = merge(
        base(fact("mix.FFMA.executed", 100)), [fact("mix.FFMA.executed", 105, "counter")], 0.1
    )
    assert merged.facts.value("mix.FFMA.executed") == 105
    assert merged.facts.facts["mix.FFMA.executed"].source.kind == "counter"
    assert merged.facts.value("inferred.mix.FFMA.executed") == 100
    assert merged.disagreements == ()


def test_more_than_the_threshold_is_a_disagreement() -> None:
    merged = merge(base(fact("a", 80)), [fact("a", 100, "counter")], 0.1)
    (found,) = merged.disagreements
    assert (found.inferred, found.counted) == (80, 100)
    assert found.difference_fraction == pytest.approx(0.2)
    assert str(found) == "a: inferred 80, counted 100 instructions (20% apart)"


def test_exactly_the_threshold_is_none() -> None:
    assert merge(base(fact("a", 90)), [fact("a", 100, "counter")], 0.1).disagreements == ()


def test_the_largest_disagreement_stands_first() -> None:
    known = base(fact("a", 80), fact("b", 10))
    counted = [fact("a", 100, "counter"), fact("b", 100, "counter")]
    assert [d.name for d in merge(known, counted, 0.1).disagreements] == ["b", "a"]


def test_counted_zero_against_an_inferred_value_disagrees() -> None:
    (found,) = merge(base(fact("a", 5)), [fact("a", 0, "counter")], 0.1).disagreements
    assert found.difference_fraction == float("inf")


def test_a_new_fact_is_added_and_no_longer_missing() -> None:
    known = FactBase({}, {"a": Missing("a", "no counters")})
    merged = merge(known, [fact("a", 1, "counter")], 0.1)
    assert merged.facts.value("a") == 1 and "a" not in merged.facts.missing


@pytest.mark.parametrize("kind", ["option", "what-if"])
def test_what_the_user_gave_stays_in_force(kind: SourceKind) -> None:
    merged = merge(base(fact("a", 80, kind)), [fact("a", 100, "counter")], 0.1)
    assert merged.facts.value("a") == 80 and merged.facts.value("counted.a") == 100
    assert len(merged.disagreements) == 1


def test_texts_never_disagree() -> None:
    merged = merge(base(fact("a", "x")), [fact("a", "y", "counter")], 0.1)
    assert merged.disagreements == () and merged.facts.value("a") == "y"


def test_what_the_report_lacks_is_missing_unless_it_is_known() -> None:
    gaps = [Missing("a", "not in the report"), Missing("b", "not in the report")]
    merged = merge(base(fact("a", 1)), [], 0.1, gaps)
    assert merged.facts.value("a") == 1
    assert list(merged.facts.missing) == ["b"]


def test_merging_twice_changes_nothing() -> None:
    counted = [fact("a", 100, "counter")]
    once = merge(base(fact("a", 80)), counted, 0.1)
    twice = merge(once.facts, counted, 0.1)
    assert twice.facts.facts == once.facts.facts and twice.disagreements == ()


@given(st.floats(0.1, 1e6), st.floats(0.1, 1e6), st.floats(0.01, 1))
def test_a_disagreement_is_shown_exactly_above_the_threshold(
    inferred: float, counted: float, threshold: float
) -> None:
    merged = merge(base(fact("a", inferred)), [fact("a", counted, "counter")], threshold)
    apart = abs(inferred - counted) / counted
    assert bool(merged.disagreements) == (apart > threshold)
    assert merged.facts.value("a") == counted
