"""Occupancy: registers, threads and shared memory in, blocks and limiters out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.hardware import SmLimits
from kneck.facts.occupancy import allocated_smem_bytes, occupancy, smem_capacity_bytes
from kneck.parsers.errors import KneckError
from kneck.rules.hardware import load_architectures, shipped_folder

LIMITS = {name: arch.limits for name, arch in load_architectures([shipped_folder()]).items()}
SM_86 = LIMITS["sm_86"]


@pytest.mark.parametrize(
    ("arch", "registers", "threads", "smem", "blocks", "warps", "limiters"),
    [
        ("sm_86", 64, 256, 8192, 4, 32, ("registers",)),
        ("sm_86", 64, 128, 49152, 2, 8, ("smem",)),
        ("sm_86", 64, 128, 50176, 2, 8, ("smem",)),
        ("sm_86", 64, 128, 50177, 1, 4, ("smem",)),
        ("sm_86", 64, 128, 51200, 1, 4, ("smem",)),
        ("sm_86", 64, 128, 57344, 1, 4, ("smem",)),
        ("sm_86", 32, 128, 33792, 2, 8, ("smem",)),
        ("sm_86", 85, 256, 0, 2, 16, ("registers",)),
        ("sm_86", 42, 128, 0, 10, 40, ("registers",)),
        ("sm_86", 170, 32, 0, 8, 8, ("registers",)),
        ("sm_90", 64, 256, 49152, 4, 32, ("registers", "smem")),
        ("sm_75", 64, 128, 32769, 1, 4, ("smem",)),
        ("sm_80", 128, 256, 82945, 1, 8, ("smem",)),
    ],
)
def test_blocks_warps_and_limiters(
    arch: str,
    registers: int,
    threads: int,
    smem: int,
    blocks: int,
    warps: int,
    limiters: tuple[str, ...],
) -> None:
    found = occupancy(LIMITS[arch], registers, threads, smem)
    assert (found.blocks_per_sm, found.active_warps, found.limiters) == (blocks, warps, limiters)
    assert found.theoretical_occupancy == warps / LIMITS[arch].max_warps_per_sm
    assert found.reason is None


def test_dynamic_shared_memory_counts_like_static() -> None:
    split = occupancy(SM_86, 64, 128, 20_000, 30_176)
    whole = occupancy(SM_86, 64, 128, 50_176)
    assert split == whole


def test_a_launch_whose_registers_exceed_the_file_does_not_run() -> None:
    found = occupancy(SM_86, 65, 928)
    assert (found.blocks_per_sm, found.active_warps, found.limiters) == (0, 0, ("registers",))
    assert found.reason == (
        "65 registers x 29 warps take 73,728 registers at the launch check, "
        "more than the 65,536 of a block"
    )


def test_shared_memory_above_the_opt_in_maximum_does_not_run() -> None:
    assert occupancy(SM_86, 32, 128, 101_376).blocks_per_sm == 1
    found = occupancy(SM_86, 32, 128, 101_377)
    assert found.block_limits["smem"] == 0
    assert found.reason is not None and "102,400 B" in found.reason


def test_named_barriers_limit_blocks_from_compute_capability_9_on() -> None:
    found = occupancy(LIMITS["sm_90"], 32, 128, barriers=16)
    assert (found.blocks_per_sm, found.limiters) == (4, ("barriers",))
    assert occupancy(LIMITS["sm_120"], 32, 128, barriers=16).blocks_per_sm == 1
    assert occupancy(SM_86, 32, 128, barriers=16).block_limits["barriers"] is None


def test_carve_out_lowers_what_blocks_share() -> None:
    blocks = [
        occupancy(SM_86, 16, 32, 8192, carveout=carveout).block_limits["smem"]
        for carveout in (0, 50, None, -1)
    ]
    assert blocks == [1, 7, 11, 11]


def test_a_carve_out_too_small_for_one_block_grows_to_the_next_configuration() -> None:
    request = allocated_smem_bytes(SM_86, 40_000)
    assert smem_capacity_bytes(SM_86, request, carveout=10) == 64 * 1024


def test_a_resource_that_is_not_used_sets_no_limit() -> None:
    found = occupancy(LIMITS["sm_75"], 0, 64, barriers=0)
    assert (found.block_limits["registers"], found.block_limits["smem"]) == (None, None)
    assert found.limiters == ("warps", "blocks")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threads": 0}, "a block of 0 threads cannot be launched"),
        ({"threads": 1025}, "a block of 1025 threads cannot be launched"),
        ({"threads": -32}, "threads per block: -32 is negative"),
        ({"registers": -1}, "registers per thread: -1 is negative"),
        ({"static_smem": -1}, "static shared memory: -1 is negative"),
        ({"dynamic_smem": -4}, "dynamic shared memory: -4 is negative"),
        ({"barriers": -1}, "barriers: -1 is negative"),
        ({"carveout": 101}, "a carve-out of 101 % does not exist"),
        ({"carveout": -2}, "a carve-out of -2 % does not exist"),
        ({"threads": float("nan")}, "threads per block: nan is not a whole number"),
        ({"registers": 32.5}, "registers per thread: 32.5 is not a whole number"),
        ({"carveout": 12.5}, "carve-out: 12.5 is not a whole number"),
    ],
)
def test_values_that_no_launch_can_have_are_refused(
    arguments: dict[str, int], message: str
) -> None:
    with pytest.raises(KneckError) as caught:
        occupancy(SM_86, **{"registers": 32, "threads": 128, **arguments})
    assert caught.value.what == message
    assert caught.value.help


launches = st.tuples(
    st.sampled_from(sorted(LIMITS)),
    st.integers(0, 255),
    st.integers(1, 1024),
    st.integers(0, 240_000),
    st.integers(-1, 100),
    st.integers(0, 16),
)


@given(launches)
def test_resident_warps_never_exceed_the_sm(
    launch: tuple[str, int, int, int, int, int],
) -> None:
    arch, registers, threads, smem, carveout, barriers = launch
    limits = LIMITS[arch]
    found = occupancy(limits, registers, threads, smem, 0, carveout, barriers)
    assert 0 <= found.active_warps <= limits.max_warps_per_sm
    assert found.blocks_per_sm * found.smem_bytes_per_block <= limits.smem_bytes_per_sm
    assert found.blocks_per_sm * found.registers_per_block <= limits.registers_per_sm
    assert (found.reason is None) == (found.blocks_per_sm > 0)
    assert all(found.block_limits[name] == found.blocks_per_sm for name in found.limiters)


@given(launches, st.integers(0, 5000), st.integers(0, 40))
def test_asking_for_less_never_costs_a_block(
    launch: tuple[str, int, int, int, int, int], fewer_bytes: int, fewer_registers: int
) -> None:
    arch, registers, threads, smem, _, barriers = launch
    limits: SmLimits = LIMITS[arch]
    now = occupancy(limits, registers, threads, smem, barriers=barriers)
    less = occupancy(
        limits,
        max(0, registers - fewer_registers),
        threads,
        max(0, smem - fewer_bytes),
        barriers=barriers,
    )
    assert less.blocks_per_sm >= now.blocks_per_sm
