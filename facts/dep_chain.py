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


@dataclass(frozen=True, slots=True)
class _Round:
    """Stands for the further rounds of an inner loop: each adds what the last walked one added."""

    last: int  # slot of the last write of a register
    before: int  # of the one a round earlier
    rounds: int


class _Flow:
    """One iteration as executions with fixed distances, run as often as asked.

    Each execution has a slot, in the order in which they come. What it waits for are slots with a
    distance in cycles; slots below zero are those of the iteration before. What does not depend
    on an iteration before starts at the same time in each, so only the rest is run again.
    """

    def __init__(self, steps: Steps, items: Sequence[Item]) -> None:
        self.steps = steps
        self.timing = steps.timing
        self.unknown: dict[str, None] = {}
        self.is_exact = True
        self.distances: dict[
            int, dict[int, int]
        ] = {}  # by identity of consumer and producer traits
        self.executed: list[Step] = []
        self.kinds: list[int] = []  # identity of the traits of each
        self.waits: list[list[tuple[int, int]]] = []
        self.rounds: dict[int, _Round] = {}
        self.writers: dict[int, int] = {}  # register -> slot of its last write
        self.open: list[tuple[int, int, int, bool]] = []  # slot, place, register, is guard
        self.starts: list[float] = []  # of all iterations, one after the other
        self._walk(items)
        self.slots = len(self.executed)
        self.critical = self._critical()
        self._close()
        self.again = self._again()

    def run(self) -> None:
        """Run one more iteration."""
        starts, base = self.starts, len(self.starts)
        starts += starts[: self.slots]
        for slot, start, waits in self.again:
            for other, cycles in waits:
                there = starts[base + other] + cycles
                if there > start:
                    start = there
            if slot in self.rounds:
                start = self._after_rounds(self.rounds[slot], base)
            starts[base + slot] = start

    def last_start(self) -> float:
        """Give the time at which the last instruction starts that wrote a register."""
        base = len(self.starts) - self.slots
        return max((self.starts[base + slot] for slot in self.writers.values()), default=0.0)

    def carried(self, cycles: float) -> Chain:
        """Give the chain that comes round again, one round of it."""
        base = len(self.starts) - self.slots
        last = max(self.writers.values(), key=lambda s: self.starts[base + s], default=None)
        found: tuple[int, ...] = ()
        if last is not None and cycles > 0:
            found = self._addresses(self._on_cycle(base + last))
        return Chain(max(0.0, cycles), found, tuple(self.unknown), self.is_exact)

    # The first iteration

    def _walk(self, items: Sequence[Item]) -> None:
        for item in items:
            if isinstance(item, Repeat):
                self._repeat(item)
            else:
                self._execute(self.steps.at(item))

    def _execute(self, step: Step) -> None:
        slot, start = len(self.executed), 0.0
        writers, starts, executed = self.writers, self.starts, self.executed
        waits: list[tuple[int, int]] = []
        kind, kinds = id(step.traits), self.kinds
        known = self.distances.get(kind)
        if known is None:
            known = self.distances[kind] = {}
        for register in step.reads:
            writer = writers.get(register)
            if writer is None:
                self.open.append((slot, len(waits), register, False))
                continue
            cycles = known.get(kinds[writer])
            if cycles is None:
                cycles = self._distance(executed[writer], step, False)
                if executed[writer].traits.result is not None:
                    known[kinds[writer]] = cycles
            waits.append((writer, cycles))
            there = starts[writer] + cycles
            if there > start:
                start = there
        guard = step.access.guard
        if guard is not None:
            writer = writers.get(guard)
            if writer is None:
                self.open.append((slot, len(waits), guard, True))
            else:
                cycles = self._distance(executed[writer], step, True)
                waits.append((writer, cycles))
                start = max(start, starts[writer] + cycles)
        executed.append(step)
        kinds.append(kind)
        self.waits.append(waits)
        starts.append(start)
        for register in step.writes:
            writers[register] = slot

    def _repeat(self, item: Repeat) -> None:
        rounds = 1 if item.times is None else item.times
        self.is_exact &= item.times is not None
        before = dict(self.writers)
        for _ in range(min(rounds, _ROUNDS)):
            before = dict(self.writers)
            self._walk(item.items)
        left = rounds - _ROUNDS
        if left > 0:
            for register, last in list(self.writers.items()):
                old = before.get(register)
                if old is not None and old != last:
                    slot = self.writers[register] = len(self.executed)
                    self.rounds[slot] = _Round(last, old, left)
                    self.executed.append(self.executed[last])
                    self.kinds.append(self.kinds[last])
                    self.waits.append([])
                    self.starts.append(self._after_rounds(self.rounds[slot], 0))

    def _after_rounds(self, rounds: _Round, base: int) -> float:
        last = self.starts[base + rounds.last]
        return last + (last - self.starts[base + rounds.before]) * rounds.rounds

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

    def _critical(self) -> Chain:
        """Give the chain to the result that is there last."""
        last = max(self.writers.values(), key=self._ready, default=None)
        cycles = 0.0 if last is None else self._ready(last)
        found = () if last is None else self._addresses(last)
        return Chain(cycles, found, tuple(self.unknown), self.is_exact)

    def _ready(self, slot: int) -> float:
        return self.starts[slot] + self._result(self.executed[slot])

    # The further iterations

    def _close(self) -> None:
        """Let what found no writer in the iteration wait for that of the iteration before."""
        inserted: dict[int, int] = {}
        for slot, place, register, is_guard in self.open:
            writer = self.writers.get(register)
            if writer is not None:
                cycles = self._distance(self.executed[writer], self.executed[slot], is_guard)
                more = inserted.get(slot, 0)
                self.waits[slot].insert(place + more, (writer - self.slots, cycles))
                inserted[slot] = more + 1

    def _again(self) -> list[tuple[int, float, list[tuple[int, int]]]]:
        """List what depends on the iteration before: its slot, start by the rest, and waits."""
        carried: set[int] = set()
        found = []
        starts = self.starts
        for slot, waits in enumerate(self.waits):
            start, moving = 0.0, []
            for wait in waits:
                other = wait[0]
                if other < 0 or other in carried:
                    moving.append(wait)
                elif starts[other] + wait[1] > start:
                    start = starts[other] + wait[1]
            rounds = self.rounds.get(slot) if self.rounds else None
            is_moved = rounds is not None and not carried.isdisjoint((rounds.last, rounds.before))
            if moving or is_moved:
                carried.add(slot)
                found.append((slot, start, moving))
        return found

    # Going back

    def _before(self, at: int) -> int | None:
        """Give the execution that one waited for last, both counted over all iterations."""
        slot = at % self.slots
        base = at - slot
        if slot in self.rounds:
            return self._before(base + self.rounds[slot].last)
        latest, found = 0.0, None
        for other, cycles in self.waits[slot]:
            if base + other >= 0:
                there = self.starts[base + other] + cycles
                if there > latest or found is None:
                    latest, found = there, base + other
        return found

    def _on_cycle(self, last: int) -> int:
        """Go back to an execution whose address comes again further back: the cycle goes on it."""
        seen: set[int] = set()
        at: int | None = last
        while at is not None:
            address = self._address(at)
            if address in seen:
                return at
            seen.add(address)
            at = self._before(at)
        return last

    def _addresses(self, last: int) -> tuple[int, ...]:
        """List the addresses of a chain from its first to its last instruction, one round of it."""
        found: dict[int, None] = {}
        at: int | None = last
        while at is not None and self._address(at) not in found:
            found[self._address(at)] = None
            at = self._before(at)
        return tuple(reversed(found))

    def _address(self, at: int) -> int:
        return self.executed[at % self.slots].instruction.address


def chains(items: Sequence[Item], steps: Steps) -> tuple[Chain, Chain]:
    """Find the longest chain inside one iteration, and the one that leads into the next.

    The first counts cycles up to the last result, the second cycles that each iteration adds.
    """
    flow = _Flow(steps, items)
    starts = [flow.last_start()]
    for _ in range(_ITERATIONS - 1):
        flow.run()
        starts.append(flow.last_start())
    cycles = (starts[-1] - starts[-1 - _MEASURED]) / _MEASURED
    return flow.critical, flow.carried(cycles)
