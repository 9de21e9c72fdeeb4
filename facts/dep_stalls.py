"""How much shorter the stall counts of a loop could be, all at once.

The stalls are shortened one after another in program order, each as far as every constraint
around it allows with the others as they then are. So the result holds for all of them together,
and each of them alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from ..parsers.listing import Instruction
from ..parsers.record import dataclass
from .dep_constraints import Constraint, constraints, constraints_from, held_by_first_met
from .dep_steps import Steps


@dataclass(frozen=True, slots=True)
class Stall:
    """The stall count of one instruction: as it is, and as it could be.

    `is_independent` tells that no data and no ordering instruction needs the stall as it is; the
    pipe still may.
    """

    position: int
    address: int
    stall: int
    required: int
    is_independent: bool

    @property
    def slack(self) -> int:
        """Give the cycles that could go."""
        return self.stall - self.required


@dataclass(frozen=True, slots=True)
class StallRow:
    """Fixed-latency instructions of a loop with the same mnemonic and stall count.

    `required` is the stall that most of those with slack need, or the present one where none has
    slack; `reducible_cycles` adds up their slack over one iteration.
    """

    mnemonic: str
    opcode: str
    stall: int
    count: int
    independent: int
    required: int
    reducible_cycles: int
    largest_slack: int
    addresses: tuple[int, ...]
    reducible_addresses: tuple[int, ...]


Touching = Mapping[int, list[tuple[int, int]]]
"""Position -> (number of a constraint, how often its path passes the position)."""


def stalls(steps: Steps, positions: Collection[int]) -> list[Stall]:
    """Find the stall that each fixed-latency instruction of a loop needs."""
    movable = [position for position in sorted(positions) if steps.at(position).is_movable]
    found = constraints(steps, positions)
    touching = _touching(found)
    needed = _shortened(steps, movable, found, touching)
    by_data = _slack_alone(steps, movable, found, touching)
    return [_stall(steps, p, needed[p], by_data[p] > 0) for p in movable]


def _stall(steps: Steps, position: int, required: int, is_independent: bool) -> Stall:
    step = steps.at(position)
    return Stall(position, step.instruction.address, step.stall, required, is_independent)


def loose_stalls(steps: Steps, positions: Collection[int]) -> list[Stall]:
    """Find the stalls that could be shorter: those of `stalls` with slack, at less cost.

    Most stalls are held by a constraint that leaves no room on its path; one is looked for from
    the nearest instruction on. Only what touches the others is then worked out in full.
    """
    known: dict[int, list[Constraint]] = {}
    walks: dict[int, Iterator[Constraint]] = {}

    def walked(start: int) -> Iterator[Constraint]:
        """Go on with the constraints that start at an instruction, where this stopped."""
        if start not in walks:
            known[start] = []
            walks[start] = constraints_from(steps, start, steps.reach)
        for constraint in walks[start]:
            known[start].append(constraint)
            yield constraint

    def asked_by(start: int) -> list[Constraint]:
        for _ in walked(start):
            pass
        return known[start]

    held: set[int] = set()
    loose: list[int] = []
    for position in sorted(positions):
        step = steps.at(position)
        if not step.is_movable or step.stall == step.least or position in held:
            continue
        path = held_by_first_met(steps, position)
        if path:
            held.update(path)
            continue
        for start in _in_block_before(steps, position):
            for constraint in walked(start):
                if constraint.cycles >= constraint.now:
                    held.update(constraint.path)
                    if position in held:
                        break
            if position in held:
                break
        else:
            loose.append(position)
    loose = [position for position in loose if position not in held]
    apart = set(loose)
    found = [
        constraint
        for start in sorted(_all_before(steps, loose))
        for constraint in asked_by(start)
        if not apart.isdisjoint(constraint.path)
    ]
    touching = _touching(found)
    needed = _shortened(steps, loose, found, touching)
    by_data = _slack_alone(steps, loose, found, touching)
    return [
        _stall(steps, position, needed[position], by_data[position] > 0)
        for position in loose
        if needed[position] < steps.at(position).stall
    ]


def _in_block_before(steps: Steps, position: int) -> Iterator[int]:
    """Give an instruction and those before it in its block whose latency may reach behind it."""
    block = steps.flow.block_of[position]
    first, least = steps.flow.blocks[block].first, steps.sums(block)[1]
    for start in range(position, first - 1, -1):
        passed = least[position - first] - least[start - first]
        if passed >= steps.reach:
            return
        if passed < steps.at(start).reach:
            yield start


def _all_before(steps: Steps, positions: Iterable[int]) -> set[int]:
    """Give instructions and those on all ways to them whose latency may reach behind them."""
    nearest = dict.fromkeys(positions, 0)
    waiting = list(nearest)
    while waiting:
        position = waiting.pop()
        for before in steps.preceding(position):
            passed = nearest[position] + steps.at(before).least
            if passed < nearest.get(before, steps.reach):
                nearest[before] = passed
                waiting.append(before)
    return set(nearest)


def _touching(found: Sequence[Constraint]) -> Touching:
    touching: dict[int, list[tuple[int, int]]] = {}
    for number, constraint in enumerate(found):
        path = constraint.path
        if len(set(path)) == len(path):
            once = (number, 1)
            for position in path:
                touching.setdefault(position, []).append(once)
            continue
        for position, times in Counter(path).items():
            touching.setdefault(position, []).append((number, times))
    return touching


def _shortened(
    steps: Steps, movable: Sequence[int], found: Sequence[Constraint], touching: Touching
) -> dict[int, int]:
    room = [c.now - c.cycles for c in found]
    needed: dict[int, int] = {}
    for position in movable:
        around = touching.get(position, ())
        stall = steps.at(position).stall
        cut = stall - 1
        for number, times in around:
            if room[number] < cut * times:
                cut = room[number] // times
                if not cut:
                    break
        if cut:
            for number, times in around:
                room[number] -= cut * times
        needed[position] = stall - cut
    return needed


def _slack_alone(
    steps: Steps, movable: Sequence[int], found: Sequence[Constraint], touching: Touching
) -> dict[int, int]:
    """Give what each stall could lose if only data and order had a say, and nothing else moved."""
    room = [c.now - c.cycles if c.is_dependence else None for c in found]
    slack: dict[int, int] = {}
    for position in movable:
        least: int | None = None
        for number, times in touching.get(position, ()):
            free = room[number]
            if free is not None and (least is None or free // times < least):
                least = free // times
        slack[position] = steps.at(position).stall if least is None else least
    return slack


def stall_rows(
    found: Sequence[Stall],
    instructions: Sequence[Instruction],
    times: Callable[[int], int] = lambda _: 1,
) -> list[StallRow]:
    """Group stalls by mnemonic and count; `times` gives the executions per iteration."""
    groups: dict[tuple[str, int], list[Stall]] = {}
    for stall in found:
        key = (instructions[stall.position].mnemonic, stall.stall)
        groups.setdefault(key, []).append(stall)
    return [
        _row(mnemonic, count, members, instructions, times)
        for (mnemonic, count), members in sorted(groups.items())
    ]


def _row(
    mnemonic: str,
    count: int,
    members: list[Stall],
    instructions: Sequence[Instruction],
    times: Callable[[int], int],
) -> StallRow:
    loose = [stall for stall in members if stall.slack]
    return StallRow(
        mnemonic=mnemonic,
        opcode=instructions[members[0].position].opcode,
        stall=count,
        count=len(members),
        independent=sum(stall.is_independent for stall in members),
        required=_most_common([stall.required for stall in loose]) or count,
        reducible_cycles=sum(stall.slack * times(stall.position) for stall in loose),
        largest_slack=max((stall.slack for stall in loose), default=0),
        addresses=tuple(stall.address for stall in members),
        reducible_addresses=tuple(stall.address for stall in loose),
    )


def _most_common(counts: Sequence[int]) -> int | None:
    """Give the most frequent count, the smallest of several."""
    frequent = Counter(counts)
    return min(frequent, key=lambda count: (-frequent[count], count), default=None)
