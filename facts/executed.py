"""How often each instruction runs over the whole launch, and how sure that is.

From the emulation where the launch determines it. Where trip counts are data or unknown, a FLOP
anchor takes over: the work of the problem over the work of one iteration. Where there is no work
either, the launch gives the least that must run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from ..parsers.record import dataclass
from .emulator.emulate import Emulation
from .emulator.launch import WARP
from .spans import Span, total

Basis = Literal["emulation", "anchor", "time", "launch"]


@dataclass(frozen=True)
class Executed:
    """Warp instructions over the launch.

    `counts` maps an instruction's address to its executions; `basis` tells where they come from,
    `doubts` why they may be wrong. `exact` says that nothing was guessed.
    """

    counts: Mapping[int, Span]
    basis: Basis
    doubts: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Tell whether every count follows from the launch."""
        return self.basis == "emulation" and not self.doubts

    @property
    def total(self) -> Span:
        """All warp instructions."""
        return total(self.counts.values())


def block_counts(emulation: Emulation) -> list[float]:
    """Give warp executions of each block of the program, over the launch."""
    counts = [0.0] * len(emulation.program.blocks)
    log, weights = emulation.log, emulation.launch.weights
    by_lanes: dict[int, float] = {}
    for index, lanes, weight in zip(log.blocks, log.lanes, log.weights, strict=True):
        key = id(lanes)
        warps = by_lanes.get(key)
        if warps is None:
            warps = by_lanes[key] = float(np.dot(lanes.warps, weights))
        counts[index] += weight * warps
    return counts


def lane_shares(emulation: Emulation) -> dict[int, float]:
    """Give the share of lanes that are on, by instruction, over all warps that run it.

    Lanes that a guard turns off count as on: they go the same way.
    """
    log, weights = emulation.log, emulation.launch.weights
    blocks = emulation.program.blocks
    on, all_ = [0.0] * len(blocks), [0.0] * len(blocks)
    for index, lanes, weight in zip(log.blocks, log.lanes, log.weights, strict=True):
        on[index] += weight * float(np.dot(lanes.threads, weights))
        all_[index] += weight * WARP * float(np.dot(lanes.warps, weights))
    code = emulation.program.function.instructions
    return {
        code[position].address: on[block.index] / all_[block.index]
        for block in blocks
        if all_[block.index]
        for position in range(block.first, block.end)
    }


def from_emulation(emulation: Emulation, extra_doubts: Sequence[str] = ()) -> Executed:
    """Read the counts off an emulation; blocks that data decides get an interval."""
    code = emulation.program.function.instructions
    doubt = emulation.doubt
    loops = sorted(doubt.unknown_loops)
    regions = sorted(doubt.unknown_regions)
    counts: dict[int, Span] = {}
    for block, count in zip(emulation.program.blocks, block_counts(emulation), strict=True):
        first = code[block.first].address
        low = high = count
        if doubt.ended_early:
            high = float("inf")
        if any(a <= first <= b for a, b in loops):
            low, high = 0.0, float("inf")
        elif any(a < first < b for a, b in regions):
            low = 0.0
        span = Span(low, count, high)
        for position in range(block.first, block.end):
            counts[code[position].address] = span
    return Executed(counts, "emulation", (*_doubts(emulation), *extra_doubts))


def _doubts(emulation: Emulation) -> list[str]:
    doubt = emulation.doubt
    reasons = []
    if doubt.ended_early:
        reasons.append("the budget ended the emulation: counts are what ran until then")
    for first, last in sorted(doubt.unknown_loops):
        reasons.append(f"the trip count of the loop {first:#06x}-{last:#06x} is data")
    if doubt.unknown_opcodes:
        names = ", ".join(sorted(doubt.unknown_opcodes))
        reasons.append(f"opcodes not known to the emulator: {names}")
    return reasons
