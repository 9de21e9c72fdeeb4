"""How often a loop goes round, read from its induction variable.

The exit test compares a sum that moves by a constant each time with something that stays. With
start d, step s and the test "go on while d < 0" the loop closes ceil(-d / s) times. The start may
hold launch and problem dimensions (`Known`); a start that differs between threads gives a range.
"""

from __future__ import annotations

from collections.abc import Callable

from ..parsers.record import dataclass
from .flow_blocks import Edge
from .flow_branches import ENDS
from .loop_comparisons import NEGATED
from .loop_linear import Interval, Linear, Symbol, describe
from .loop_ranges import Ranges
from .loop_values import Values
from .loops import Loop

_MIRRORED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "NE": "NE", "EQ": "EQ"}


@dataclass(frozen=True, slots=True)
class ExitTest:
    """The loop goes on while `start + step * iteration <go_on> 0`."""

    address: int  # of the comparison
    branch: int  # address of the branch that leaves
    block: int  # that the branch ends
    go_on: str  # LT, LE, GT, GE, NE or EQ
    start: Linear
    step: Linear


@dataclass(frozen=True, slots=True)
class Trips:
    """How often the exit test of a loop is reached each time the loop is entered.

    What stands before the test runs as often, what stands behind it once less. `low` is at least
    1, `high` None where it is not known; `because` says what it rests on or what is missing.
    """

    low: int
    high: int | None
    because: str
    test: ExitTest | None = None

    @property
    def is_exact(self) -> bool:
        """Tell whether it is one number for every thread."""
        return self.low == self.high


def trips(ranges: Ranges, loop: Loop) -> Trips:
    """Find the trip count of a loop; see `Trips` for what it says when it is not known."""
    values = ranges.values
    tests = exit_tests(ranges, loop)
    if not tests:
        return Trips(1, None, "no exit test compares a counter with something that stays")
    counted = [(count, test) for test in tests if (count := _count(test, ranges)) is not None]
    if not counted:
        return Trips(1, None, _what_is_missing(tests[0], ranges), tests[0])
    count, test = min(counted, key=lambda pair: pair[0].high)
    reason = f"{describe(test.start)} moves by {describe(test.step)} at {test.address:#x}"
    if len(counted) < _ways_out(values, loop):
        return Trips(1, count.high, f"at most: {reason}, but it may be left earlier", test)
    return Trips(min(count.low for count, _ in counted), count.high, reason, test)


def _ways_out(values: Values, loop: Loop) -> int:
    """Count the places where control may leave: exit edges and guarded ends of the program."""
    flow = values.flow
    ends = [block for block in loop.blocks if flow.last_instruction(block).opcode in ENDS]
    return len({edge.source for edge in loop.exits}) + len(ends)


def _what_is_missing(test: ExitTest, ranges: Ranges) -> str:
    for what, value in (("start", test.start), ("step", test.step)):
        if ranges.of(value) is None:
            return f"its {what}, {describe(value)}, is not known"
    return f"its counter does not simply run against a limit at {test.address:#x}"


def exit_tests(ranges: Ranges, loop: Loop) -> list[ExitTest]:
    """Find the exits that every iteration passes and that a counter decides."""
    found = []
    for edge in loop.exits:
        if all(ranges.values.flow.dominates(edge.source, latch) for latch in loop.latches):
            test = _exit_test(ranges, loop, edge)
            if test is not None:
                found.append(test)
    return found


def step_of(values: Values, loop: Loop, difference: Linear) -> Linear | None:
    """Give by how much a sum moves in each iteration, None where it does not move evenly."""
    step = Linear()
    for symbol, factor in difference.terms:
        if symbol[0] == "loop" and symbol[1] == loop.header:
            moved = _advance(values, loop, symbol)
            if moved is None:
                return None
            step = step.plus(moved, factor)
        elif _changes_in(values, loop, symbol):
            return None
    return step


def _exit_test(ranges: Ranges, loop: Loop, edge: Edge) -> ExitTest | None:
    values = ranges.values
    flow = values.flow
    leaving = ranges.branches.of(edge)
    if leaving is None:
        return None
    step = step_of(values, loop, leaving.difference)
    if step is None or step == Linear():
        return None
    start = _at_start(values, loop, leaving.difference)
    branch = flow.last_instruction(edge.source).address
    address = flow.function.instructions[leaving.position].address
    go_on = NEGATED[leaving.operator]
    return ExitTest(address, branch, edge.source, go_on, start, step)


def _advance(values: Values, loop: Loop, symbol: Symbol) -> Linear | None:
    """Give by how much one iteration moves a register of the loop."""
    moved = {values.at_end(symbol[2], latch) for latch in loop.latches}
    if len(moved) != 1:
        return None
    change = moved.pop().plus(Linear(0, ((symbol, 1),)), -1)
    stays = all(
        not _changes_in(values, loop, part) and part[1:2] != (loop.header,)
        for part, _ in change.terms
    )
    return change if stays else None


def _changes_in(values: Values, loop: Loop, symbol: Symbol) -> bool:
    kind, name, _ = symbol
    if kind == "product":
        parts = [part for factor in values.products[int(name)] for part, _ in factor.terms]
        return any(_changes_in(values, loop, part) for part in parts)
    if kind == "result":
        return values.flow.block_of[int(name)] in loop.blocks
    return kind in ("loop", "merge") and name in loop.blocks


def _at_start(values: Values, loop: Loop, value: Linear) -> Linear:
    """Put what the registers of the loop hold when it is entered in their place."""
    total = Linear(value.constant)
    entering = [
        edge.source
        for edge in values.flow.predecessors[loop.header]
        if edge.source not in loop.blocks and edge.source in values.flow.reachable
    ]
    for symbol, factor in value.terms:
        part = Linear(0, ((symbol, 1),))
        if symbol[0] == "loop" and symbol[1] == loop.header:
            starts = {values.at_end(symbol[2], block) for block in entering}
            if len(starts) == 1:
                part = starts.pop()
            else:
                part = Linear(0, ((("merge", loop.header, symbol[2]), 1),))
        total = total.plus(part, factor)
    return total


def _count(test: ExitTest, ranges: Ranges) -> Interval | None:
    start, moved = ranges.of(test.start), ranges.of(test.step)
    if start is None or moved is None or moved.low != moved.high or not moved.low:
        return None
    step, operator = moved.low, test.go_on
    if step < 0:
        start, step, operator = start.times(-1), -step, _MIRRORED[operator]
    closed: Callable[[int], int]
    if operator == "LT":
        closed = lambda d: max(0, -(d // step))  # noqa: E731
    elif operator == "LE":
        closed = lambda d: max(0, -d // step + 1)  # noqa: E731
    elif operator == "NE" and start.low == start.high and start.low <= 0 == start.low % step:
        closed = lambda d: -d // step  # noqa: E731
    else:
        return None
    return Interval(closed(start.high) + 1, closed(start.low) + 1)
