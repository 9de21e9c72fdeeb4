"""What an emulation records: blocks run and memory touched, each with the times it stands for."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from ...parsers.listing import Instruction
from ...parsers.record import dataclass
from .values import Array, Cell, add, additive


@dataclass(frozen=True, eq=False)
class Lanes:
    """A set of threads, interned: equal sets are the same object."""

    mask: Array
    warps: Array  # warps with a thread in the set, per sample
    threads: Array  # threads, per sample
    warp_mask: Array  # widened to whole warps
    full: bool  # every thread that still lives


@dataclass(eq=False, slots=True)
class Touch:
    """One execution of a memory instruction.

    Addresses are cells of the words of the address, the low one as `base` plus `offset`: most are
    never added up. `uncertain` tells that the guard is unknown. `weight` is the number of times
    this execution stands for.
    """

    instruction: Instruction
    lanes: Array
    base: Cell
    high: Cell
    weight: float
    offset: int = 0
    uncertain: bool = False
    shared_low: Cell = None  # LDGSTS: where in shared memory
    bytes: Cell = None  # bulk copies: what the barrier expects
    data: tuple[Cell, ...] = ()  # what a store writes, where that was asked for
    travel: int = 0  # bytes that it moves over the repeats of a closed loop that it stands for

    @property
    def low(self) -> Cell:
        """Give the low word of the address."""
        if self.offset:
            self.base, self.offset = additive(add, self.base, self.offset), 0
        return self.base


@dataclass(eq=False)
class Log:
    """Blocks in the order they ran, and memory touched; weights grow when a loop is closed."""

    blocks: list[int] = field(default_factory=list)
    lanes: list[Lanes] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    results: list[list[tuple[Any, ...] | None]] = field(default_factory=list)  # of control steps
    touches: list[Touch] = field(default_factory=list)
    first_touch: list[int] = field(default_factory=list)  # index into touches, per entry
    guesses: list[int] = field(default_factory=list)  # entries that jumped back on unknown data

    def __len__(self) -> int:
        return len(self.blocks)

    def repeat(self, start: int, end: int, times: float) -> None:
        """Let the entries of a window stand for `times` more of themselves."""
        factor = 1.0 + times
        self.weights[start:end] = [weight * factor for weight in self.weights[start:end]]
        last = self.first_touch[end] if end < len(self) else len(self.touches)
        for touch in self.touches[self.first_touch[start] : last] if start < end else ():
            touch.weight *= factor


class LaneTable:
    """Interned thread sets; `per_sample` threads (a multiple of 32) make one sampled block."""

    def __init__(self, samples: int, per_sample: int) -> None:
        self.shape = (samples, per_sample // 32, 32)
        self.table: dict[bytes, Lanes] = {}

    def get(self, mask: Array, alive: Array) -> Lanes | None:
        """Give the set of a mask; None for the empty one."""
        key = mask.tobytes() + (b"+" if np.array_equal(mask, alive) else b"-")
        found = self.table.get(key)
        if found is None:
            by_warp = mask.reshape(self.shape).any(axis=2)
            if not by_warp.any():
                return None
            threads = mask.reshape(self.shape[0], -1).sum(axis=1)
            wide = np.repeat(by_warp.reshape(-1), 32)
            found = Lanes(mask, by_warp.sum(axis=1), threads, wide, key.endswith(b"+"))
            self.table[key] = found
        return found
