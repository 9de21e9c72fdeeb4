"""How often each block of a loop runs in one iteration, as executed.

One iteration is a way from the header to the branch back. A block on all such ways runs once; a
block inside an inner loop runs with that loop's trip count; the body of a called routine runs
with its call. Where a condition decides, both numbers are kept, and the one to expect where it
can be told: see `loop_conditions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..parsers.record import dataclass
from .induction import Trips, trips
from .loop_conditions import Conditions
from .loop_ranges import Ranges
from .loop_ways import Ways
from .loops import Loop, Loops


@dataclass(frozen=True, slots=True)
class Times:
    """A count between low and high, `high` None where nothing limits it.

    `expected` is the count of an ordinary iteration, None where it cannot be told.
    """

    low: int
    high: int | None
    expected: int | None

    @property
    def is_exact(self) -> bool:
        """Tell whether it is one number."""
        return self.low == self.high

    def times(self, other: Times) -> Times:
        """Give the product."""
        if other is ONCE:
            return self
        return Times(
            self.low * other.low,
            _multiply(self.high, other.high),
            _multiply(self.expected, other.expected),
        )

    def plus(self, other: Times) -> Times:
        """Give the sum."""
        return Times(
            self.low + other.low,
            None if self.high is None or other.high is None else self.high + other.high,
            None
            if self.expected is None or other.expected is None
            else self.expected + other.expected,
        )


NEVER = Times(0, 0, 0)
ONCE = Times(1, 1, 1)


def total(parts: Iterable[Times]) -> Times:
    """Add up several counts."""
    result = NEVER
    for part in parts:
        result = result.plus(part)
    return result


@dataclass(frozen=True, slots=True)
class Weights:
    """Executions per iteration of each block of a loop and of the routines called in it.

    `assumptions` says in words which conditions were taken for granted in `expected`; `trips`
    holds the trip counts of the inner loops that entered.
    """

    times: Mapping[int, Times]
    assumptions: tuple[str, ...]
    trips: Mapping[int, Trips]


def weights(loops: Loops, loop: Loop, ranges: Ranges, conditions: Conditions) -> Weights:
    """Find how often the blocks of a loop run in one of its iterations."""
    return _Weigher(loops, ranges, conditions).of_loop(loop)


class _Weigher:
    """Collects assumptions and trip counts while it goes into inner loops and routines."""

    def __init__(self, loops: Loops, ranges: Ranges, conditions: Conditions) -> None:
        self.loops = loops
        self.flow = loops.flow
        self.ranges = ranges
        self.conditions = conditions
        self.assumptions: dict[str, None] = {}
        self.trips: dict[int, Trips] = {}
        self._routines: dict[int, Mapping[int, Times]] = {}

    def of_loop(self, loop: Loop) -> Weights:
        return Weights(self._iteration(loop), tuple(self.assumptions), self.trips)

    def _iteration(self, loop: Loop) -> dict[int, Times]:
        inner = [self.loops.loops[child] for child in loop.children]
        return self._region(loop.blocks, loop.header, loop.latches, inner, loop)

    def _region(
        self,
        blocks: frozenset[int],
        entry: int,
        ends: Sequence[int],
        inner: Sequence[Loop],
        loop: Loop | None,
    ) -> dict[int, Times]:
        """Weigh blocks by the ways from an entry to its ends, inner loops taken as one node."""
        node_of = {block: block for block in blocks}
        for child in inner:
            node_of.update((block, child.header) for block in child.blocks)
        edges = [
            edge
            for block in blocks
            for edge in self.flow.successors[block]
            if edge.target in blocks
            and edge.kind != "divergent"
            and edge.target != entry
            and node_of[edge.source] != node_of[edge.target]
        ]
        certain, expected = self.conditions.choose(edges, loop, self.assumptions)
        goals = {node_of[end] for end in ends}
        possible = Ways(certain, node_of, node_of[entry], goals)
        ordinary = Ways(expected, node_of, node_of[entry], goals)
        children = {child.header: child for child in inner}
        found: dict[int, Times] = {}
        for node in set(node_of.values()):
            times = _times_of(possible, ordinary, node)
            for block, inside in self._inside(node, children.get(node)).items():
                product = times.times(inside)
                found[block] = found[block].plus(product) if block in found else product
        return found

    def _inside(self, node: int, child: Loop | None) -> dict[int, Times]:
        if child is None:
            found = {node: ONCE}
            for block, inside in self._routine(node).items():
                found[block] = inside
            return found
        count = self.trips.setdefault(child.index, trips(self.ranges, child))
        return {
            block: inside.times(_rounds(count, self._is_behind_test(block, child, count)))
            for block, inside in self._iteration(child).items()
        }

    def _routine(self, block: int) -> Mapping[int, Times]:
        """Weigh the routine that a block calls, if it does."""
        entry = self.flow.calls.get(block)
        if entry is None:
            return {}
        if entry not in self._routines:
            self._routines[entry] = {}  # a routine that calls itself adds nothing more
            inside = next(r for r in self.flow.routines if r.entry == entry).blocks
            ends = [b for b in inside if not self.flow.successors[b]]
            within = {each.index: each for each in self.loops.loops if each.blocks <= inside}
            outer = [each for each in within.values() if each.parent not in within]
            self._routines[entry] = self._region(inside, entry, ends, outer, None)
        return self._routines[entry]

    def _is_behind_test(self, block: int, loop: Loop, count: Trips) -> bool:
        if count.test is None or block == count.test.block:
            return False
        return self.flow.dominates(count.test.block, block)


def _times_of(possible: Ways, ordinary: Ways, node: int) -> Times:
    if not possible.all:  # only lanes that disagree come to the end
        return Times(0, 1, None)
    if node in possible.irregular:
        return Times(0, None, None)
    low = int(0 < possible.all == possible.through(node))
    high = int(possible.through(node) > 0)
    expected: int | None = None
    if ordinary.through(node) == 0:
        expected = 0
    elif ordinary.through(node) == ordinary.all:
        expected = 1
    return Times(low, high, low if low == high else expected)


def _rounds(count: Trips, is_behind_test: bool) -> Times:
    less = int(is_behind_test)
    high = None if count.high is None else max(0, count.high - less)
    low = max(0, count.low - less)
    return Times(low, high, low if low == high else None)


def _multiply(first: int | None, second: int | None) -> int | None:
    if first == 0 or second == 0:
        return 0
    return None if first is None or second is None else first * second
