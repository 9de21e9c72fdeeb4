"""Which stall counts hold a distance between two instructions, on every path between them.

A constraint says that the stall counts along a path from one instruction to another add up to at
least so many cycles: for a result that is read, a predicate that guards, a register that is
written again, a scoreboard that is waited for, or a pipe that takes an instruction only every few
cycles. Where the needed distance is not known, the present one is kept: such a constraint never
frees a cycle.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

from ..parsers.record import dataclass
from .dep_steps import Step, Steps
from .dep_window import Reason, Window

_MOST_PATHS = 64  # followed from one instruction; where there are more, every stall near is kept


@dataclass(frozen=True, slots=True)
class Constraint:
    """The stall counts at the positions of `path` must add up to at least `cycles`.

    The path starts at the producer and ends before the consumer; in a short loop a position may
    occur twice. `needed` is what the table asks for, `cycles` no more than what there is `now`.
    """

    path: tuple[int, ...]
    consumer: int
    cycles: int
    now: int
    needed: int | None
    reason: Reason

    @property
    def is_dependence(self) -> bool:
        """Tell whether data or order need the distance, not only the pipe."""
        return self.reason != "pipe"


def constraints(steps: Steps, positions: Iterable[int]) -> list[Constraint]:
    """Give all constraints whose path touches one of these instructions.

    One that leaves less than the least possible stalls on its path cannot bind and is left out.
    """
    wanted = set(positions)
    reach = steps.reach
    found: list[Constraint] = []
    for start in _binding(steps, sorted(wanted)):
        found += constraints_from(steps, start, reach)
    for start in sorted(_before(steps, wanted, reach)):
        found += [c for c in constraints_from(steps, start, reach) if not wanted.isdisjoint(c.path)]
    return found


def _binding(steps: Steps, positions: Iterable[int]) -> Iterator[int]:
    """Leave out instructions that concern nothing before their reach has passed anyway.

    Likewise those before whose reach has passed no stall could be shorter.
    """
    flow, made = steps.flow, steps.made
    end, first = 0, 0
    met: list[int] = []
    now: list[int] = []
    least: list[int] = []
    for position in positions:
        if position >= end:
            block = flow.block_of[position]
            first, end = flow.blocks[block].first, flow.blocks[block].end
            (now, least), met = steps.sums(block), steps.met(block)
        at, to = position - first, min(met[position - first], end - 1) - first
        reached = least[at] + (made[position] or steps.at(position)).reach
        if to - at > 1 and least[to] >= reached:
            continue
        behind = bisect_left(least, reached, at + 1)
        if behind < len(least) and now[behind] - now[at] == least[behind] - least[at]:
            continue
        yield position


def _before(steps: Steps, positions: set[int], reach: int) -> set[int]:
    """Give the instructions that control may come from, as far back as a latency reaches."""
    flow = steps.flow
    reached: set[int] = set()
    waiting = [(block, 0) for block in {flow.block_of[p] for p in positions}]
    while waiting:
        block, distance = waiting.pop()
        for edge in flow.predecessors[block]:
            span = flow.blocks[edge.source]
            near = range(max(span.first, span.end - (reach - distance)), span.end)
            new = set(near) - reached - positions
            reached |= new
            if new and distance + len(near) < reach:
                waiting.append((edge.source, distance + len(near)))
    return reached


def constraints_from(steps: Steps, start: int, reach: int) -> Iterator[Constraint]:
    """Walk every path from an instruction until nothing depends on it any more."""
    at, made, ends, limit = steps.at, steps.made, steps.block_ends, steps.at(start).reach
    if start in ends:
        paths = [_Path.begin(steps, start, follow) for follow in steps.following(start)]
    else:
        first = _Path.up_to_first_met(steps, start)
        paths = [] if first.taken[1:] and first.least >= limit else [first]
    count = len(paths)
    while paths:
        path = paths.pop()
        position, window, taken = path.position, path.window, path.taken
        now, least = path.now, path.least
        results, operands, barriers, pipe, always = window.open
        closed = window.is_closed
        while True:
            step = made[position] or at(position)
            if (
                not results.isdisjoint(step.touched)
                or not operands.isdisjoint(step.writes)
                or (pipe is not None and step.traits.pipe == pipe)
                or barriers & step.waited
                or always
            ):
                yield from path.ask(step, position, now, least)
                results, operands, barriers, pipe, always = window.open
                closed = window.is_closed
            taken.append(position)
            now += step.stall
            least += step.least
            if least >= limit or closed:
                break
            if position not in ends:
                position += 1
                continue
            follows = steps.following(position)
            if len(follows) != 1:
                count += len(follows) - 1
                if count > _MOST_PATHS:
                    yield from _keep_all(steps, start, reach)
                    return
                paths += [path.branch(follow, now, least) for follow in follows]
                break
            position = follows[0]


def held_by_first_met(steps: Steps, start: int) -> range:
    """Give the path to the first instruction of the block that one concerns, where it has no room.

    That is the first constraint of `constraints_from`, which holds most stalls.
    """
    first, made = steps.at(start), steps.made
    window = Window(first, steps.timing)
    results, operands, barriers, pipe, _ = window.open
    now, least, limit = first.stall, first.least, first.reach
    for position in range(start + 1, steps.flow.blocks[steps.flow.block_of[start]].end):
        step = made[position] or steps.at(position)
        is_next = position == start + 1
        if (
            not results.isdisjoint(step.touched)
            or not operands.isdisjoint(step.writes)
            or (pipe is not None and step.traits.pipe == pipe)
            or barriers & step.waited
            or window.orders
            or (is_next and step.is_opaque)
        ):
            window.is_first = is_next
            is_held = any(needed is None or needed >= now for needed, _ in window.meet(step))
            return range(start, position if is_held else start)
        now += step.stall
        least += step.least
        if least >= limit:
            break
    return range(0)


def _keep_all(steps: Steps, start: int, reach: int) -> list[Constraint]:
    """Keep every stall within reach of an instruction."""
    near = {start: 0}
    waiting = [start]
    while waiting:
        position = waiting.pop()
        distance = near[position] + steps.at(position).least
        for follow in steps.following(position):
            if distance < near.get(follow, reach):
                near[follow] = distance
                waiting.append(follow)
    stalls = {position: steps.at(position).stall for position in near}
    return [Constraint((p,), p, stall, stall, None, "order") for p, stall in stalls.items()]


class _Path:
    """A way from a first instruction up to, and without, the one at `position`."""

    __slots__ = ("covered", "covered_by_data", "least", "now", "position", "taken", "window")

    def __init__(
        self, position: int, taken: list[int], now: int, least: int, window: Window
    ) -> None:
        self.position = position
        self.taken = taken
        self.now = now  # cycles on it at present
        self.least = least  # cycles that remain whatever is shortened
        self.window = window
        self.covered = 0  # distance that is asked for already
        self.covered_by_data = 0

    @classmethod
    def begin(cls, steps: Steps, start: int, follow: int) -> _Path:
        """Leave an instruction for one of the next ones."""
        first = steps.at(start)
        return cls(follow, [start], first.stall, first.least, Window(first, steps.timing))

    @classmethod
    def up_to_first_met(cls, steps: Steps, start: int) -> _Path:
        """Leave an instruction for the first one of its block that it concerns, or the last one."""
        block = steps.flow.block_of[start]
        span = steps.flow.blocks[block]
        met = min(steps.met(block)[start - span.first], span.end - 1)
        now, least = steps.sums(block)
        at, to = start - span.first, met - span.first
        window = Window(steps.at(start), steps.timing)
        window.is_first = met == start + 1
        taken = list(range(start, met))
        return cls(met, taken, now[to] - now[at], least[to] - least[at], window)

    def ask(self, step: Step, position: int, now: int, least: int) -> list[Constraint]:
        """Give what an instruction asks for beyond what is covered, and beyond what cannot go."""
        found = []
        for needed, reason in self.window.meet(step):
            cycles = now if needed is None else min(needed, now)
            is_pipe = reason == "pipe"
            covered = self.covered if is_pipe else self.covered_by_data
            if cycles > least and cycles > covered:
                self.covered = max(self.covered, cycles)
                if not is_pipe:
                    self.covered_by_data = cycles
                path = tuple(self.taken)
                found.append(Constraint(path, position, cycles, now, needed, reason))
        return found

    def branch(self, follow: int, now: int, least: int) -> _Path:
        """Go on to one of several next instructions."""
        other = _Path(follow, list(self.taken), now, least, self.window.copy())
        other.covered, other.covered_by_data = self.covered, self.covered_by_data
        return other
