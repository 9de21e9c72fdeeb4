"""Choose the K-tile loop: the loop that carries the arithmetic together with its tile's loads.

Among loops side by side the one with the most arithmetic per iteration is taken, so the unrolled
main loop wins over its remainder loop. Inside it the choice goes on inwards while an inner loop
does most of the arithmetic and brings its own loads, as under a persistent loop over tiles. A
loop that computes on its own loads and goes round as often as the data ask for does most, whatever
stands around it (a dot product in a loop over rows), unless it fills shared memory for the loop
around it. The choice stops where the loads stand outside of the inner loop: that one is a part of
the tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from ..parsers.listing import Instruction
from ..parsers.record import dataclass
from .induction import trips
from .loop_ranges import Ranges
from .loop_roles import Roles
from .loops import Loop, Loops

Role = Literal["inner", "outer", "remainder", "symmetrical", "retry", "other"]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A loop that was not chosen."""

    first: int
    last: int
    role: Role
    because: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen loop, why, and every other loop with its reason."""

    loop: Loop
    because: str
    rejected: tuple[Rejected, ...]


@dataclass(frozen=True, slots=True)
class _Work:
    """What one iteration of a loop does, inner loops included, as written in the listing.

    `unreadable` counts operations whose size the mnemonic does not tell; they outweigh all others.
    """

    unreadable: int
    flops: int
    loads: int
    instructions: int

    @property
    def rank(self) -> tuple[int, int, int, int]:
        return (self.unreadable, self.flops, self.loads, self.instructions)

    def scaled(self, times: int) -> _Work:
        return _Work(*(times * part for part in self.rank))

    def plus(self, other: _Work) -> _Work:
        return _Work(*(a + b for a, b in zip(self.rank, other.rank, strict=True)))

    @property
    def has_arithmetic(self) -> bool:
        return self.unreadable > 0 or self.flops > 0


_NONE = _Work(0, 0, 0, 0)


def choose(loops: Loops, roles: Roles, ranges: Ranges) -> Choice | None:
    """Choose the K-tile loop, None where the function has no loop at all."""
    return _Chooser(loops, roles, ranges).choose()


class _Chooser:
    def __init__(self, loops: Loops, roles: Roles, ranges: Ranges) -> None:
        self.loops = loops
        self.flow = loops.flow
        self.roles = roles
        self.ranges = ranges
        self.direct = [self._direct(loop) for loop in loops.loops]
        self.work = list(self.direct)
        for loop in sorted(loops.loops, key=lambda each: -each.depth):
            for child in loop.children:
                part = self.work[child].scaled(self._rounds(loops.loops[child]))
                self.work[loop.index] = self.work[loop.index].plus(part)
        self.retries = {
            loop.index: reason for loop in loops.loops if (reason := self._retry(loop)) is not None
        }

    def choose(self) -> Choice | None:
        loop = self._most(loop for loop in self.loops.loops if loop.parent is None)
        if loop is None:
            return None
        while True:
            inner = self._most(self.loops.loops[child] for child in loop.children)
            if inner is None or not self._goes_inwards(loop, inner):
                break
            loop = inner
        rejected = tuple(
            Rejected(other.first, other.last, *self._why_not(other, loop))
            for other in self.loops.loops
            if other is not loop
        )
        return Choice(loop, self._why(loop, rejected), rejected)

    def _most(self, candidates: Iterable[Loop]) -> Loop | None:
        def rank(loop: Loop) -> tuple[int, ...]:
            work = self.work[loop.index]
            length = 0 if work.has_arithmetic else work.instructions
            return (*work.rank[:3], length, -loop.first)

        able = (loop for loop in candidates if loop.index not in self.retries)
        return max(able, key=rank, default=None)

    def _goes_inwards(self, loop: Loop, inner: Loop) -> bool:
        inside, around = self.work[inner.index], self.direct[loop.index]
        if not self.work[loop.index].has_arithmetic:
            return inside.rank > around.rank
        if inside.loads > 0 and self._is_open_ended(inner) and not self._fills_shared(inner):
            return inside.has_arithmetic
        if inside.rank[:2] <= around.rank[:2]:
            return False
        return inside.loads > 0 or around.loads == 0

    def _is_open_ended(self, loop: Loop) -> bool:
        """Tell whether nothing bounds how often a loop goes round."""
        return trips(self.ranges, loop).high is None

    def _fills_shared(self, loop: Loop) -> bool:
        return any(
            self.roles.of(instruction).is_shared_store
            for block in loop.blocks
            for instruction in executed(self.flow.instructions(block))
        )

    def _direct(self, loop: Loop) -> _Work:
        own = loop.blocks.difference(*(self.loops.loops[child].blocks for child in loop.children))
        total = _NONE
        for block in own:
            total = total.plus(self._of_block(block))
            entry = self.flow.calls.get(block)
            if entry is not None and all(self.flow.dominates(block, b) for b in loop.latches):
                routine = next(r for r in self.flow.routines if r.entry == entry)
                for inside in routine.blocks:
                    total = total.plus(self._of_block(inside))
        return total

    def _of_block(self, block: int) -> _Work:
        unreadable = flops = loads = count = 0
        for instruction in self.flow.instructions(block):
            if instruction.never_executes:
                continue
            count += 1
            role = self.roles.of(instruction)
            if role.is_compute:
                flops += role.flops or 0
                unreadable += role.flops is None
            loads += role.is_load or role.is_bulk_copy
        return _Work(unreadable, flops, loads, count)

    def _rounds(self, loop: Loop) -> int:
        count = trips(self.ranges, loop)
        return count.low if count.is_exact else 1

    def _why(self, loop: Loop, rejected: tuple[Rejected, ...]) -> str:
        work = self.work[loop.index]
        if work.unreadable:
            text = f"it holds {work.unreadable} matrix operations whose size stands in descriptors"
        elif work.flops:
            text = f"it carries the arithmetic: {work.flops} FLOP of a warp per iteration"
        else:
            text = f"no loop has arithmetic, it has the most loads: {work.loads} per iteration"
        if work.has_arithmetic:
            text += f" and {work.loads} global loads"
        others = len(rejected)
        return text if not others else f"{text}; {others} other loop{'s' * (others > 1)} set aside"

    def _why_not(self, other: Loop, chosen: Loop) -> tuple[Role, str]:
        mine, best = self.work[other.index], self.work[chosen.index]
        if chosen.blocks < other.blocks:
            own = self.direct[other.index].flops
            return "outer", (
                f"stands around the chosen loop, as a loop over tiles does; {own} FLOP of its own"
            )
        if other.index in self.retries:
            return "retry", f"goes round until {self.retries[other.index]}: it retries or waits"
        if other.blocks < chosen.blocks:
            count = trips(self.ranges, other)
            rounds = f"{count.low}" if count.is_exact else f"{count.low} or more"
            return "inner", (
                f"is part of the tile: {mine.flops} FLOP and {mine.loads} loads, {rounds} times"
            )
        if mine.rank[:3] == best.rank[:3] and mine.has_arithmetic:
            return "symmetrical", (
                f"does the same work as the chosen loop, {mine.flops} FLOP and {mine.loads} loads "
                "per iteration; the first one stands for both"
            )
        if mine.has_arithmetic and self._same_opcodes(other, chosen):
            return "remainder", (
                f"repeats the chosen loop with less per iteration, {mine.flops} against "
                f"{best.flops} FLOP: a remainder"
            )
        return "other", f"{mine.flops} FLOP per iteration against {best.flops}"

    def _same_opcodes(self, other: Loop, chosen: Loop) -> bool:
        def opcodes(loop: Loop) -> Mapping[str, int]:
            found: dict[str, int] = {}
            for block in loop.blocks:
                for instruction in self.flow.instructions(block):
                    role = self.roles.of(instruction)
                    if role.is_compute:
                        found[instruction.opcode] = found.get(instruction.opcode, 0) + (
                            role.flops or 0
                        )
            return found

        mine, best = opcodes(other), opcodes(chosen)
        if not mine or not best:
            return False
        return max(mine, key=_by(mine)) == max(best, key=_by(best))

    def _retry(self, loop: Loop) -> str | None:
        """Tell what a loop without a counter waits for: an atomic that failed, a barrier."""
        tried: str | None = None
        for block in sorted(loop.blocks):
            for instruction in executed(self.flow.instructions(block)):
                role = self.roles.of(instruction)
                if role.is_retried:
                    tried = f"{instruction.mnemonic} at {instruction.address:#x} succeeds"
                elif role.is_load or role.is_bulk_copy:
                    return None
        if tried is None or loop.children or trips(self.ranges, loop).test is not None:
            return None
        return tried


def _by(counts: Mapping[str, int]) -> Callable[[str], tuple[int, str]]:
    return lambda opcode: (counts[opcode], opcode)


def executed(instructions: Iterable[Instruction]) -> list[Instruction]:
    """Leave out filler whose guard is never true."""
    return [instruction for instruction in instructions if not instruction.never_executes]
