"""Convergence barriers: BSSY names who takes part, BSYNC waits for them, BREAK leaves.

Without them a group of threads in code that the compiler moved out of line would be overtaken by
the others, and everything behind would be counted twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...parsers.listing import Instruction, Operand
from .parts import Run
from .trace import Lanes
from .values import Array

if TYPE_CHECKING:
    from .machine import Machine


class Barriers:
    """The barrier registers of all threads, and who waits where."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.members: dict[int, Array] = {}  # barrier register -> threads that take part
        self.saved: dict[int, Array] = {}  # general register -> barrier kept there
        self.waiting: dict[int, tuple[int, Array]] = {}  # block -> barrier, threads waiting

    def build(self, instruction: Instruction) -> Run:
        """Make the step of BSSY, BREAK or BMOV."""
        barrier = next((_number(o) for o in instruction.operands if o.kind == "barrier"), None)
        if barrier is None:
            return lambda: None
        if instruction.opcode == "BSSY":
            return lambda: self._set(barrier)
        if instruction.opcode == "BREAK":
            return lambda: self._leave(barrier)
        return self._move(instruction, barrier)

    def _nobody(self) -> Array:
        return np.zeros(self.machine.state.size, np.bool_)

    def _set(self, barrier: int) -> None:
        state = self.machine.state
        mask = state.mask()
        if state.warp_lanes is None:
            self.members[barrier] = mask
        else:
            others = self.members.get(barrier, self._nobody()) & ~state.warp_lanes
            self.members[barrier] = others | mask

    def _leave(self, barrier: int) -> None:
        if barrier in self.members:
            self.members[barrier] = self.members[barrier] & ~self.machine.state.mask()

    def _move(self, instruction: Instruction, barrier: int) -> Run:
        register = next((o.registers[0] for o in instruction.operands if o.registers), None)
        into = instruction.operands[0].kind == "barrier"

        def move() -> None:
            mask = self.machine.state.mask()
            if into:
                source = self.saved.get(register, self._nobody()) if register is not None else mask
                old = self.members.get(barrier, self._nobody())
                self.members[barrier] = np.where(mask, source, old)
                return
            old = self.members.get(barrier, self._nobody())
            if register is not None:
                kept = self.saved.get(register, self._nobody())
                self.saved[register] = np.where(mask, old, kept)
            if "CLEAR" in instruction.modifiers:
                self.members[barrier] = old & ~mask

        return move

    def arrive(self, index: int, last: Instruction, lanes: Lanes) -> None:
        """Let threads wait at a BSYNC; those whose barrier is complete go on at once."""
        barrier = next((_number(o) for o in last.operands if o.kind == "barrier"), -1)
        if lanes.full:
            self.waiting.pop(index, None)
            self.machine.go(index + 1, lanes.mask)
            return
        _, present = self.waiting.get(index, (barrier, self._nobody()))
        self.waiting[index] = (barrier, present | lanes.mask)
        self._open(index)

    def _open(self, index: int) -> bool:
        barrier, present = self.waiting[index]
        present = present & self.machine.alive
        missing = self.members.get(barrier, self._nobody()) & self.machine.alive & ~present
        held = np.repeat(missing.reshape(-1, 32).any(axis=1), 32)
        free = present & ~held
        rest = present & held
        if rest.any():
            self.waiting[index] = (barrier, rest)
        else:
            del self.waiting[index]
        self.machine.go(index + 1, free)
        return bool(free.any())

    def release(self) -> bool:
        """When nobody else can run: open what is complete now, or else the lowest barrier."""
        if not self.waiting:
            return False
        opened = [self._open(index) for index in sorted(self.waiting)]
        if not any(opened) and self.waiting:
            index = min(self.waiting)
            _, present = self.waiting.pop(index)
            self.machine.go(index + 1, present & self.machine.alive)
        return bool(self.machine.waiting or self.waiting)


def _number(operand: Operand) -> int:
    value = operand.value
    return int(value) if isinstance(value, (int, float)) else 0
