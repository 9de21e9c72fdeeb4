"""Pairs that were measured on an H200: what is recommended for the base, against the variant."""

from __future__ import annotations

from functools import cache

import pytest

from kneck.engine.truth.figures import pair_figures
from kneck.engine.truth.load import load_judge
from kneck.engine.truth.pairs import PairRow, measured_gain, pair_row
from kneck.engine.truth.schema import PairEntry
from kneck.engine.truth.verdicts import ask

from ..truth.analysis import setting, truth

FIRST, NOISE = load_judge().first, load_judge().tolerance.noise
PAIRS = [pytest.param(pair, id=f"{pair.base} to {pair.variant}") for pair in truth().manifest.pairs]
# The range of cp.async rests on other kernels' reports, none of which gained so much.
BEYOND = ("hgemm_padded",)


@cache
def outcome(base: str, variant: str) -> PairRow:
    pair = next(p for p in truth().manifest.pairs if (p.base, p.variant) == (base, variant))
    result = ask(truth().kernel(base), truth(), setting(), with_arguments=True)
    return pair_row(pair, truth(), result.diagnosis, setting(), FIRST)


def gained(pair: PairEntry) -> bool:
    return measured_gain(pair, truth(), setting()) > 0


@pytest.mark.parametrize("pair", [param for param in PAIRS if gained(param.values[0])])  # type: ignore[arg-type]
def test_what_made_it_faster_is_among_the_first_with_a_range_that_holds_the_gain(
    pair: PairEntry,
) -> None:
    found = outcome(pair.base, pair.variant)
    assert pair.strategy in found.first
    assert found.inside or pair.base in BEYOND, (found.low, found.gain, found.high)


@pytest.mark.parametrize("pair", [param for param in PAIRS if not gained(param.values[0])])  # type: ignore[arg-type]
def test_what_made_it_slower_never_stands_first_without_a_doubt(pair: PairEntry) -> None:
    assert not outcome(pair.base, pair.variant).misleads(NOISE)


def test_the_pairs_reach_what_the_set_asks_for() -> None:
    found = pair_figures([outcome(p.base, p.variant) for p in truth().manifest.pairs], load_judge())
    demands = truth().manifest.demands
    assert demands.among_first is not None and demands.gain_inside is not None
    assert found.among_first is not None and found.among_first >= demands.among_first
    assert found.inside is not None and found.inside >= demands.gain_inside
    assert found.misleading == ()
