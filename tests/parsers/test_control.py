"""Control words: known words decode to known fields, and every word survives the way back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.parsers.control import (
    decode,
    decode_word,
    encode,
    notation,
    parse_notation,
    top_digits_to_control,
)
from kneck.parsers.listing import Control


@pytest.mark.parametrize(
    ("word", "text"),
    [
        # second words that nvcc 13.0 wrote for sm_86, decoded by hand
        (0x000E220000002500, "B------:R-:W0:-:S01"),
        (0x001FC800078E020D, "B0-----:R-:W-:Y:S04"),
        (0x004FE80000004800, "B--2---:R-:W-:-:S04"),
        (0x0000A8000C1E1B00, "B------:R0:W2:-:S04"),
        (0x004E140000000008, "B--2---:R-:W0:Y:S10"),
        (0x040FF00000001810, "B------:R-:W-:-:S08"),
    ],
)
def test_words_written_by_the_assembler_decode_to_what_was_decoded_by_hand(
    word: int, text: str
) -> None:
    assert notation(decode_word(word)) == text


def test_the_reuse_bits_name_the_operand_slots() -> None:
    assert decode_word(0x040FF00000001810).reuse == 1


def test_seven_means_no_scoreboard() -> None:
    assert decode(7 << 5 | 7 << 8) == Control(0, 0, None, None, 0, 0)


@given(st.integers(0, 2**21 - 1))
def test_every_control_word_survives_decoding_and_encoding(bits: int) -> None:
    assert encode(decode(bits)) == bits


@given(st.integers(0, 2**64 - 1))
def test_the_top_digits_alone_give_the_same_control(word: int) -> None:
    assert top_digits_to_control(f"{word:016x}"[:6]) == decode_word(word)


@given(st.integers(0, 2**17 - 1))
def test_notation_is_read_back_but_for_the_reuse_bits(bits: int) -> None:
    control = decode(bits)
    # scoreboard 6 does not exist and is written as a digit that no assembler prints
    if 6 not in (control.write_barrier, control.read_barrier):
        assert parse_notation(notation(control)) == control


def test_triton_writes_the_wait_mask_in_decimal_and_the_stall_in_hex() -> None:
    assert parse_notation("33:1:0:Y:a") == Control(10, 0, 0, 1, 33, 0)
    assert parse_notation("--:-:-:-:1") == Control(1, 1, None, None, 0, 0)


@given(st.text())
def test_other_text_is_no_notation(text: str) -> None:
    found = parse_notation(text)
    assert found is None or encode(found) < 2**21
