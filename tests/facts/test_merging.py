"""Accesses of one lane that a wider one could replace, read off the addresses themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.merging import Merge, mergeable

from ..truth.analysis import work_of
from .small_kernels import ARRAY, THREAD, run


def loads(offsets: list[int], stride: int = 64, opcode: str = "LDS") -> tuple[Merge, ...]:
    """Load words at some offsets from lane * stride, one after the other."""
    address = [f"IMAD R2, R0, 0x{stride:x}, RZ"]
    places = "R2" if opcode == "LDS" else "R2.64"
    if opcode != "LDS":
        address.append(ARRAY)
    lines = [f"{opcode} R{8 + n}, [{places}+0x{o:x}]" for n, o in enumerate(offsets)]
    return mergeable(run(THREAD, *address, *lines))


def test_four_neighbouring_words_become_one_access_of_16_bytes() -> None:
    (merge,) = loads([0, 4, 8, 12])
    assert (merge.width, merge.wider, len(merge.addresses)) == (4, 16, 4)


def test_two_neighbours_become_one_of_8_bytes() -> None:
    (merge,) = loads([0, 4])
    assert (merge.width, merge.wider) == (4, 8)


def test_their_order_in_the_code_does_not_matter() -> None:
    (merge,) = loads([12, 0, 8, 4])
    assert merge.wider == 16
    assert [address // 16 for address in merge.addresses] == [3, 5, 4, 2]


def test_words_that_are_apart_stay_apart() -> None:
    assert loads([0, 8, 16]) == ()


def test_a_run_that_starts_off_its_own_multiple_is_not_merged() -> None:
    assert loads([4, 8]) == ()
    (merge,) = loads([4, 8, 12, 16])  # the two in the middle are aligned to 8
    assert (merge.wider, len(merge.addresses)) == (8, 2)


def test_lanes_whose_distance_is_no_multiple_cannot_be_aligned() -> None:
    assert loads([0, 4, 8, 12], stride=20) == ()


def test_global_loads_are_merged_alike() -> None:
    (merge,) = loads([0, 4, 8, 12], opcode="LDG.E")
    assert (merge.mnemonic, merge.wider) == ("LDG.E", 16)


def test_an_access_that_is_misaligned_in_a_later_iteration_is_not_merged() -> None:
    lines = [
        THREAD,
        "IMAD R2, R0, 0x40, RZ",
        "MOV R4, RZ",
        ".L_1: LDS R8, [R2]",
        "LDS R9, [R2+0x4]",
        "IADD3 R2, R2, 0x4, RZ",
        "IADD3 R4, R4, 0x1, RZ",
        "ISETP.GE.AND P0, PT, R4, 0x3, PT",
        "@!P0 BRA `(.L_1)",
    ]
    assert mergeable(run(*lines)) == ()


def test_lanes_that_share_bytes_save_passes_and_others_save_requests_alone() -> None:
    (shared,) = loads([0, 4, 8, 12], stride=0)
    assert shared.passes == pytest.approx(2 / 4)  # 16 bytes per lane take two passes at least
    (own,) = loads([0, 4, 8, 12], stride=16)
    assert own.passes < 1  # lanes 16 bytes apart meet in banks; wide loads do not


@given(st.lists(st.integers(0, 15), min_size=2, max_size=6, unique=True))
def test_merged_accesses_are_neighbours_and_aligned(words: list[int]) -> None:
    offsets = [4 * word for word in words]
    for merge in loads(offsets):
        first = offsets[merge.addresses[0] // 16 - 2]
        places = [offsets[address // 16 - 2] for address in merge.addresses]
        assert places == [first + 4 * n for n in range(len(places))]
        assert first % merge.wider == 0
        assert len(places) * merge.width == merge.wider


def test_addresses_show_what_the_code_does_not() -> None:
    # rows of A, walked by one thread each: four loads of an unrolled loop lie side by side
    merges = work_of("rows_thread").work.merges
    assert merges and {merge.wider for merge in merges} == {16}


def test_a_kernel_that_loads_16_bytes_has_nothing_to_merge() -> None:
    assert work_of("elementwise_vector").work.merges == ()
