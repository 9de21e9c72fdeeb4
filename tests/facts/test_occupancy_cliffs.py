"""Cliffs: the largest request that keeps a block, and what buys the next one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.cliffs import (
    doubling,
    largest_registers_for,
    largest_threads_for,
    next_block,
    registers_to_the_cliff,
    smem_cliffs,
)
from kneck.facts.occupancy import occupancy
from kneck.rules.hardware import load_architectures, shipped_folder

LIMITS = {name: arch.limits for name, arch in load_architectures([shipped_folder()]).items()}
SM_86 = LIMITS["sm_86"]
CLIFFS = [
    (("sm_86", "sm_89", "sm_120", "sm_121"), (101376, 50176, 33024, 24576, 19456, 16000)),
    (("sm_80", "sm_87"), (166912, 82944, 54912, 40960, 32512, 26880)),
    (("sm_90", "sm_100", "sm_103"), (232448, 115712, 76800, 57344, 45568, 37888)),
    (("sm_75",), (65536, 32768, 21760, 16384)),
    (("sm_70",), (98304, 49152, 32768, 24576)),
]


@pytest.mark.parametrize(
    ("arch", "sizes"), [(arch, sizes) for group, sizes in CLIFFS for arch in group]
)
def test_largest_bytes_per_block_for_n_blocks(arch: str, sizes: tuple[int, ...]) -> None:
    cliffs = smem_cliffs(LIMITS[arch])
    assert tuple(cliffs[n] for n in range(1, len(sizes) + 1)) == sizes


@pytest.mark.parametrize("arch", sorted(LIMITS))
def test_one_byte_above_each_cliff_costs_a_block(arch: str) -> None:
    limits = LIMITS[arch]
    for blocks, size in smem_cliffs(limits).items():
        at = occupancy(limits, 1, 32, size).block_limits["smem"]
        above = occupancy(limits, 1, 32, size + 1).block_limits["smem"]
        assert at is None or at >= blocks
        assert above is not None and above < blocks


def test_doubling_30_kb_on_a_100_kb_sm_leaves_one_block_of_three() -> None:
    found = doubling(SM_86, 30 * 1024)
    assert (found.smem_bytes, found.blocks_now, found.blocks_doubled) == (61440, 3, 1)


def test_doubling_beyond_the_opt_in_maximum_leaves_nothing() -> None:
    assert doubling(SM_86, 60 * 1024).blocks_doubled == 0


def test_five_registers_cost_a_block_of_128_threads() -> None:
    assert largest_registers_for(SM_86, 3, 128) == 168
    assert occupancy(SM_86, 173, 128).blocks_per_sm == 2
    assert registers_to_the_cliff(SM_86, 168, 128) == 0
    assert registers_to_the_cliff(SM_86, 163, 128) == 5
    assert registers_to_the_cliff(SM_86, 255, 128) is None


def test_next_block_names_the_registers_to_give_up() -> None:
    found = next_block(SM_86, 173, 128, 8192)
    assert (found.blocks, found.active_warps, found.registers, found.smem_bytes) == (
        3,
        12,
        168,
        None,
    )
    assert found.reachable


def test_next_block_names_both_resources_where_limits_tie() -> None:
    found = next_block(LIMITS["sm_90"], 64, 256, 49152)
    assert (found.blocks, found.registers, found.smem_bytes) == (5, 48, 45568)


def test_no_next_block_where_the_warps_of_the_sm_are_used_up() -> None:
    assert not next_block(SM_86, 32, 768, 0).reachable


@pytest.mark.parametrize(("registers", "threads"), [(162, 384), (156, 384), (65, 896), (64, 1024)])
def test_largest_block_that_starts(registers: int, threads: int) -> None:
    assert largest_threads_for(SM_86, registers) == threads
    if threads < 1024:
        assert occupancy(SM_86, registers, threads + 32).blocks_per_sm == 0


@given(
    st.sampled_from(sorted(LIMITS)),
    st.integers(1, 255),
    st.integers(1, 1024),
    st.integers(0, 100_000),
)
def test_giving_up_what_next_block_says_gives_the_block(
    arch: str, registers: int, threads: int, smem: int
) -> None:
    limits = LIMITS[arch]
    found = next_block(limits, registers, threads, smem)
    fewer = registers if found.registers is None else found.registers
    less = smem if found.smem_bytes is None else found.smem_bytes
    after = occupancy(limits, fewer, threads, less).blocks_per_sm
    assert (after >= found.blocks) == found.reachable
    if found.reachable and found.registers is not None:
        assert occupancy(limits, fewer + 1, threads, less).blocks_per_sm < found.blocks
    if found.reachable and found.smem_bytes is not None:
        assert occupancy(limits, fewer, threads, less + 1).blocks_per_sm < found.blocks
