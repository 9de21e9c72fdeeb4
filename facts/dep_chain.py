"""How long one iteration takes when nothing but data dependences hold it up.

Each instruction starts when the last of its operands is there, on a machine with any number of
issue slots. Run over several iterations, the time that each one adds is the longest loop-carried
chain; one iteration alone gives the critical path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..parsers.listing import Instruction
from .dep_operands import Access
from .dep_sequence import Item, Repeat
from .dep_timing import Timing

_ITERATIONS = 8  # enough for a value that comes back to its register after two or four rounds
_MEASURED = 4  # the last ones, over which the mean is taken
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


@dataclass(slots=True)
class _Node:
    """One execution of an instruction: when it starts, and what it waited for."""

    position: int
    start: float
    before: _Node | None


class _Flow:
    """Runs instructions by their operands alone."""

    def __init__(
        self,
        instructions: Sequence[Instruction],
        access: Callable[[int], Access],
        timing: Timing,
    ) -> None:
        self.instructions = instructions
        self.access = access
        self.timing = timing
        self.writers: dict[int, _Node] = {}
        self.unknown: dict[str, None] = {}
        self.is_exact = True

    def run(self, items: Sequence[Item]) -> None:
        for item in items:
            if isinstance(item, Repeat):
                self._repeat(item)
            else:
                self._execute(item)

    def end(self) -> _Node | None:
        """Give the execution whose result is there last."""
        return max(self.writers.values(), key=self.ready, default=None)

    def ready(self, node: _Node) -> float:
        return node.start + (self._result(node.position) or 1)

    def _execute(self, position: int) -> None:
        access = self.access(position)
        start, before = 0.0, None
        for register in (*access.reads, *(() if access.guard is None else (access.guard,))):
            writer = self.writers.get(register)
            if writer is None:
                continue
            there = writer.start + self._distance(writer.position, position, register, access)
            if there > start or before is None:
                start, before = there, writer
        node = _Node(position, start, before)
        for register in access.writes:
            self.writers[register] = node

    def _distance(self, producer: int, consumer: int, register: int, access: Access) -> int:
        first, second = self.instructions[producer], self.instructions[consumer]
        if not self.timing.is_fixed(first):
            return self._result(producer) or 1
        if register == access.guard:
            found = self.timing.guard_cycles(first)
        else:
            found = self.timing.raw_cycles(first, second)
        return (self._result(producer) or 1) if found is None else found

    def _result(self, position: int) -> int | None:
        instruction = self.instructions[position]
        cycles = self.timing.result_cycles(instruction)
        if cycles is None:
            self.unknown[instruction.opcode] = None
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
                    self.writers[register] = _Node(node.position, node.start + gained, node.before)


def critical_path(
    items: Sequence[Item],
    instructions: Sequence[Instruction],
    access: Callable[[int], Access],
    timing: Timing,
) -> Chain:
    """Find the longest chain inside one iteration, in cycles."""
    flow = _Flow(instructions, access, timing)
    flow.run(items)
    last = flow.end()
    cycles = 0.0 if last is None else flow.ready(last)
    addresses = _addresses(last, instructions)
    return Chain(cycles, addresses, tuple(flow.unknown), flow.is_exact)


def loop_carried_chain(
    items: Sequence[Item],
    instructions: Sequence[Instruction],
    access: Callable[[int], Access],
    timing: Timing,
) -> Chain:
    """Find the longest chain that leads from one iteration into the next, in cycles of each."""
    flow = _Flow(instructions, access, timing)
    starts: list[float] = []
    last: _Node | None = None
    for _ in range(_ITERATIONS):
        flow.run(items)
        last = max(flow.writers.values(), key=lambda node: node.start, default=None)
        starts.append(0.0 if last is None else last.start)
    cycles = (starts[-1] - starts[-1 - _MEASURED]) / _MEASURED
    if last is None or cycles <= 0:
        return Chain(0.0, (), tuple(flow.unknown), flow.is_exact)
    addresses = _addresses(_on_cycle(last), instructions)
    return Chain(cycles, addresses, tuple(flow.unknown), flow.is_exact)


def _on_cycle(last: _Node) -> _Node:
    """Go back to a node whose position comes again further back: it is part of the cycle."""
    seen: set[int] = set()
    node: _Node | None = last
    while node is not None:
        if node.position in seen:
            return node
        seen.add(node.position)
        node = node.before
    return last


def _addresses(node: _Node | None, instructions: Sequence[Instruction]) -> tuple[int, ...]:
    """List the addresses of a chain from its first to its last instruction, one round of it."""
    found: list[int] = []
    seen: set[int] = set()
    while node is not None and node.position not in seen:
        seen.add(node.position)
        found.append(instructions[node.position].address)
        node = node.before
    return tuple(reversed(found))
