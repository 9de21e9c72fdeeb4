"""Requests of one shape, counted once: the sums are those of all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.access_counts import count
from kneck.facts.spans import Span
from kneck.facts.warp_requests import PERIOD, Requests, merged
from kneck.parsers.listing import Instruction
from kneck.parsers.sass import parse_sass

LINES = {
    "global": "LDG.E R0, desc[UR4][R2.64] ;",
    "shared": "LDS R0, [R2] ;",
    "local": "LDL R0, [R2] ;",
}


def instruction(text: str) -> Instruction:
    listing = parse_sass(f"\tFunction : k\n        /*0000*/                   {text}\n")
    return listing.functions[0].instructions[0]


def flat(counts: dict[str, Any]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name, value in counts.items():
        if isinstance(value, Span):
            found |= {f"{name}.{end}": getattr(value, end) for end in ("low", "value", "high")}
        else:
            found[name] = value
    return found


@given(
    seed=st.integers(0, 1 << 30),
    shapes=st.integers(1, 4),
    rows=st.integers(1, 40),
    space=st.sampled_from(sorted(LINES)),
    width=st.sampled_from([4, 8, 16]),
)
def test_counts_of_merged_requests_are_those_of_all(
    seed: int, shapes: int, rows: int, space: str, width: int
) -> None:
    random = np.random.default_rng(seed)
    patterns = random.integers(0, 1 << 12, (shapes, 32)).astype(np.uint64) * np.uint64(width)
    kind = random.integers(0, shapes, rows)
    shift = random.integers(0, 1 << 20, (rows, 1)).astype(np.uint64) * PERIOD
    active = (random.random((shapes, 32)) < 0.8) | (np.arange(32) == 0)
    flags = random.random((3, rows)) < 0.2
    addresses = np.where(active[kind], patterns[kind], patterns[kind][:, :1]) + shift
    weight = random.integers(1, 100, rows).astype(float)
    requests = Requests(addresses, None, active[kind], flags[0], flags[1], weight, flags[2])
    once = merged(requests)
    one = count(instruction(LINES[space]), space, width, requests, 1024)
    other = count(instruction(LINES[space]), space, width, once, 1024)
    assert len(once.weight) <= rows
    assert flat(one) == pytest.approx(flat(other))


def test_a_loop_of_equal_requests_is_one_row() -> None:
    lanes = np.arange(32, dtype=np.uint64) * np.uint64(4)
    steps = np.arange(100, dtype=np.uint64)[:, None] * PERIOD
    no, yes = np.zeros(100, np.bool_), np.ones(100, np.bool_)
    active = np.ones((100, 32), np.bool_)
    requests = Requests(lanes + steps, None, active, yes, no, np.ones(100), no)
    assert merged(requests).weight.tolist() == [100.0]
