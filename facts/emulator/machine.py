"""The stepping of all threads through the blocks, lowest address first.

Threads that reach the same block run it together; the group at the lowest address always goes
first, which brings diverged threads of structured code together again, so that barriers and
convergence points need no handling of their own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import Any

import numpy as np

from ...parsers.record import dataclass
from . import branches
from .barriers import Barriers
from .budget import Budget, Limits
from .launch import POINTER_SPACING, array_of
from .loops import LoopTable
from .memory import build_access
from .program import CONVERGENCE, Block, Program, Step
from .semantics import BUILDERS, DATA
from .state import Getter, State
from .trace import Lanes, LaneTable, Log, Touch
from .values import Array, Cell, Drift, Partly, known_in, plain_values, unknown

NARROW = frozenset({"U8", "S8", "U16", "S16"})
LOADS = frozenset({"LDG", "LD", "LDS"})


@dataclass(eq=False)
class Doubt:
    """What the emulation could not decide: addresses, with the reason."""

    unknown_opcodes: Counter[str] = field(default_factory=Counter)
    unknown_branches: set[int] = field(default_factory=set)  # addresses of branches on data
    unknown_loops: set[tuple[int, int]] = field(default_factory=set)  # first, last address
    unknown_regions: set[tuple[int, int]] = field(default_factory=set)
    unknown_guards: set[int] = field(default_factory=set)
    ended_early: bool = False  # the budget was spent


@dataclass(eq=False, slots=True)
class Compiled:
    """One step ready to run."""

    step: Step
    guard: Getter | None
    run: Any  # the semantics, or None: results unknown
    access: Any  # records the access, or None


def _agrees(cell: Cell, lanes: Array) -> bool:
    """Tell whether the threads of each warp hold the same address, or one known not to differ."""
    if type(cell) is Drift:
        return cell.uniform and _agrees(cell.values, lanes)
    if type(cell) is int:
        return True
    if not isinstance(cell, np.ndarray):
        return False
    rows, used = cell.reshape(-1, 32), lanes.reshape(-1, 32)
    first = rows[np.arange(len(rows)), used.argmax(axis=1)]
    return bool(((rows == first[:, None]) | ~used).all())


class Machine:
    """One emulation; `run` does it, `log` and `doubt` tell what came out."""

    def __init__(self, program: Program, state: State, limits: Limits, budget: Budget) -> None:
        self.program = program
        self.state = state
        self.limits = limits
        self.budget = budget
        self.costs: dict[int, float] = {}  # of one execution, by block
        self.log = Log()
        self.doubt = Doubt()
        launch = state.launch
        self.table = LaneTable(len(launch.samples), launch.warps * 32)
        self.alive: Array = launch.alive.copy()
        self.waiting: dict[int, Array] = {0: self.alive} if program.blocks else {}
        self.loops = LoopTable(self)
        self.returns: dict[int, int] = {}  # entry of a routine -> block behind the last call
        self.compiled: dict[int, list[Compiled]] = {}
        self.branch_lanes = branches.Branches(self)
        self.barriers = Barriers(self)

    def run(self) -> None:
        """Step until no thread is left, or the budget is spent."""
        while self.waiting or self.barriers.release():
            if self.budget.is_spent:
                self.doubt.ended_early = True
                return
            index = min(self.waiting)
            lanes = self.table.get(self.waiting.pop(index) & self.alive, self.alive)
            if lanes is not None:
                self._block(self.program.blocks[index], lanes)

    def go(self, index: int, mask: Array, source: Block | None = None) -> None:
        """Let threads wait at a block; a jump backwards may close a loop first."""
        if index >= len(self.program.blocks) or not mask.any():
            return
        present = self.waiting.get(index)
        self.waiting[index] = mask if present is None else present | mask

    def _block(self, block: Block, lanes: Lanes) -> None:
        if self.loops.is_header(block.index):
            self.loops.arrive(block.index, lanes)
        log = self.log
        log.blocks.append(block.index)
        log.lanes.append(lanes)
        log.weights.append(1.0)
        log.first_touch.append(len(log.touches))
        results: list[tuple[Any, ...] | None] = []
        log.results.append(results)
        steps = self.compiled.get(block.index)
        if steps is None:
            steps = self.compiled[block.index] = [self._compile(step) for step in block.steps]
            self.costs[block.index] = self._cost(block)
        self.budget.spend(self.costs[block.index])
        self._enter(lanes)
        for one in steps:
            operands = self._step(one, lanes)
            if one.step.control:
                results.append(self._result(one.step, operands))
        self.branch_lanes.leave(block, lanes)

    def _cost(self, block: Block) -> float:
        accesses = sum(step.access for step in block.steps)
        size = self.state.size
        return self.budget.of_block(block.end - block.first, len(block.steps), accesses, size)

    def _result(self, step: Step, operands: Any) -> tuple[Any, ...] | None:
        """Give what a step compared and wrote; None where all of it is unknown."""
        values = [self.state.at(number) for number in step.writes]
        for value in values:
            if not unknown(value):
                return (operands, *values)
        return None

    def _enter(self, lanes: Lanes) -> None:
        state = self.state
        state.lanes = None if lanes.full else lanes.mask
        state.warp_lanes = None if lanes.full else lanes.warp_mask

    def _step(self, one: Compiled, lanes: Lanes) -> Any:
        if one.guard is None:
            return self._execute(one)
        condition = one.guard()
        if condition is True:
            return self._execute(one)
        if condition is False:
            return None
        return self._guarded(one, lanes, condition)

    def _guarded(self, one: Compiled, lanes: Lanes, condition: Cell) -> Any:
        """Run a step where its guard holds; where that is unknown, forget its results."""
        known = known_in(condition, (self.state.size,))
        holds = lanes.mask & known & plain_values(condition, known.shape).astype(np.bool_)
        unknown = lanes.mask & ~known
        result = None
        if holds.any():
            self._focus(holds)
            result = self._execute(one)
        if unknown.any():
            self._focus(unknown)
            self.doubt.unknown_guards.add(one.step.instruction.address)
            before = len(self.log.touches)
            if one.access is not None:
                one.access()
            for touch in self.log.touches[before:]:
                touch.uncertain = True
            self._forget(one.step)
        self._enter(lanes)
        return result

    def _focus(self, mask: Array) -> None:
        state = self.state
        state.lanes = mask
        state.warp_lanes = np.repeat(mask.reshape(-1, 32).any(axis=1), 32)

    def _execute(self, one: Compiled) -> Any:
        if one.access is not None:
            one.access()
            if one.step.instruction.opcode == "LDL":
                return None
        if one.run is not None:
            return one.run()
        self._forget(one.step)
        return None

    def _forget(self, step: Step) -> None:
        """Make results unknown; what a load brings from one address is the same for the warp."""
        if not step.used:
            return  # nobody reads them before they are written again
        value: Cell = None
        if step.instruction.opcode in LOADS and self.log.touches:
            touch = self.log.touches[-1]
            if touch.instruction is step.instruction:
                if self.state.launch.contents and self._load(step, touch):
                    return
                if _agrees(touch.base, touch.lanes):
                    value = Drift(0, True)
        for number in step.writes:
            self.state.put_at(number, value)

    def _load(self, step: Step, touch: Touch) -> bool:
        """Load from an array whose contents are given; False where that does not apply."""
        if any(unknown(cell) or type(cell) is Partly for cell in (touch.low, touch.high)):
            return False
        shape = (self.state.size,)
        high = plain_values(touch.high, shape).astype(np.int64) << 32
        place = (high | plain_values(touch.low, shape).astype(np.int64))[touch.lanes]
        number = array_of(int(place[0]))
        contents = self.state.launch.contents.get(number)
        if contents is None or NARROW & set(step.instruction.modifiers):
            return False
        if np.any(place // POINTER_SPACING != number):
            return False
        offset = np.zeros(shape, np.int64)
        offset[touch.lanes] = place - number * POINTER_SPACING
        for word, number in enumerate(step.writes):
            self.state.put_at(number, contents.words(offset + 4 * word))
        return True

    def _compile(self, step: Step) -> Compiled:
        instruction = step.instruction
        guard = self.state.guard(instruction.predicate)
        if instruction.never_executes:
            return Compiled(step, lambda: False, None, None)
        if instruction.opcode in CONVERGENCE:
            return Compiled(step, guard, self.barriers.build(instruction), None)
        access = build_access(instruction, self.state, self.log) if step.access else None
        builder = BUILDERS.get(instruction.opcode)
        run = None
        if builder is not None:
            run = builder(instruction, self.state)
        if run is None and step.writes and instruction.opcode not in DATA:
            self.doubt.unknown_opcodes[instruction.mnemonic] += 1
        return Compiled(step, guard, run, access)
