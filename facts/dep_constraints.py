"""Which stall counts hold a distance between two instructions, on every path between them.

A constraint says that the stall counts along a path from one instruction to another add up to at
least so many cycles: for a result that is read, a predicate that guards, a register that is
written again, a scoreboard that is waited for, or a pipe that takes an instruction only every few
cycles. Where the needed distance is not known, the present one is kept: such a constraint never
frees a cycle.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .control_flow import ControlFlow
from .dep_operands import Access, OperandRules
from .dep_timing import Timing
from .dep_window import ORDERING, Reason, Window

_MOST_PATHS = 64  # followed from one instruction; where there are more, every stall near is kept


@dataclass(frozen=True, slots=True)
class Constraint:
    """The stall counts at the positions of `path` must add up to at least `cycles`.

    The path starts at the producer and ends before the consumer; in a short loop a position may
    occur twice. `needed` is what the table asks for, `cycles` no more than what there is now.
    """

    path: tuple[int, ...]
    consumer: int
    cycles: int
    needed: int | None
    reason: Reason

    @property
    def is_dependence(self) -> bool:
        """Tell whether data or order need the distance, not only the pipe."""
        return self.reason != "pipe"


class Constraints:
    """Collects the constraints around given instructions of a function."""

    def __init__(self, flow: ControlFlow, rules: OperandRules, timing: Timing) -> None:
        self.flow = flow
        self.instructions = flow.function.instructions
        self.rules = rules
        self.timing = timing
        self._accesses: dict[int, Access] = {}
        self.reach = timing.longest_cycles(None)
        self._block_ends = {block.end - 1: block.index for block in flow.blocks}

    def access(self, position: int) -> Access:
        """Give what the instruction at a position reads and writes."""
        found = self._accesses.get(position)
        if found is None:
            found = self._accesses[position] = self.rules.access(self.instructions[position])
        return found

    def stall(self, position: int) -> int:
        """Give the stall count; two instructions of a warp are at least one cycle apart."""
        control = self.instructions[position].control
        return 1 if control is None else max(1, control.stall)

    def is_movable(self, position: int) -> bool:
        """Tell whether the stall of an instruction may be called too long at all."""
        instruction = self.instructions[position]
        return (
            instruction.control is not None
            and instruction.opcode not in ORDERING
            and not instruction.never_executes
            and self.timing.is_fixed(instruction)
        )

    def collect(self, positions: Iterable[int]) -> list[Constraint]:
        """Give all constraints whose path touches one of these instructions."""
        wanted = set(positions)
        found: list[Constraint] = []
        for start in sorted(wanted | self._before(wanted)):
            found += [c for c in self._from(start) if not wanted.isdisjoint(c.path)]
        return found

    def _before(self, positions: set[int]) -> set[int]:
        """Give the instructions that control may come from, as far back as a latency reaches."""
        reached: set[int] = set()
        reach = self.reach
        waiting = [(block, 0) for block in {self.flow.block_of[p] for p in positions}]
        while waiting:
            block, distance = waiting.pop()
            for edge in self.flow.predecessors[block]:
                span = self.flow.blocks[edge.source]
                near = range(max(span.first, span.end - (reach - distance)), span.end)
                new = set(near) - reached - positions
                reached |= new
                if new and distance + len(near) < reach:
                    waiting.append((edge.source, distance + len(near)))
        return reached

    def _following(self, position: int) -> list[int]:
        block = self._block_ends.get(position)
        if block is None:
            return [position + 1]
        edges = self.flow.successors[block]
        return [self.flow.blocks[e.target].first for e in edges if e.kind != "divergent"]

    def _least(self, position: int) -> int:
        """Give how small the stall may become."""
        return 1 if self.is_movable(position) else self.stall(position)

    def _from(self, start: int) -> list[Constraint]:
        """Walk every path from an instruction until nothing depends on it any more."""
        window = Window.open(self.instructions[start], self.access(start), self.timing)
        found: list[Constraint] = []
        follows = self._following(start)
        stack = [_Path(self, start, window, follow) for follow in follows[1:]]
        if follows:
            stack.append(_Path(self, start, window, follows[0]))
        paths = len(stack)
        while stack:
            path = stack[-1]
            found += path.meet()
            if path.least >= window.reach or path.window.is_closed:
                stack.pop()
                continue
            follows = self._following(path.position)
            if not follows:
                stack.pop()
                continue
            paths += len(follows) - 1
            if paths > _MOST_PATHS:
                return found + self._keep_all(start)
            stack[-1:] = [path.copy(follow) for follow in follows[1:]]
            path.step(follows[0])
            stack.append(path)
        return found

    def _keep_all(self, start: int) -> list[Constraint]:
        """Keep every stall within reach of an instruction."""
        near = {start: 0}
        waiting = [start]
        while waiting:
            position = waiting.pop()
            distance = near[position] + self._least(position)
            for follow in self._following(position):
                if distance < near.get(follow, self.reach):
                    near[follow] = distance
                    waiting.append(follow)
        return [Constraint((p,), p, self.stall(p), None, "order") for p in near]


class _Path:
    """A way from a first instruction to `position`, which is not on `taken` yet."""

    def __init__(self, owner: Constraints, start: int, window: Window, follow: int) -> None:
        self.owner = owner
        self.position = follow
        self.taken = [start]
        self.now = owner.stall(start)  # cycles on it at present
        self.least = owner._least(start)  # cycles that remain whatever is shortened
        self.window = window.copy()
        self.covered = 0  # distance that is asked for already
        self.covered_by_data = 0

    def meet(self) -> Iterable[Constraint]:
        """Give what the instruction at the position asks for beyond what is covered."""
        consumer = self.owner.instructions[self.position]
        for needed, reason in self.window.meet(consumer, self.owner.access(self.position)):
            cycles = self.now if needed is None else min(needed, self.now)
            if cycles > (self.covered if reason == "pipe" else self.covered_by_data):
                self.covered = max(self.covered, cycles)
                if reason != "pipe":
                    self.covered_by_data = cycles
                yield Constraint(tuple(self.taken), self.position, cycles, needed, reason)

    def step(self, follow: int) -> None:
        """Go on to one of the next instructions."""
        self.taken.append(self.position)
        self.now += self.owner.stall(self.position)
        self.least += self.owner._least(self.position)
        self.position = follow

    def copy(self, follow: int) -> _Path:
        """Branch off to another of the next instructions."""
        other = _Path(self.owner, self.taken[0], self.window, follow)
        other.taken = [*self.taken, self.position]
        other.now = self.now + self.owner.stall(self.position)
        other.least = self.least + self.owner._least(self.position)
        other.covered, other.covered_by_data = self.covered, self.covered_by_data
        return other
