"""The front door: a function and its launch in, what runs and what it touches out."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from ...parsers.listing import Function
from ...parsers.record import dataclass
from ..dep_operands import OperandRules
from .launch import Launch, scattered_samples
from .machine import Doubt, Limits, Machine
from .program import Program, build_program
from .state import State
from .trace import Log
from .values import Array

UNEVEN = 0.05  # relative difference of blocks that asks for more of them
SPREAD_THREADS = 16384


@dataclass(frozen=True, eq=False)
class Emulation:
    """What came out of one emulation."""

    program: Program
    launch: Launch
    log: Log
    doubt: Doubt


def emulate(
    function: Function,
    launch: Launch,
    rules: OperandRules,
    limits: Limits | None = None,
    observe_stores: bool = False,
) -> Emulation:
    """Emulate the sampled blocks of a launch.

    Where the blocks inside the grid do unequal work (points of a fractal, rows of a matrix), first,
    middle and last say little: blocks spread over the grid are emulated instead.
    """
    limits = limits or Limits()
    began = time.monotonic()
    program = build_program(function, rules, observe_stores)
    first = _once(program, launch, limits, observe_stores)
    if observe_stores or first.doubt.left_out_seconds or not _is_bent(first):
        return first
    spread = replace(launch, samples=scattered_samples(launch.grid, launch.warps, SPREAD_THREADS))
    left = limits.seconds - (time.monotonic() - began)
    second = _once(program, spread, replace(limits, seconds=max(left, 0.0)), False)
    if second.doubt.left_out_seconds or not _is_uneven(second):
        return first
    return second


def _once(program: Program, launch: Launch, limits: Limits, observe: bool) -> Emulation:
    machine = Machine(program, State(launch, observe=observe), limits)
    machine.run()
    return Emulation(program, launch, machine.log, machine.doubt)


def work_by_sample(emulation: Emulation) -> Array:
    """Give the warp instructions of each sampled block."""
    sizes = np.array([block.end - block.first for block in emulation.program.blocks])
    total = np.zeros(len(emulation.launch.samples))
    log = emulation.log
    for index, lanes, weight in zip(log.blocks, log.lanes, log.weights, strict=True):
        total += lanes.warps * (weight * sizes[index])
    return total


def _is_bent(emulation: Emulation) -> bool:
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
    return bool(abs(middle - corners) > UNEVEN * max(float(work.max()), 1.0))


def _is_uneven(emulation: Emulation) -> bool:
    """Tell whether blocks taken at random differ."""
    work = work_by_sample(emulation)
    return bool(work.std() > UNEVEN * max(float(work.mean()), 1.0))
