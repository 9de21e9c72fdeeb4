"""Where threads go at the end of a block, also when data decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...parsers.listing import Instruction
from .program import EXITS, Block
from .state import Getter
from .trace import Lanes
from .values import Array, Cell, known_in, lifted, plain_values

if TYPE_CHECKING:
    from .machine import Machine

INSTRUCTION_BYTES = 16


class Branches:
    """The ends of blocks, with the rules for branches on unknown data.

    Backward: taken a few times. Forward over a call: taken (the slow path of a division is rare).
    Forward to an alternative (both sides join later): half of the threads take it, so that both
    sides are counted. Any other forward branch: not taken, the guarded code runs.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.conditions: dict[int, list[Getter]] = {}
        self.trips: dict[int, int] = {}
        self.last_call: int | None = None

    def leave(self, block: Block, lanes: Lanes) -> None:
        """Send the threads of a block on."""
        machine, last = self.machine, block.last
        if last is None:
            machine.go(block.index + 1, lanes.mask)
            return
        if last.opcode == "BSYNC":
            machine.barriers.arrive(block.index, last, lanes)
            return
        condition = self._condition(block, last)
        if last.opcode in EXITS:
            self._exit(block, last, lanes, condition)
        elif last.opcode == "RET":
            self._return(block, last, lanes, condition)
        elif last.opcode in ("BRX", "BRXU", "JMX", "JMXU"):
            self._indirect(block, last, lanes)
        elif not block.targets:
            machine.go(block.index + 1, lanes.mask)  # a call that leaves the function
        else:
            self._jump(block, last, lanes, condition)

    def _condition(self, block: Block, last: Instruction) -> Cell:
        getters = self.conditions.get(block.index)
        if getters is None:
            state = self.machine.state
            guard = state.guard(last.predicate)
            getters = [guard] if guard is not None else []
            if last.opcode != "RET":
                getters += [
                    state.predicate(o)
                    for o in last.operands
                    if o.kind in ("predicate", "uniform_predicate")
                ]
            self.conditions[block.index] = getters
        if "DIV" in last.modifiers:
            return False  # only warps that have diverged leave the fast path
        if "CONV" in last.modifiers:
            return True
        result: Cell = True
        for getter in getters:
            value = getter()
            if value is False:
                return False
            result = value if result is True else lifted(lambda a, b: a & b, result, value)
        return result

    def _exit(self, block: Block, last: Instruction, lanes: Lanes, condition: Cell) -> None:
        machine = self.machine
        known = known_in(condition, lanes.mask.shape)
        leaving = lanes.mask & known & plain_values(condition, lanes.mask.shape).astype(np.bool_)
        if (lanes.mask & ~known).any():
            machine.doubt.unknown_branches.add(last.address)
        if leaving.any():
            machine.alive = machine.alive & ~leaving
            machine.state.alive = machine.alive
        machine.go(block.index + 1, lanes.mask & ~leaving)

    def _jump(self, block: Block, last: Instruction, lanes: Lanes, condition: Cell) -> None:
        target = block.targets[0]
        if last.opcode == "CALL":
            self.machine.returns[target] = block.index + 1
            self.last_call = block.index + 1
        backward = target <= block.index and last.opcode != "CALL"
        known = known_in(condition, lanes.mask.shape)
        taken = lanes.mask & known & plain_values(condition, lanes.mask.shape).astype(np.bool_)
        unknown = lanes.mask & ~known
        if "ANY" in last.modifiers:
            taken = _whole_warps(taken, lanes.mask)
        if unknown.any():
            taken = taken | self._guess(block, last, unknown, target, backward)
        elif backward and taken.any():
            self.trips.pop(block.index, None)
        if backward and taken.any():
            self.machine.loops.mark(target, block.index)
        self.machine.go(target, taken)
        self.machine.go(block.index + 1, lanes.mask & ~taken)

    def _guess(
        self, block: Block, last: Instruction, unknown: Array, target: int, backward: bool
    ) -> Array:
        """Decide for threads whose condition is data."""
        machine, nothing = self.machine, np.zeros_like(unknown)
        machine.doubt.unknown_branches.add(last.address)
        code, blocks = machine.program.function.instructions, machine.program.blocks
        if backward:
            first = code[blocks[target].first].address
            machine.doubt.unknown_loops.add((first, last.address))
            machine.log.guesses.append(len(machine.log) - 1)
            count = self.trips.get(block.index, 0) + 1
            if count >= machine.limits.unknown_trips:
                self.trips.pop(block.index, None)
                return nothing
            self.trips[block.index] = count
            return unknown
        over = blocks[block.index + 1 : target]
        machine.doubt.unknown_regions.add(
            (code[blocks[block.index].end - 1].address, code[blocks[target].first].address)
        )
        if any(b.last is not None and b.last.opcode == "CALL" for b in over):
            return unknown
        if self._has_alternative(block.index, target):
            half = np.zeros_like(unknown)
            half[1::2] = True
            return unknown & half
        return nothing

    def _has_alternative(self, index: int, target: int) -> bool:
        """Tell whether the code before the target jumps over the block at the target."""
        blocks = self.machine.program.blocks
        before = blocks[target - 1] if target > 0 else None
        if before is None or before.last is None or before.index <= index:
            return False
        last = before.last
        return (
            last.opcode == "BRA"
            and last.predicate is None
            and bool(before.targets)
            and (before.targets[0] > target)
        )

    def _return(self, block: Block, last: Instruction, lanes: Lanes, condition: Cell) -> None:
        machine = self.machine
        known = known_in(condition, lanes.mask.shape)
        going = lanes.mask & known & plain_values(condition, lanes.mask.shape).astype(np.bool_)
        register = next((o for o in last.operands if o.kind == "register"), None)
        value = (
            machine.state.registers[register.registers[0]]
            if register and register.registers
            else None
        )
        shape = lanes.mask.shape
        addresses = plain_values(value, shape)
        sure = going & known_in(value, shape)
        for address in sorted(set(addresses[sure].tolist())):
            target = machine.program.block_at.get(address, self.last_call)
            if target is not None:
                machine.go(target, sure & (addresses == address))
        rest = going & ~sure
        if rest.any() and self.last_call is not None:
            machine.go(self.last_call, rest)
        machine.go(block.index + 1, lanes.mask & ~going)

    def _indirect(self, block: Block, last: Instruction, lanes: Lanes) -> None:
        """Follow a branch through a table: the register holds an offset from the next instruction.

        Where the table is not known, threads are spread over the targets.
        """
        machine = self.machine
        operand = last.operands[-1] if last.operands else None
        value: Cell = None
        if operand is not None and (operand.registers or operand.uniforms):
            get = machine.state.bits(operand)
            value = get()
        shape = lanes.mask.shape
        sure = lanes.mask & known_in(value, shape)
        origin = last.address + INSTRUCTION_BYTES + ((operand.offset or 0) if operand else 0)
        goals = plain_values(value, shape).astype(np.int64) + origin & 0xFFFFFFFF
        for address in sorted(set(goals[sure].tolist())):
            target = machine.program.block_at.get(address)
            here = sure & (goals == address)
            if target is None:
                sure = sure & ~here
            else:
                machine.go(target, here)
        rest = lanes.mask & ~sure
        if not rest.any():
            return
        machine.doubt.unknown_branches.add(last.address)
        number = np.arange(len(rest)) % max(1, len(block.targets))
        for position, target in enumerate(block.targets or (block.index + 1,)):
            machine.go(target, rest & (number == position))


def _whole_warps(taken: Array, mask: Array) -> Array:
    rows = taken.reshape(-1, 32).any(axis=1)
    return mask & np.repeat(rows, 32)
