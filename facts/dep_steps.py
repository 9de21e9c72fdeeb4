"""Each instruction as the dependence analysis sees it, worked out once."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import accumulate

from ..parsers.listing import Control, Instruction
from ..parsers.record import dataclass
from .control_flow import ControlFlow
from .dep_operands import PREDICATE, Access, Accesses
from .dep_timing import Timing, Traits
from .flow_branches import TRANSFERS

# Instructions that order the threads of a warp or block. What stands just before one keeps its
# stall, and the next load or store its distance: what they need is published nowhere.
BARRIERS = frozenset(
    "BAR BSSY BSYNC BREAK WARPSYNC YIELD NANOSLEEP DEPBAR LDGDEPBAR MEMBAR FENCE ERRBAR BPT BMOV "
    "WARPGROUP ARRIVES SYNCS ELECT CCTL UCGABAR_ARV UCGABAR_WAIT ENDCOLLECTIVE USETMAXREG NOP "
    "ACQBULK PREEXIT UTMACMDFLUSH".split()
)
ORDERING = TRANSFERS | BARRIERS
PARTIAL_WAIT = "DEPBAR"  # waits until no more than so many are under way


# Stall to sets of a step, and its reach without and with a predicate among the results.
_Issue = tuple[int, int, bool, bool, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction; sets of scoreboards are bit masks.

    `stall` is at least 1: two instructions of a warp never issue in one cycle. `least` is how
    small it may become: as it is where the instruction's stall must not be touched. Nothing
    depends on the instruction behind `reach` cycles.
    """

    instruction: Instruction
    access: Access
    traits: Traits
    reads: frozenset[int]
    writes: frozenset[int]
    touched: frozenset[int]  # reads, writes and guard
    stall: int
    least: int
    reach: int
    is_movable: bool
    is_opaque: bool
    waited: int
    sets: int

    @property
    def holds_pipe(self) -> bool:
        """Tell whether the next instruction on the pipe must keep away; 1 cycle holds always."""
        return self.traits.pipe is not None and (self.traits.interval or 0) > 1


class Steps:
    """The steps of a function by position, made when they are asked for."""

    def __init__(self, flow: ControlFlow, accesses: Accesses, timing: Timing) -> None:
        self.flow = flow
        self.instructions = flow.function.instructions
        self.accesses = accesses
        self.timing = timing
        self._issue: dict[tuple[int, int, str, str | None], _Issue] = {}
        self.made: list[Step | None] = [None] * len(self.instructions)
        self._sums: dict[int, tuple[list[int], list[int]]] = {}
        self._met: dict[int, list[int]] = {}
        self._following: dict[int, list[int]] = {}
        self.block_ends = {block.end - 1: block.index for block in flow.blocks}

    @cached_property
    def reach(self) -> int:
        """Give the cycles behind which nothing depends on any instruction of the function.

        A pipe may be taken for longer than any result needs, as by a warp-group matrix instruction.
        """
        one_of_each = {i.mnemonic: i for i in self.instructions}.values()
        taken = (self.timing.traits(instruction).interval or 0 for instruction in one_of_each)
        return max(self.timing.reach, *taken, 0)

    def at(self, position: int) -> Step:
        """Give the step at a position."""
        step = self.made[position]
        if step is None:
            step = self.made[position] = self._step(position)
        return step

    def access(self, position: int) -> Access:
        """Give what the instruction at a position reads and writes."""
        return self.at(position).access

    def following(self, position: int) -> list[int]:
        """Give the positions that may execute next; lanes that disagree are left out."""
        found = self._following.get(position)
        if found is None:
            found = self._following[position] = self._followers(position)
        return found

    def preceding(self, position: int) -> list[int]:
        """Give the positions that may execute just before one; lanes that disagree are left out."""
        block = self.flow.block_of[position]
        if position > self.flow.blocks[block].first:
            return [position - 1]
        edges = self.flow.predecessors[block]
        return [self.flow.blocks[e.source].end - 1 for e in edges if e.kind != "divergent"]

    def sums(self, block: int) -> tuple[list[int], list[int]]:
        """Give sums of the stalls of a block as they are, and of the least ones.

        The sum at an index is that of the instructions of the block before it.
        """
        found = self._sums.get(block)
        if found is None:
            span = self.flow.blocks[block]
            inside = [self.at(position) for position in range(span.first, span.end)]
            now = list(accumulate((step.stall for step in inside), initial=0))
            least = list(accumulate((step.least for step in inside), initial=0))
            found = self._sums[block] = (now, least)
        return found

    def met(self, block: int) -> list[int]:
        """Give for each instruction of a block the first later one that something of it concerns.

        Its results read or written again, its operands written, its scoreboards waited for, its
        pipe taken again; the end of the block where there is none. What orders threads concerns
        the next instruction.
        """
        found = self._met.get(block)
        if found is None:
            found = self._met[block] = self._all_met(block)
        return found

    def _all_met(self, block: int) -> list[int]:
        """Go over a block from its end, with the next place of everything."""
        span = self.flow.blocks[block]
        touched: dict[int, int] = {}
        written: dict[int, int] = {}
        pipes: dict[str | None, int] = {}
        waits: dict[int, int] = {}  # by mask of scoreboards
        met = [span.end] * (span.end - span.first)
        follower: Step | None = None
        for position in range(span.end - 1, span.first - 1, -1):
            step = self.at(position)
            nearest = span.end
            for register in step.writes:
                place = touched.get(register, nearest)
                if place < nearest:
                    nearest = place
            for register in step.reads:
                place = written.get(register, nearest)
                if place < nearest:
                    nearest = place
            if step.sets:
                for mask, at in waits.items():
                    if mask & step.sets and at < nearest:
                        nearest = at
            if step.holds_pipe:
                nearest = min(nearest, pipes.get(step.traits.pipe, nearest))
            is_next = follower is not None and follower.is_opaque
            if is_next or step.instruction.opcode in BARRIERS:
                nearest = position + 1
            met[position - span.first] = nearest
            for register in step.touched:
                touched[register] = position
            for register in step.writes:
                written[register] = position
            pipes[step.traits.pipe] = position
            if step.waited:
                waits[step.waited] = position
            follower = step
        return met

    def _followers(self, position: int) -> list[int]:
        block = self.block_ends.get(position)
        if block is None:
            return [position + 1]
        edges = self.flow.successors[block]
        return [self.flow.blocks[e.target].first for e in edges if e.kind != "divergent"]

    def _step(self, position: int) -> Step:
        instruction = self.instructions[position]
        access = self.accesses.all[position]
        traits = self.timing.traits(instruction)
        key = (id(traits), id(instruction.control), instruction.opcode, instruction.predicate)
        known = self._issue.get(key)  # control words and traits are shared by many
        if known is None:
            known = self._issue[key] = self._issue_of(instruction, traits)
        stall, least, is_movable, is_opaque, waited, sets, reach, guarding = known
        if access.writes and max(access.writes) >= PREDICATE:
            reach = guarding
        if instruction.opcode == PARTIAL_WAIT:
            waited = waited_scoreboards(instruction)
        return Step(
            instruction,
            access,
            traits,
            access.read,
            access.written,
            access.touched,
            stall,
            least,
            reach,
            is_movable,
            is_opaque,
            waited,
            sets,
        )

    def _issue_of(self, instruction: Instruction, traits: Traits) -> _Issue:
        control = instruction.control
        is_ordering = instruction.opcode in ORDERING
        is_movable = (
            control is not None
            and traits.is_fixed
            and not is_ordering
            and not instruction.never_executes
        )
        stall = 1 if control is None else max(1, control.stall)
        least = 1 if is_movable else stall
        is_opaque = is_ordering or not traits.is_known
        reach = guarding = max(traits.longest, traits.interval or 0)
        if traits.is_fixed:
            guard = self.timing.guard_cycles(traits)
            guarding = max(reach, self.timing.reach if guard is None else guard)
        waited, sets = waited_for(control), set_scoreboards(control)
        return stall, least, is_movable, is_opaque, waited, sets, reach, guarding


def set_scoreboards(control: Control | None) -> int:
    """Give the scoreboards that a control word sets, as a mask."""
    if control is None:
        return 0
    write, read = control.write_barrier, control.read_barrier
    return (0 if write is None else 1 << write) | (0 if read is None else 1 << read)


def waited_for(control: Control | None) -> int:
    """Give the scoreboards that a control word waits for, as a mask."""
    return 0 if control is None else control.wait_mask


def waited_scoreboards(instruction: Instruction) -> int:
    """Give the scoreboards that must be clear before an instruction issues, as a mask."""
    mask = waited_for(instruction.control)
    if instruction.opcode == PARTIAL_WAIT:
        for operand in instruction.operands:
            if operand.kind == "barrier":
                for number in re.findall("[0-9]+", operand.text):  # SB0, or {4,3,2,1}
                    mask |= 1 << int(number)
    return mask
