"""Closing loops by their steady state, so that the cost does not grow with the trip count.

A window is a number of iterations. When the last two windows ran the same blocks with the same
threads, and every register that control needs changed by the same amount in both, the loop is
followed label by label: a value is constant, linear in the number of windows, or neither. Only
additions, multiplications by constants, shifts and the like keep a value linear; comparisons of
linear values tell after how many windows they turn. Up to then all windows are the same: they are
counted, the registers are moved on, and the emulation continues before the first turn.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from ...parsers.record import dataclass
from .steady import windows_until_change
from .trace import Lanes
from .values import Array, Cell, Partly, same, unknown
from .window import Window

if TYPE_CHECKING:
    from .machine import Machine

LONGEST_WINDOW = 32  # iterations
LEAST_GAIN = 2  # windows worth skipping
FEW_STEPS = 4000  # evaluated steps in a window; longer ones are not lengthened for alignment


@dataclass(eq=False)
class Visit:
    """One arrival at a loop's head: where the log stood, who came, what the registers held."""

    entry: int
    touches: int
    lanes: Lanes
    values: dict[int, Cell]
    local: dict[int, Cell]  # local memory, where a spilled counter lives


@dataclass(eq=False)
class Head:
    """Arrivals at one loop head since the group of threads last changed."""

    visits: list[Visit] = field(default_factory=list)
    last: int = -1  # highest block that jumps back here


class LoopTable:
    """All loop heads met so far."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.heads: dict[int, Head] = {}

    def mark(self, header: int, source: int) -> None:
        """Note a jump backwards."""
        head = self.heads.setdefault(header, Head())
        head.last = max(head.last, source)

    def is_header(self, index: int) -> bool:
        """Tell whether a block is the target of a jump backwards that was taken."""
        return index in self.heads

    def arrive(self, index: int, lanes: Lanes) -> None:
        """Remember an arrival, and close the loop where it has become steady."""
        machine, head = self.machine, self.heads[index]
        visits = head.visits
        if visits and visits[-1].lanes is not lanes:
            visits.clear()
        block = machine.program.blocks[index]
        values = {number: machine.state.at(number) for number in block.needed}
        local = dict(machine.state.local)
        visits.append(Visit(len(machine.log), len(machine.log.touches), lanes, values, local))
        if len(visits) > 2 * LONGEST_WINDOW + 1:
            del visits[0]
        for length in range(1, (len(visits) - 1) // 2 + 1):
            if self._close(index, head, length):
                visits.clear()
                return

    def _close(self, index: int, head: Head, length: int) -> bool:
        first, middle, last = (head.visits[-1 - k * length] for k in (2, 1, 0))
        log = self.machine.log
        if last.entry - middle.entry != middle.entry - first.entry:
            return False
        window = Window(log, first.entry, middle.entry, last.entry)
        budget, size = self.machine.budget, self.machine.state.size
        budget.spend(window.middle - window.start)
        if not window.repeats():
            return False
        block = self.machine.program.blocks[index]
        budget.spend(budget.of_following(1, size))
        deltas = _deltas(first.values, middle.values, last.values, block.wanted)
        local = _deltas(first.local, middle.local, last.local, last.local.keys())
        if deltas is None or local is None:
            return False
        stretch = window.alignment()
        if stretch > 1 and length * stretch <= LONGEST_WINDOW and window.steps() < FEW_STEPS:
            return False  # a longer window covers whole sectors
        blocks = self.machine.program.blocks
        orders = sum(blocks[number].orders for number in log.blocks[window.middle : window.end])
        budget.spend(budget.of_following(window.steps(), size, orders))
        times = windows_until_change(
            window, self.machine.program, deltas, block.wanted, last.lanes.mask
        )
        if times is None or times <= LEAST_GAIN:
            return False
        self._skip(window, last, deltas, times - 1)
        for address, delta in local.items():
            if delta is not None:
                moved = _moved(last.local[address], delta, times - 1)
                self.machine.state.local[address] = moved
        return True

    def _skip(self, window: Window, last: Visit, deltas: dict[int, Cell], times: int) -> None:
        machine = self.machine
        machine.log.repeat(window.middle, window.end, times)
        for touch, step in zip(window.touches()[1], window.steps_between(), strict=True):
            touch.travel = max(touch.travel, step * (times + 1))
        machine._enter(last.lanes)
        for number, delta in deltas.items():
            if delta is not None:
                moved = _moved(last.values[number], delta, times)
                machine.state.put_at(number, moved)


def _deltas(
    first: dict[int, Cell],
    middle: dict[int, Cell],
    last: dict[int, Cell],
    wanted: Collection[int],
) -> dict[int, Cell] | None:
    """Give the change of each register per window; None where control needs an uneven one."""
    deltas: dict[int, Cell] = {}
    for number in last:
        a, b, c = first.get(number), middle.get(number), last[number]
        if same(b, c):
            if number in wanted and not same(a, b):
                return None
            deltas[number] = 0
            continue
        early, late = difference(a, b), difference(b, c)
        if early is None or late is None or not same(early, late):
            if number in wanted:
                return None
            deltas[number] = None
            continue
        deltas[number] = late
    return deltas


def difference(a: Cell, b: Cell) -> Cell:
    """Give b - a modulo 2^32; None for what is unknown or a predicate."""
    for cell in (a, b):
        if unknown(cell) or type(cell) is Partly or isinstance(cell, bool):
            return None
    if getattr(a, "dtype", None) == np.bool_ or getattr(b, "dtype", None) == np.bool_:
        return None
    result = b - a  # type: ignore[operator]
    return result & 0xFFFFFFFF if type(result) is int else result


def _moved(value: Cell, delta: Cell, times: int) -> Cell:
    if type(delta) is int and delta == 0:
        return value
    if type(value) is int and type(delta) is int:
        return value + delta * times & 0xFFFFFFFF
    step = np.asarray(delta, np.uint32).astype(np.uint64) * np.uint64(times)
    moved: Array = (np.asarray(value, np.uint32).astype(np.uint64) + step).astype(np.uint32)
    return moved
