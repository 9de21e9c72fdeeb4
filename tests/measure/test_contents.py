"""Arrays hold values that numpy can name; parameters are little-endian bytes of their type."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.arguments import Argument
from kneck.facts.measure.contents import (
    FLOAT8,
    element_values,
    encoded,
    hashed,
    random_limit,
)


def array(dtype: str, contents: str, count: int = 4096, value: float | None = None) -> Argument:
    return Argument("array", dtype, count, value, contents)  # type: ignore[arg-type]


def values(argument: Argument, seed: int = 0) -> np.ndarray:
    return element_values(argument, np.arange(argument.count or 0, dtype=np.uint64), seed)


def test_the_hash_is_the_one_of_the_gpu() -> None:
    # MurmurHash3's finalizer of 0 and 1 with seed 0, and of 0 with seed 1.
    found = hashed(np.array([0, 1], dtype=np.uint64), 0)
    assert found.tolist() == [0, 0x514E28B7]
    assert hashed(np.array([0], dtype=np.uint64), 1).tolist() == [0x514E28B7]


def test_indices_beyond_32_bits_hash_differently() -> None:
    far = hashed(np.array([5, 5 + 2**32], dtype=np.uint64), 0)
    assert far[0] != far[1]


def test_random_floats_are_spread_over_minus_one_to_one() -> None:
    found = values(array("f32", "random", 1 << 16))
    assert -1 <= found.min() < -0.999 and 0.999 < found.max() < 1
    assert abs(found.mean()) < 0.02 and abs(found.std() - 1 / math.sqrt(3)) < 0.01


def test_random_wide_integers_can_serve_as_indices() -> None:
    found = values(array("i32", "random", 1000))
    assert 0 <= found.min() and found.max() < 1000
    assert random_limit(array("i64", "random", 1 << 40)) == 1 << 31


def test_random_narrow_integers_take_all_values() -> None:
    assert set(values(array("i8", "random", 1 << 14)).tolist()) == set(range(-128, 128))
    assert random_limit(array("u16", "random")) == 0


def test_two_arguments_hold_different_values() -> None:
    assert (values(array("f32", "random"), 0) != values(array("f32", "random"), 1)).any()


def test_a_cycle_visits_every_element_once() -> None:
    following = values(array("u32", "cycle", 1 << 12))
    seen, at = set(), 0
    for _ in range(1 << 12):
        at = int(following[at])
        seen.add(at)
    assert len(seen) == 1 << 12 and at == 0


@pytest.mark.parametrize(
    ("contents", "value", "expected"), [("zeros", None, 0), ("ones", None, 1), ("fill", 7, 7)]
)
def test_constant_contents(contents: str, value: float | None, expected: float) -> None:
    assert set(values(array("f64", contents, 8, value)).tolist()) == {expected}
    assert set(values(array("u8", contents, 8, value)).tolist()) == {expected}


def test_iota_wraps_in_narrow_types() -> None:
    assert values(array("u8", "iota", 300))[256:259].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1.5, "f32", "0000c03f"),
        (-2, "i32", "feffffff"),
        (1.0, "f16", "003c"),
        (1.0, "bf16", "803f"),
        (1.0, "f8", "38"),
        (1.0, "bf8", "3c"),
        (448.0, "f8", "7e"),
        (1e9, "f8", "7e"),
        (-1e9, "bf8", "fb"),
        (0.0, "f8", "00"),
        (2.0**-9, "f8", "01"),
        (70000.0, "f16", "007c"),
        (255, "u8", "ff"),
        (4096, "ptr", "0010000000000000"),
    ],
)
def test_known_encodings(value: float, dtype: str, expected: str) -> None:
    assert encoded(value, dtype).hex() == expected


@given(st.floats(-400, 400))
def test_eight_bit_floats_round_to_the_nearest(value: float) -> None:
    for dtype in FLOAT8:
        table = [decoded(code, dtype) for code in range(256)]
        finite = [x for x in table if math.isfinite(x)]
        (code,) = encoded(value, dtype)
        assert abs(table[code] - value) == min(abs(x - value) for x in finite)


def decoded(code: int, dtype: str) -> float:
    mantissa_bits, bias, _, top = FLOAT8[dtype]
    if code & 0x7F > top:
        return math.inf
    sign = -1 if code & 0x80 else 1
    exponent = (code & 0x7F) >> mantissa_bits
    mantissa = code & ((1 << mantissa_bits) - 1)
    if exponent == 0:
        return sign * math.ldexp(mantissa, 1 - bias - mantissa_bits)
    return sign * math.ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits)


@given(st.floats(-(2.0**127), 2.0**127, width=32))
def test_bfloat16_keeps_the_upper_half_within_half_a_step(value: float) -> None:
    back = struct.unpack("<f", b"\0\0" + encoded(value, "bf16"))[0]
    assert back == pytest.approx(value, rel=2**-8, abs=1e-40)
