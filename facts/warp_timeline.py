"""One warp alone: when each instruction issues, what it waits for, and where.

The emulated trace of a warp is played back with the stalls and scoreboards that the compiler wrote
into the control words. Waits across iterations come out by themselves, because the state of the
scoreboards goes on from one iteration to the next; an entry of the trace that stands for many
repeats counts as often.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

import numpy as np

from ..parsers.listing import Instruction
from ..parsers.record import dataclass
from .emulator.emulate import Emulation

SCOREBOARDS = 6
GROUP_END, GROUP_WAIT = "LDGDEPBAR", "DEPBAR"
BARRIER = "BAR"
CHAIN, ISSUE = "dependent arithmetic", "issue"

Delay = Callable[[Instruction], tuple[str, float] | None]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Cycles of one warp, and what they went into: (cause, address) -> cycles.

    `ISSUE` is one cycle per instruction, `CHAIN` the stalls beyond it; every other cause is named
    after the unit that was waited for, at the address of the instruction that it was waited for.
    """

    cycles: float
    parts: Mapping[tuple[str, int], float]


@dataclass(slots=True)
class _Op:
    address: int
    stall: float
    waits: tuple[int, ...]
    kind: str
    latency: float
    write: int | None
    read: int | None
    opcode: str
    groups_left: tuple[int, int] | None  # scoreboard and groups that may stay under way
    at_barrier: float


@dataclass
class _Clock:
    now: float = 0.0
    parts: dict[tuple[str, int], float] = field(default_factory=dict)
    # per scoreboard: (done at, cause, address) of what is under way, oldest first
    flying: list[list[tuple[float, str, int]]] = field(
        default_factory=lambda: [[] for _ in range(SCOREBOARDS)]
    )
    copies: tuple[float, str, int] = (0.0, "", 0)  # the latest of the open group

    def spend(self, cause: str, address: int, cycles: float, weight: float) -> None:
        """Let time pass for a cause."""
        if cycles > 0:
            self.now += cycles
            key = (cause, address)
            self.parts[key] = self.parts.get(key, 0.0) + cycles * weight

    def wait(self, number: int, left: int, weight: float) -> None:
        """Wait until at most `left` of a scoreboard's operations are under way."""
        under_way = self.flying[number]
        done = under_way[: max(0, len(under_way) - left)]
        if done:
            last = max(done)
            self.spend(last[1], last[2], last[0] - self.now, weight)
            self.flying[number] = under_way[len(done) :]


def play(emulation: Emulation, delay: Delay, operand_cycles: float) -> Timeline | None:
    """Play the busiest warp of the middle block; None where the listing has no control words.

    `delay` names the unit that an instruction's result comes from, and its latency in cycles; None
    for what has a fixed latency. `operand_cycles`: until the operands of such an instruction are
    read.
    """
    function = emulation.program.function
    if not function.has_control:
        return None
    warp = _busiest_warp(emulation)
    log = emulation.log
    ops: dict[int, list[_Op]] = {}
    clock = _Clock()
    total = 0.0
    for index, lanes, weight in zip(log.blocks, log.lanes, log.weights, strict=True):
        if not lanes.warp_mask[warp * 32]:
            continue
        if index not in ops:
            block = emulation.program.blocks[index]
            ops[index] = [_op(i, delay) for i in function.instructions[block.first : block.end]]
        before = clock.now
        for op in ops[index]:
            _step(clock, op, operand_cycles, weight)
        total += (clock.now - before) * weight
    return Timeline(total, clock.parts)


def _busiest_warp(emulation: Emulation) -> int:
    """Give the warp of the heaviest sample that runs most, as an index over all warps."""
    launch, log = emulation.launch, emulation.log
    sample = int(np.argmax(launch.weights))
    rows = slice(sample * launch.warps * 32, (sample + 1) * launch.warps * 32, 32)
    sizes = [block.end - block.first for block in emulation.program.blocks]
    work = np.zeros(launch.warps)
    for index, lanes, weight in zip(log.blocks, log.lanes, log.weights, strict=True):
        work += lanes.warp_mask[rows] * (weight * sizes[index])
    return sample * launch.warps + int(work.argmax())


def _op(instruction: Instruction, delay: Delay) -> _Op:
    control = instruction.control
    kind, latency = delay(instruction) or ("other", 0.0)
    groups = None
    if instruction.opcode == GROUP_WAIT:
        board = next((o.text for o in instruction.operands if o.text.startswith("SB")), None)
        left = [o.value for o in instruction.operands if o.kind == "immediate"]
        if board is not None:
            count = int(left[0]) if left and left[0] is not None else 0
            groups = (int(board[2:]), count)
    at_barrier = latency if instruction.opcode == BARRIER else 0.0
    if control is None:
        return _Op(instruction.address, 1.0, (), kind, latency, None, None, "", groups, at_barrier)
    waits = tuple(n for n in range(SCOREBOARDS) if control.wait_mask >> n & 1)
    return _Op(
        instruction.address, float(max(1, control.stall)), waits, kind, latency,
        control.write_barrier, control.read_barrier, instruction.opcode, groups, at_barrier,
    )  # fmt: skip


def _step(clock: _Clock, op: _Op, operand_cycles: float, weight: float) -> None:
    for number in op.waits:
        clock.wait(number, 0, weight)
    if op.groups_left is not None:
        clock.wait(*op.groups_left, weight)
    issued = clock.now
    if op.opcode == "LDGSTS":
        clock.copies = max(clock.copies, (issued + op.latency, op.kind, op.address))
    if op.write is not None and op.write < SCOREBOARDS:
        done = (issued + op.latency, op.kind, op.address)
        if op.opcode == GROUP_END:
            done = (max(clock.copies[0], issued), clock.copies[1], clock.copies[2])
        clock.flying[op.write].append(done)
    if op.read is not None and op.read < SCOREBOARDS:
        clock.flying[op.read].append((issued + operand_cycles, op.kind, op.address))
    clock.spend(ISSUE, op.address, 1.0, weight)
    clock.spend(CHAIN, op.address, op.stall - 1.0, weight)
    clock.spend(op.kind, op.address, op.at_barrier, weight)
