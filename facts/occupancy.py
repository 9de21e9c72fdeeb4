"""How many blocks fit on one SM, computed as the driver does.

The steps are those of the occupancy calculator that NVIDIA ships as a header with the toolkit
(source H1 in kb/sources.yaml); tests compare the two over random configurations. All limits come
in as data, so a new architecture needs no change here.
"""

from __future__ import annotations

from ..parsers.errors import KneckError
from ..parsers.record import dataclass
from .hardware import SmLimits

KB = 1024
DEFAULT_CARVEOUT = -1  # what the CUDA runtime calls cudaSharedmemCarveoutDefault
LARGEST_BITS = 63  # of a size; CUDA's own are of 64 bits with a sign


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Blocks and warps that one SM can hold, and what limits them.

    `block_limits` maps each resource to the blocks it would allow, None where it sets no limit.
    `limiters` names every resource whose limit equals `blocks_per_sm`. `reason` says why the
    launch fails when no block fits, else None.
    """

    blocks_per_sm: int
    warps_per_block: int
    active_warps: int
    theoretical_occupancy: float
    limiters: tuple[str, ...]
    block_limits: dict[str, int | None]
    registers_per_block: int
    smem_bytes_per_block: int
    smem_bytes_per_sm: int
    reason: str | None = None


def occupancy(
    limits: SmLimits,
    registers: int,
    threads: int,
    static_smem: int = 0,
    dynamic_smem: int = 0,
    carveout: int | None = None,
    barriers: int = 1,
    virtual_resources: int = 0,
) -> Occupancy:
    """Compute the blocks per SM of a launch.

    `registers` per thread, `threads` per block, shared memory in bytes per block without the
    driver's reserve, `carveout` in percent of the SM's shared memory (None or -1: the default),
    `barriers` named barriers per block. Raises KneckError for values no launch can have.
    """
    _check_input(limits, registers, threads, static_smem, dynamic_smem, carveout)
    _check_count("barriers", barriers)
    _check_count("virtual resources", virtual_resources)
    warps = warps_per_block(limits, threads)
    request = allocated_smem_bytes(limits, static_smem + dynamic_smem)
    capacity = smem_capacity_bytes(limits, request, carveout)
    block_limits = {
        "registers": register_block_limit(limits, registers, warps),
        "smem": smem_block_limit(limits, request, capacity),
        "warps": limits.max_warps_per_sm // warps,
        "blocks": limits.max_blocks_per_sm,
        "barriers": _share(limits.named_barriers_per_sm, barriers),
    }
    if virtual_resources:
        block_limits["virtual_resources"] = _share(
            limits.virtual_resources_per_sm, virtual_resources
        )
    blocks = min(limit for limit in block_limits.values() if limit is not None)
    return Occupancy(
        blocks_per_sm=blocks,
        warps_per_block=warps,
        active_warps=blocks * warps,
        theoretical_occupancy=blocks * warps / limits.max_warps_per_sm,
        limiters=tuple(name for name, limit in block_limits.items() if limit == blocks),
        block_limits=block_limits,
        registers_per_block=registers_per_warp(limits, registers) * warps,
        smem_bytes_per_block=request,
        smem_bytes_per_sm=capacity,
        reason=None if blocks else _launch_failure(limits, registers, warps, request, barriers),
    )


def warps_per_block(limits: SmLimits, threads: int) -> int:
    """Give the warps of a block; the last one may be partly empty."""
    return -(-threads // limits.threads_per_warp)


def registers_per_warp(limits: SmLimits, registers: int) -> int:
    """Give the registers that one warp occupies, rounded up to the allocation unit."""
    return round_up(registers * limits.threads_per_warp, limits.register_allocation_unit)


def register_block_limit(limits: SmLimits, registers: int, warps: int) -> int | None:
    """Give the blocks that the register file allows; 0 where the launch check refuses.

    Registers are given out inside one sub-partition, so the warps of an SM are counted per
    sub-partition first. The launch check assumes that a block fills all sub-partitions evenly.
    """
    per_warp = registers_per_warp(limits, registers)
    if per_warp == 0:
        return None
    if registers > limits.launch_check_registers_per_thread:
        return 0
    if registers_checked_at_launch(limits, registers, warps) > limits.registers_per_block:
        return 0
    per_sub_partition = limits.registers_per_sm // limits.sub_partitions // per_warp
    return per_sub_partition * limits.sub_partitions // warps


def registers_checked_at_launch(limits: SmLimits, registers: int, warps: int) -> int:
    """Give the registers per block that the launch is checked against the register file with."""
    checked_warps = round_up(warps, limits.warp_allocation_granularity)
    return registers_per_warp(limits, registers) * checked_warps


def allocated_smem_bytes(limits: SmLimits, smem_bytes: int) -> int:
    """Give the shared memory that a block takes from the SM: with the reserve, rounded up."""
    return round_up(
        smem_bytes + limits.smem_reserved_bytes_per_block,
        limits.smem_allocation_granularity_bytes,
    )


def smem_capacity_bytes(limits: SmLimits, request: int, carveout: int | None = None) -> int:
    """Give the shared memory of the SM under a carve-out preference, in bytes.

    The preference is rounded up to a configuration that the hardware has; where one block would
    not fit, the next larger configuration that holds it is used instead.
    """
    wanted = limits.smem_bytes_per_sm
    if carveout is not None and carveout != DEFAULT_CARVEOUT:
        wanted = carveout * limits.smem_bytes_per_sm // 100
    wanted = max(wanted, min(request, limits.smem_bytes_per_sm))
    configurations = (kb * KB for kb in limits.smem_carveouts_kb)
    return min(size for size in configurations if size >= wanted)


def smem_block_limit(limits: SmLimits, request: int, capacity: int) -> int | None:
    """Give the blocks that shared memory allows for an allocated request, both in bytes."""
    if request > limits.smem_bytes_per_block_optin + limits.smem_reserved_bytes_per_block:
        return 0
    return capacity // request if request else None


def round_up(value: int, unit: int) -> int:
    """Round up to a multiple of unit.

    >>> round_up(85 * 32, 256)
    2816
    """
    return -(-value // unit) * unit


def _share(available: int | None, used: int) -> int | None:
    return available // used if available is not None and used else None


def _launch_failure(
    limits: SmLimits, registers: int, warps: int, request: int, barriers: int
) -> str:
    if registers > limits.launch_check_registers_per_thread:
        return (
            f"{registers} registers per thread are more than the "
            f"{limits.max_registers_per_thread} a thread can have"
        )
    checked = registers_checked_at_launch(limits, registers, warps)
    if checked > limits.registers_per_block:
        return (
            f"{registers} registers x {warps} warps take {checked:,} registers at the launch "
            f"check, more than the {limits.registers_per_block:,} of a block"
        )
    largest = limits.smem_bytes_per_block_optin + limits.smem_reserved_bytes_per_block
    if request > largest:
        return (
            f"{request:,} B of shared memory with the reserve are more than the {largest:,} B "
            f"that a block can have"
        )
    if _share(limits.named_barriers_per_sm, barriers) == 0:
        return f"{barriers} barriers are more than the {limits.named_barriers_per_sm} of an SM"
    return "one block needs more than the SM has"


def _check_input(
    limits: SmLimits,
    registers: int,
    threads: int,
    static_smem: int,
    dynamic_smem: int,
    carveout: int | None,
) -> None:
    _check_count("threads per block", threads)
    if not 1 <= threads <= limits.max_threads_per_block:
        raise KneckError(
            f"a block of {threads} threads cannot be launched",
            help=f"give 1 to {limits.max_threads_per_block} threads per block",
        )
    _check_count("registers per thread", registers)
    _check_count("static shared memory", static_smem)
    _check_count("dynamic shared memory", dynamic_smem)
    if carveout is None or carveout == DEFAULT_CARVEOUT:
        return
    _check_whole("carve-out", carveout)
    if not 0 <= carveout <= 100:
        raise KneckError(
            f"a carve-out of {carveout} % does not exist",
            help="give 0 to 100 percent of the SM's shared memory, or leave it out",
        )


def _check_count(what: str, value: int) -> None:
    _check_whole(what, value)
    if value < 0:
        raise KneckError(f"{what}: {value} is negative", help="give 0 or more")
    if value.bit_length() > LARGEST_BITS:
        told = f"{what}: a number of {len(str(value))} digits is no size"
        raise KneckError(told, help="give a size that hardware could have")


def _check_whole(what: str, value: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise KneckError(f"{what}: {value!r} is not a whole number", help="give a whole number")
