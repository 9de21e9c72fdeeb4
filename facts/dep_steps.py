"""Each instruction as the dependence analysis sees it, worked out once."""

from __future__ import annotations

from ..parsers.listing import Instruction
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


class Steps:
    """The steps of a function by position, made when they are asked for."""

    def __init__(self, flow: ControlFlow, accesses: Accesses, timing: Timing) -> None:
        self.flow = flow
        self.instructions = flow.function.instructions
        self.accesses = accesses
        self.timing = timing
        self._steps: list[Step | None] = [None] * len(self.instructions)
        self._following: dict[int, list[int]] = {}
        self.block_ends = {block.end - 1: block.index for block in flow.blocks}

    def at(self, position: int) -> Step:
        """Give the step at a position."""
        step = self._steps[position]
        if step is None:
            step = self._steps[position] = self._step(position)
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

    def _followers(self, position: int) -> list[int]:
        block = self.block_ends.get(position)
        if block is None:
            return [position + 1]
        edges = self.flow.successors[block]
        return [self.flow.blocks[e.target].first for e in edges if e.kind != "divergent"]

    def _step(self, position: int) -> Step:
        instruction = self.instructions[position]
        access = self.accesses.at(position)
        traits = self.timing.traits(instruction)
        control = instruction.control
        opcode = instruction.opcode
        is_movable = (
            control is not None
            and traits.is_fixed
            and opcode not in ORDERING
            and not instruction.never_executes
        )
        stall = 1 if control is None else max(1, control.stall)
        reads, writes = frozenset(access.reads), frozenset(access.writes)
        guarded = () if access.guard is None else (access.guard,)
        reach = max(traits.longest, traits.interval or 0)
        if writes and max(writes) >= PREDICATE and traits.is_fixed:
            guard = self.timing.guard_cycles(traits)
            reach = max(reach, self.timing.reach if guard is None else guard)
        return Step(
            instruction=instruction,
            access=access,
            traits=traits,
            reads=reads,
            writes=writes,
            touched=reads.union(writes, guarded),
            stall=stall,
            least=1 if is_movable else stall,
            reach=reach,
            is_movable=is_movable,
            is_opaque=opcode in ORDERING or not traits.is_known,
            waited=waited_scoreboards(instruction),
            sets=set_scoreboards(instruction),
        )


def set_scoreboards(instruction: Instruction) -> int:
    """Give the scoreboards that an instruction sets, as a mask."""
    control = instruction.control
    if control is None:
        return 0
    write, read = control.write_barrier, control.read_barrier
    return (0 if write is None else 1 << write) | (0 if read is None else 1 << read)


def waited_scoreboards(instruction: Instruction) -> int:
    """Give the scoreboards that must be clear before an instruction issues, as a mask."""
    control = instruction.control
    mask = 0 if control is None else control.wait_mask
    if instruction.opcode == PARTIAL_WAIT:
        for operand in instruction.operands:
            if operand.kind == "barrier" and isinstance(operand.value, int):
                mask |= 1 << operand.value
    return mask
