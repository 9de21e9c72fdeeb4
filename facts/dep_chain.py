"""How long one iteration takes when nothing but data dependences hold it up.

Each instruction starts when the last of its operands is there, on a machine with any number of
issue slots. Run over several iterations, the time that each one adds is the longest loop-carried
chain; one iteration alone gives the critical path.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..parsers.record import dataclass
from .dep_sequence import Item, Repeat
from .dep_steps import Step, Steps

_ITERATIONS = 4  # enough for a value that comes back to its register after one or two rounds
_MEASURED = 2  # the last ones, over which the mean is taken
_ROUNDS = 3  # of an inner loop that are walked; further ones add what the last one added


@dataclass(frozen=True, slots=True)
class Chain:
    """Cycles of a chain and the addresses on it, first to last.

    `unknown` names opcodes on the whole path whose latency is not known, counted as one cycle, and
    `is_exact` is false where an inner loop of unknown length was counted once.
    """

    cycles: float
    addresses: tuple[int, ...]
    unknown: tuple[str, ...]
    is_exact: bool


class _Node:
    """One execution of an instruction: when it starts, and what it waited for."""

    __slots__ = ("before", "start", "step")

    def __init__(self, step: Step, start: float, before: _Node | None) -> None:
        self.step = step
        self.start = start
        self.before = before


class _Flow:
    """Runs instructions by their operands alone."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.timing = steps.timing
        self.writers: dict[int, _Node] = {}
        self.unknown: dict[str, None] = {}
        self.is_exact = True

    def run(self, items: Sequence[Item]) -> None:
        """Run the instructions once, inner loops as often as they go round."""
        for item in items:
            if isinstance(item, Repeat):
                self._repeat(item)
            else:
                self._execute(self.steps.at(item))

    def critical(self) -> Chain:
        """Give the chain to the result that is there last."""
        last = max(self.writers.values(), key=self._ready, default=None)
        cycles = 0.0 if last is None else self._ready(last)
        return Chain(cycles, _addresses(last), tuple(self.unknown), self.is_exact)

    def carried(self, cycles: float) -> Chain:
        """Give the chain that comes round again, one round of it."""
        last = max(self.writers.values(), key=lambda node: node.start, default=None)
        addresses = () if last is None or cycles <= 0 else _addresses(_on_cycle(last))
        return Chain(max(0.0, cycles), addresses, tuple(self.unknown), self.is_exact)

    def last_start(self) -> float:
        """Give the time at which the last instruction starts that wrote a register."""
        return max((node.start for node in self.writers.values()), default=0.0)

    def _ready(self, node: _Node) -> float:
        return node.start + self._result(node.step)

    def _execute(self, step: Step) -> None:
        start, before = 0.0, None
        writers, guard = self.writers, step.access.guard
        for register in step.reads:
            writer = writers.get(register)
            if writer is not None:
                there = writer.start + self._distance(writer.step, step, False)
                if there > start or before is None:
                    start, before = there, writer
        writer = None if guard is None else writers.get(guard)
        if writer is not None:
            there = writer.start + self._distance(writer.step, step, True)
            if there > start or before is None:
                start, before = there, writer
        node = _Node(step, start, before)
        for register in step.writes:
            writers[register] = node

    def _distance(self, producer: Step, consumer: Step, is_guard: bool) -> int:
        if not producer.traits.is_fixed:
            return self._result(producer)
        if is_guard:
            found = self.timing.guard_cycles(producer.traits)
        else:
            found = self.timing.raw_cycles(producer.traits, consumer.traits)
        return self._result(producer) if found is None else found

    def _result(self, step: Step) -> int:
        cycles = step.traits.result
        if cycles is None:
            self.unknown[step.instruction.opcode] = None
            return 1
        return cycles

    def _repeat(self, item: Repeat) -> None:
        rounds = 1 if item.times is None else item.times
        self.is_exact &= item.times is not None
        before = dict(self.writers)
        for _ in range(min(rounds, _ROUNDS)):
            before = dict(self.writers)
            self.run(item.items)
        left = rounds - _ROUNDS
        if left > 0:
            for register, node in list(self.writers.items()):
                old = before.get(register)
                if old is not None and old is not node:
                    gained = (node.start - old.start) * left
                    self.writers[register] = _Node(node.step, node.start + gained, node.before)


def chains(items: Sequence[Item], steps: Steps) -> tuple[Chain, Chain]:
    """Find the longest chain inside one iteration, and the one that leads into the next.

    The first counts cycles up to the last result, the second cycles that each iteration adds.
    """
    flow = _Flow(steps)
    flow.run(items)
    critical = flow.critical()
    starts = [flow.last_start()]
    for _ in range(_ITERATIONS - 1):
        flow.run(items)
        starts.append(flow.last_start())
    cycles = (starts[-1] - starts[-1 - _MEASURED]) / _MEASURED
    return critical, flow.carried(cycles)


def _on_cycle(last: _Node) -> _Node:
    """Go back to a node whose position comes again further back: it is part of the cycle."""
    seen: set[int] = set()
    node: _Node | None = last
    while node is not None:
        address = node.step.instruction.address
        if address in seen:
            return node
        seen.add(address)
        node = node.before
    return last


def _addresses(node: _Node | None) -> tuple[int, ...]:
    """List the addresses of a chain from its first to its last instruction, one round of it."""
    found: list[int] = []
    seen: set[int] = set()
    while node is not None and node.step.instruction.address not in seen:
        seen.add(node.step.instruction.address)
        found.append(node.step.instruction.address)
        node = node.before
    return tuple(reversed(found))
