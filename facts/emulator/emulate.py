"""The front door: a function and its launch in, what runs and what it touches out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...parsers.listing import Function
from ...parsers.record import dataclass
from ..dep_operands import OperandRules
from .budget import Budget, Limits
from .launch import Launch
from .machine import Doubt, Machine
from .program import Program, build_program
from .samples import scattered_samples
from .state import State
from .trace import Log
from .values import Array


@dataclass(frozen=True, eq=False)
class Emulation:
    """What came out of one emulation, and what of the budget was spent until then."""

    program: Program
    launch: Launch
    log: Log
    doubt: Doubt
    spent: float


def emulate(
    function: Function,
    launch: Launch,
    rules: OperandRules,
    limits: Limits,
    observe_stores: bool = False,
) -> Emulation:
    """Emulate the sampled blocks of a launch.

    Where the blocks inside the grid do unequal work (points of a fractal, rows of a matrix), first,
    middle and last say little: blocks spread over the grid are emulated instead.
    """
    budget = Budget(limits)
    program = build_program(function, rules, observe_stores)
    first = _once(program, launch, limits, budget, observe_stores)
    if observe_stores or first.doubt.ended_early or not _is_bent(first, limits.uneven):
        return first
    samples = scattered_samples(launch.grid, launch.warps, limits.spread_threads)
    second = _once(program, replace(launch, samples=samples), limits, budget, False)
    if second.doubt.ended_early or not _is_uneven(second, limits.uneven):
        return first
    return second


def _once(
    program: Program, launch: Launch, limits: Limits, budget: Budget, observe: bool
) -> Emulation:
    machine = Machine(program, State(launch, observe=observe), limits, budget)
    machine.run()
    return Emulation(program, launch, machine.log, machine.doubt, budget.spent)


def work_by_sample(emulation: Emulation) -> Array:
    """Give the warp instructions of each sampled block."""
    sizes = np.array([block.end - block.first for block in emulation.program.blocks])
    total = np.zeros(len(emulation.launch.samples))
    log = emulation.log
    for index, lanes, weight in zip(log.blocks, log.lanes, log.weights, strict=True):
        total += lanes.warps * (weight * sizes[index])
    return total


def _is_bent(emulation: Emulation, uneven: float) -> bool:
    """Tell whether the middle of the grid does not lie between its first and last block."""
    launch = emulation.launch
    if launch.blocks <= len(launch.samples) or len(launch.samples) < 3:
        return False
    work = work_by_sample(emulation)
    inside = [
        all(n <= 3 or 0 < i < n - 1 for i, n in zip(sample.index, launch.grid, strict=True))
        for sample in launch.samples
    ]
    corners = (work[0] + work[-1]) / 2
    middle = float(work[inside].mean()) if any(inside) else corners
    return bool(abs(middle - corners) > uneven * max(float(work.max()), 1.0))


def _is_uneven(emulation: Emulation, uneven: float) -> bool:
    """Tell whether blocks taken at random differ."""
    work = work_by_sample(emulation)
    return bool(work.std() > uneven * max(float(work.mean()), 1.0))
