"""Which way a condition inside a loop goes in an ordinary iteration.

Three kinds can be told without running the kernel: a condition that the known launch and problem
dimensions decide; a test of the loop's own counter, such as "load the next tile if there is one",
which goes one way but for the first or the last iterations; and a bounds check, a combination of
comparisons that data have no say in, which is taken to pass, that is to lead to the side that does
the work. A branch to a helper routine that data decide (the slow path of a division) is taken not
to be executed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .dep_operands import PREDICATE
from .flow_blocks import Edge
from .induction import exit_tests, step_of
from .loop_comparisons import Comparison, compared
from .loop_linear import Linear
from .loop_ranges import Ranges
from .loops import Loop

_HOLDS: dict[str, Callable[[int], bool]] = {
    "LT": lambda d: d < 0,
    "LE": lambda d: d <= 0,
    "GT": lambda d: d > 0,
    "GE": lambda d: d >= 0,
    "EQ": lambda d: d == 0,
    "NE": lambda d: d != 0,
}


class Conditions:
    """Decides between the two edges out of a block; `work` weighs what a block does."""

    def __init__(self, ranges: Ranges, work: Callable[[int], int]) -> None:
        self.ranges = ranges
        self.values = ranges.values
        self.flow = ranges.values.flow
        self.work = work
        self._limits: dict[int, list[Linear]] = {}

    def choose(
        self, edges: Sequence[Edge], loop: Loop | None, notes: dict[str, None]
    ) -> tuple[list[Edge], list[Edge]]:
        """Give the edges that can be taken, and those that an ordinary iteration takes."""
        by_source: dict[int, list[Edge]] = {}
        for edge in edges:
            by_source.setdefault(edge.source, []).append(edge)
        possible: list[Edge] = []
        ordinary: list[Edge] = []
        for group in by_source.values():
            certain = [edge for edge in group if self._truth(edge) is not False]
            possible += certain or group
            ordinary += self._ordinary(certain or group, loop, notes)
        return possible, ordinary

    def _truth(self, edge: Edge) -> bool | None:
        """Tell whether the known dimensions decide the condition of an edge."""
        if len(self.flow.successors[edge.source]) < 2:
            return None
        condition = self.ranges.branches.of(edge)
        reach = None if condition is None else self.ranges.of(condition.difference)
        if condition is None or reach is None:
            return None
        holds = _HOLDS[condition.operator]
        ends = {holds(reach.low), holds(reach.high)}
        is_point_test = condition.operator in ("EQ", "NE") and reach.low < 0 < reach.high
        return ends.pop() if len(ends) == 1 and not is_point_test else None

    def _ordinary(self, group: list[Edge], loop: Loop | None, notes: dict[str, None]) -> list[Edge]:
        if len(group) != 2:
            return group
        place = f"{self.flow.blocks[group[0].source].last_address:#x}"
        if loop is not None:
            chosen = self._by_counter(group, loop)
            if chosen is not None:
                notes[f"the test of the loop counter at {place} goes as in most iterations"] = None
                return [chosen]
            if self._is_bounds_check(group[0], loop):
                chosen = max(group, key=lambda edge: self._work_behind(edge, group))
                notes[f"the bounds check at {place} is taken to pass"] = None
                return [chosen]
        calling = [edge for edge in group if self._leads_to_call(edge)]
        if len(calling) == 1:
            notes[f"the slow path at {place} is taken not to be executed"] = None
            return [edge for edge in group if edge not in calling]
        return group

    def _by_counter(self, group: list[Edge], loop: Loop) -> Edge | None:
        """Choose by a test that compares the counter of this loop with its start or its end."""
        for edge in group:
            condition = self.ranges.branches.of(edge)
            rises = None if condition is None else self._rises(condition, loop)
            if condition is None or rises is None:
                continue
            if condition.operator in ("EQ", "NE"):
                holds_mostly = condition.operator == "NE"  # a counter meets a value only once
            else:
                holds_late = (condition.operator in ("GT", "GE")) == rises
                holds_mostly = holds_late != self._is_at_limit(condition, loop)
            return edge if holds_mostly else next(other for other in group if other != edge)
        return None

    def _rises(self, condition: Comparison, loop: Loop) -> bool | None:
        step = step_of(self.values, loop, condition.difference)
        reach = None if step is None else self.ranges.of(step)
        if reach is None or reach.low <= 0 <= reach.high:
            return None
        return reach.low > 0

    def _is_at_limit(self, condition: Comparison, loop: Loop) -> bool:
        """Tell whether a test differs from an exit test of the loop by a constant only."""
        if loop.index not in self._limits:
            blocks = {test.block for test in exit_tests(self.ranges, loop)}
            leaving = [self.ranges.branches.of(e) for e in loop.exits if e.source in blocks]
            self._limits[loop.index] = [test.difference for test in leaving if test is not None]
        return any(
            condition.difference.plus(limit, sign).is_constant
            for limit in self._limits[loop.index]
            for sign in (1, -1)
        )

    def _is_bounds_check(self, edge: Edge, loop: Loop) -> bool:
        """Tell whether a condition is made of comparisons that data have no say in."""
        position = self.flow.blocks[edge.source].end - 1
        access = self.values.access(position)
        deciding = [r for r in (access.guard, *access.reads) if r is not None and r >= PREDICATE]
        if not deciding:
            return False
        for register in deciding:
            parts = compared(self.values, register, position, loop.index)
            if parts is None or any(step_of(self.values, loop, d) is None for d in parts):
                return False
        return True

    def _work_behind(self, edge: Edge, group: list[Edge]) -> int:
        """Weigh the blocks that only one of two edges leads to, up to where they meet."""
        other = next(e for e in group if e != edge)
        meeting = self.flow.post_dominators[edge.source]
        return self._work_up_to(edge.target, meeting, other.target)

    def _work_up_to(self, block: int, meeting: int | None, barred: int) -> int:
        seen = {block}
        stack = [block]
        done = 0
        while stack:
            here = stack.pop()
            if here in (meeting, barred):
                continue
            done += self.work(here)
            for edge in self.flow.successors[here]:
                if edge.target not in seen:
                    seen.add(edge.target)
                    stack.append(edge.target)
        return done

    def _leads_to_call(self, edge: Edge) -> bool:
        """Tell whether one side is nothing but the way to a helper routine."""
        if edge.target not in self.flow.calls:
            return False
        meeting = self.flow.post_dominators[edge.source]
        return edge.target != meeting
