"""Chains of a loop found the slow way: every iteration is run anew, each execution a node."""

from __future__ import annotations

from collections.abc import Sequence

from kneck.facts.dep_chain import Chain
from kneck.facts.dep_sequence import Item, Repeat
from kneck.facts.dep_steps import Step, Steps

ITERATIONS = 4
MEASURED = 2  # the last ones, over which the mean is taken
ROUNDS = 3  # of an inner loop that are walked


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
        for _ in range(min(rounds, ROUNDS)):
            before = dict(self.writers)
            self.run(item.items)
        left = rounds - ROUNDS
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
    for _ in range(ITERATIONS - 1):
        flow.run(items)
        starts.append(flow.last_start())
    cycles = (starts[-1] - starts[-1 - MEASURED]) / MEASURED
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
