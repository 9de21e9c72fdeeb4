"""Where one byte or one register more costs a block, and what buys the next one.

The inverse of `occupancy`: closed forms over the same rules (source H1 in kb/sources.yaml).
"""

from __future__ import annotations

from itertools import chain

from ..parsers.record import dataclass
from .hardware import SmLimits
from .occupancy import (
    DEFAULT_CARVEOUT,
    KB,
    allocated_smem_bytes,
    occupancy,
    register_block_limit,
    registers_checked_at_launch,
    smem_block_limit,
    warps_per_block,
)


def smem_cliffs(limits: SmLimits, carveout: int | None = None) -> dict[int, int]:
    """Map n to the largest bytes per block (static + dynamic) that let n blocks share an SM.

    Only shared memory counts here, and n ends at the blocks that an SM takes at all.
    """
    capacity = _capacity(limits, carveout)
    cliffs = {}
    for blocks in range(1, limits.max_blocks_per_sm + 1):
        size = largest_smem_for(limits, blocks, capacity)
        if size is None:
            break
        cliffs[blocks] = size
    return cliffs


def largest_smem_for(limits: SmLimits, blocks: int, capacity: int | None = None) -> int | None:
    """Give the largest bytes per block for so many blocks; None where not even 0 B fits."""
    capacity = limits.smem_bytes_per_sm if capacity is None else capacity
    unit = limits.smem_allocation_granularity_bytes
    size = capacity // blocks // unit * unit - limits.smem_reserved_bytes_per_block
    return min(size, limits.smem_bytes_per_block_optin) if size >= 0 else None


def largest_registers_for(limits: SmLimits, blocks: int, threads: int) -> int | None:
    """Give the most registers per thread for so many blocks; None where not even 1 fits."""
    warps = warps_per_block(limits, threads)
    step = limits.register_allocation_unit // limits.threads_per_warp
    top = limits.max_registers_per_thread
    for registers in chain([top], range(top // step * step, 0, -step)):
        limit = register_block_limit(limits, registers, warps)
        if limit is not None and limit >= blocks:
            return registers
    return None


def largest_threads_for(limits: SmLimits, registers: int) -> int:
    """Give the largest block in whole warps that the register file lets start; 0 if none does."""
    warp = limits.threads_per_warp
    for warps in range(limits.max_threads_per_block // warp, 0, -1):
        if registers_checked_at_launch(limits, registers, warps) <= limits.registers_per_block:
            return warps * warp
    return 0


@dataclass(frozen=True, slots=True)
class Doubling:
    """What doubling the shared memory of a block (a second buffer) does to the blocks per SM."""

    smem_bytes: int
    blocks_now: int
    blocks_doubled: int


def doubling(limits: SmLimits, smem_bytes: int, carveout: int | None = None) -> Doubling:
    """Compare the blocks that shared memory allows now and with twice the bytes; 0: no launch."""
    now = _blocks(limits, smem_bytes, carveout)
    return Doubling(2 * smem_bytes, now, _blocks(limits, 2 * smem_bytes, carveout))


@dataclass(frozen=True, slots=True)
class NextBlock:
    """What must be given up for more blocks per SM: registers per thread, bytes per block.

    `registers` and `smem_bytes` are the largest values that still allow `blocks`, None where the
    present one does already. `reachable` is false where warps, block slots or barriers forbid it.
    """

    blocks: int
    active_warps: int
    registers: int | None
    smem_bytes: int | None
    reachable: bool


def next_block(
    limits: SmLimits,
    registers: int,
    threads: int,
    smem_bytes: int,
    more: int = 1,
    barriers: int = 1,
) -> NextBlock:
    """Say what to give up so that `more` further blocks fit; several resources may be needed."""
    now = occupancy(limits, registers, threads, smem_bytes, barriers=barriers)
    blocks = now.blocks_per_sm + more
    most_registers = largest_registers_for(limits, blocks, threads)
    most_smem = largest_smem_for(limits, blocks)
    fixed = (now.block_limits[name] for name in ("warps", "blocks", "barriers"))
    reachable = (
        most_registers is not None
        and most_smem is not None
        and all(limit is None or limit >= blocks for limit in fixed)
    )
    return NextBlock(
        blocks,
        blocks * now.warps_per_block,
        most_registers if most_registers is not None and most_registers < registers else None,
        most_smem if most_smem is not None and most_smem < smem_bytes else None,
        reachable,
    )


def registers_to_the_cliff(limits: SmLimits, registers: int, threads: int) -> int | None:
    """Count how many registers per thread may be added before a block is lost to registers.

    None where no register count of a thread loses one.
    """
    blocks = register_block_limit(limits, registers, warps_per_block(limits, threads))
    if not blocks:
        return None
    most = largest_registers_for(limits, blocks, threads)
    if most is None or most >= limits.max_registers_per_thread:
        return None
    return most - registers


def _capacity(limits: SmLimits, carveout: int | None) -> int:
    if carveout is None or carveout == DEFAULT_CARVEOUT:
        return limits.smem_bytes_per_sm
    wanted = carveout * limits.smem_bytes_per_sm // 100
    return min(kb * KB for kb in limits.smem_carveouts_kb if kb * KB >= wanted)


def _blocks(limits: SmLimits, smem_bytes: int, carveout: int | None) -> int:
    request = allocated_smem_bytes(limits, smem_bytes)
    blocks = smem_block_limit(limits, request, max(_capacity(limits, carveout), request))
    return limits.max_blocks_per_sm if blocks is None else min(blocks, limits.max_blocks_per_sm)
