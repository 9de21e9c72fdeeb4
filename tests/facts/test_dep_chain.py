"""Chains of a loop are those that running every iteration anew finds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kneck.facts.control_flow import control_flow
from kneck.facts.dep_chain import chains
from kneck.facts.dep_operands import Accesses
from kneck.facts.dep_sequence import Item, Repeat
from kneck.facts.dep_steps import Steps
from kneck.facts.dep_table import TableTiming

from . import plain_chain
from .flow_listings import only, operands, table

KERNELS = ("sgemm_long_k", "igemm", "histogram_shared", "softmax_reread", "nbody")


def steps_of(stem: str) -> Steps:
    function = only(stem)
    timing = TableTiming(table(), function.arch, "geforce")
    accesses = Accesses(function.instructions, operands())
    return Steps(control_flow(function), accesses, timing)


def sequences(positions: int) -> st.SearchStrategy[tuple[Item, ...]]:
    """Instructions in any order, with inner loops of any length, also of none that is known."""
    plain = st.integers(0, positions - 1)
    times = st.sampled_from([None, 0, 1, 2, 3, 4, 17])
    return st.recursive(
        st.lists(plain, max_size=12).map(tuple),
        lambda inner: st.lists(plain | st.builds(Repeat, times, inner), max_size=8).map(tuple),
        max_leaves=6,
    )


@pytest.mark.parametrize("stem", KERNELS)
def test_the_whole_code_in_its_order(stem: str) -> None:
    steps = steps_of(stem)
    items = range(len(steps.instructions))
    assert chains(items, steps) == plain_chain.chains(items, steps)


@settings(max_examples=60)
@given(data=st.data(), stem=st.sampled_from(KERNELS))
def test_any_sequence_with_any_inner_loops(data: st.DataObject, stem: str) -> None:
    steps = steps_of(stem)
    items = data.draw(sequences(len(steps.instructions)))
    assert chains(items, steps) == plain_chain.chains(items, steps)
