"""Instructions of one shape ask for the same places, a multiple of 512 bytes further on."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.emulator.trace import Touch
from kneck.facts.emulator.values import Array
from kneck.facts.warp_requests import PERIOD, Shapes
from kneck.parsers.sass import parse_sass

LISTING = "\tFunction : k\n        /*0000*/                   LDS R0, [R2] ;\n"
INSTRUCTION = parse_sass(LISTING).functions[0].instructions[0]
ALL = np.ones(32, np.bool_)
WORD = 1 << 32


def touch(base: Array, offset: int, lanes: Array = ALL) -> Touch:
    return Touch(INSTRUCTION, lanes, base.astype(np.uint32), 0, 1.0, offset % WORD)


def places(one: Touch) -> list[int] | None:
    """Whole addresses from the start of a period; None where the low words pass their end."""
    low = np.asarray(one.low).astype(np.int64)
    signed = (low - low[0] + WORD // 2) % WORD - WORD // 2
    if low[0] + signed.min() < 0 or low[0] + signed.max() >= WORD:
        return None
    return list(low - low[0] // int(PERIOD) * int(PERIOD))


bases = st.builds(
    lambda first, step, bend: first + step * np.arange(32) + bend * (np.arange(32) // 8),
    st.integers(0, 4096),
    st.integers(0, 64),
    st.integers(0, 512),
)
offsets = st.integers(-1024, 4096) | st.integers(0, 8).map(lambda n: n * int(PERIOD))


@given(first=bases, second=bases, same=st.booleans(), one=offsets, other=offsets)
def test_shapes_are_equal_where_the_places_are(
    first: Array, second: Array, same: bool, one: int, other: int
) -> None:
    shapes = Shapes()
    a, b = touch(first, one), touch(first if same else second, other)
    found = shapes.of([a]), shapes.of([b])
    wanted = places(a), places(b)
    assert [shape is None for shape in found] == [place is None for place in wanted]
    if None not in found:
        assert (found[0] == found[1]) == (wanted[0] == wanted[1])


def test_other_lanes_are_another_shape() -> None:
    base = 4 * np.arange(32)
    half = np.arange(32) < 16
    shapes = Shapes()
    assert shapes.of([touch(base, 0)]) == shapes.of([touch(base, 512)])
    assert shapes.of([touch(base, 0)]) != shapes.of([touch(base, 0, half)])


def test_an_offset_is_added_once() -> None:
    one = touch(4 * np.arange(32), 16)
    assert list(np.asarray(one.low)) == list(np.asarray(one.low)) == list(range(16, 144, 4))
