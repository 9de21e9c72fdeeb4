"""Cut a function into basic blocks and draw the edges between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ..parsers.listing import Function
from ..parsers.record import dataclass
from ..parsers.sass import branch_target, branch_targets
from . import flow_branches as branches
from .flow_dominators import reached

# taken: the branch is taken; divergent: only where the lanes of the warp disagree (BRA.DIV);
# fallthrough: to the next instruction; indirect: one of the targets of BRX and its like.
EdgeKind = Literal["taken", "divergent", "fallthrough", "indirect"]


@dataclass(frozen=True, slots=True)
class Block:
    """A run of instructions entered at the first and left after the last one.

    `first` and `end` are positions in the function's instructions, `end` exclusive.
    """

    index: int
    first: int
    end: int
    address: int
    last_address: int


@dataclass(frozen=True, slots=True)
class Edge:
    """Control may go from one block to another (block indices)."""

    source: int
    target: int
    kind: EdgeKind


@dataclass(frozen=True, slots=True)
class Routine:
    """Code that a CALL enters and a RET leaves: a helper such as the slow path of a division."""

    entry: int  # block
    blocks: frozenset[int]
    callers: tuple[int, ...]  # addresses of the calls


@dataclass(frozen=True, slots=True)
class IndirectBranch:
    """A branch through a register; `targets` is None where the listing does not name them."""

    address: int
    mnemonic: str
    targets: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Layout:
    """What one pass over the instructions gives; see ControlFlow for the meaning."""

    blocks: tuple[Block, ...]
    edges: tuple[Edge, ...]
    routines: tuple[Routine, ...]
    indirect: tuple[IndirectBranch, ...]
    unknown_targets: tuple[int, ...]
    external_calls: tuple[int, ...]
    calls: dict[int, int]


def lay_out(function: Function) -> Layout:
    """Find blocks, edges and helper routines of a function."""
    return _Builder(function).build()


class _Builder:
    """The state of one pass; used once."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.instructions = function.instructions
        self.position_of = {i.address: n for n, i in enumerate(function.instructions)}
        self.indirect: list[IndirectBranch] = []
        self.unknown: list[int] = []
        self.external: list[int] = []
        self.target_of: dict[int, tuple[int, ...]] = {}  # position -> target positions

    def build(self) -> Layout:
        starts = self._starts()
        blocks = self._blocks(starts)
        edges = self._edges(blocks)
        calls = self._calls(blocks)
        edges, routines, inner = self._resolve_calls(blocks, edges, calls)
        return Layout(
            blocks,
            tuple(dict.fromkeys(edges)),
            routines,
            tuple(self.indirect),
            tuple(self.unknown),
            tuple(self.external),
            inner,
        )

    def _starts(self) -> list[int]:
        """Give the position of the first instruction of every block."""
        starts = {0} if self.instructions else set()
        for position, instruction in enumerate(self.instructions):
            if instruction.opcode == "BSSY":
                meeting = branch_target(instruction, self.function)
                if meeting in self.position_of:
                    starts.add(self.position_of[meeting])
            if instruction.opcode not in branches.TRANSFERS:
                continue
            targets = self._targets(position)
            self.target_of[position] = targets
            starts.update(targets)
            if position + 1 < len(self.instructions):
                starts.add(position + 1)
        return sorted(starts)

    def _targets(self, position: int) -> tuple[int, ...]:
        instruction = self.instructions[position]
        if instruction.opcode in branches.ENDS or instruction.never_executes:
            return ()
        if instruction.opcode in branches.INDIRECT_BRANCHES:
            named = branch_targets(instruction, self.function) or None
            found = IndirectBranch(instruction.address, instruction.mnemonic, named)
            self.indirect.append(found)
            return tuple(self.position_of[a] for a in named or () if a in self.position_of)
        target = branch_target(instruction, self.function)
        if target in self.position_of:
            return (self.position_of[target],)
        missing = self.external if instruction.opcode in branches.CALLS else self.unknown
        missing.append(instruction.address)
        return ()

    def _blocks(self, starts: Sequence[int]) -> tuple[Block, ...]:
        ends = [*starts[1:], len(self.instructions)]
        address = [instruction.address for instruction in self.instructions]
        return tuple(
            Block(index, first, end, address[first], address[end - 1])
            for index, (first, end) in enumerate(zip(starts, ends, strict=False))
        )

    def _edges(self, blocks: Sequence[Block]) -> list[Edge]:
        block_at = {block.first: block.index for block in blocks}
        edges = []
        for block in blocks:
            position = block.end - 1
            last = self.instructions[position]
            is_jump = last.opcode in branches.TRANSFERS and last.opcode not in branches.CALLS
            if is_jump:
                kind: EdgeKind = "taken"
                if last.opcode in branches.INDIRECT_BRANCHES:
                    kind = "indirect"
                elif branches.is_divergent_branch(last):
                    kind = "divergent"
                edges += [
                    Edge(block.index, block_at[target], kind)
                    for target in self.target_of[position]
                    if target != position or branches.is_conditional(last)
                ]
            goes_on = not is_jump or branches.is_conditional(last)
            if goes_on and block.index + 1 < len(blocks):
                edges.append(Edge(block.index, block.index + 1, "fallthrough"))
        return edges

    def _calls(self, blocks: Sequence[Block]) -> dict[int, int]:
        block_at = {block.first: block.index for block in blocks}
        return {
            block.index: block_at[target]
            for block in blocks
            if self.instructions[block.end - 1].opcode in branches.CALLS
            for target in self.target_of[block.end - 1]
        }

    def _resolve_calls(
        self, blocks: Sequence[Block], edges: list[Edge], calls: dict[int, int]
    ) -> tuple[list[Edge], tuple[Routine, ...], dict[int, int]]:
        """Tell calls that come back from the ones that the compiler uses as far jumps.

        A call is a jump where its target belongs to the caller's own path or reaches no RET.
        """
        following: list[list[int]] = [[] for _ in blocks]
        for edge in edges:
            following[edge.source].append(edge.target)
        own = reached([0], following) if blocks else set()
        callers: dict[int, list[int]] = {}
        for block, target in calls.items():
            callers.setdefault(target, []).append(block)
        routines, inner = [], dict(calls)
        for target, sources in callers.items():
            inside = reached([target], following)
            comes_back = any(
                self.instructions[blocks[block].end - 1].opcode in branches.RETURNS
                for block in inside
            )
            if comes_back and target not in own:
                addresses = tuple(blocks[block].last_address for block in sources)
                routines.append(Routine(target, frozenset(inside), addresses))
                continue
            for block in sources:
                del inner[block]
                if not branches.is_conditional(self.instructions[blocks[block].end - 1]):
                    edges = [edge for edge in edges if edge.source != block]
                edges.append(Edge(block, target, "taken"))
        return edges, tuple(routines), inner
