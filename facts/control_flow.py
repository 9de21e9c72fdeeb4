"""The control-flow graph of one function: blocks, edges, dominators, helper routines.

The edges agree with the ones that `nvdisasm -bbcfg` draws, but for two cases that it leaves out:
calls that never come back, and the self-branch behind the code, which is no loop.
"""

from __future__ import annotations

from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING

from ..parsers.listing import Function, Instruction
from ..parsers.record import dataclass
from .flow_blocks import Block, Edge, IndirectBranch, Layout, Routine, lay_out
from .flow_dominators import immediate_dominators, reached, tree_spans

if TYPE_CHECKING:
    from networkx import DiGraph

__all__ = ["Block", "ControlFlow", "Edge", "IndirectBranch", "Routine", "control_flow"]


@dataclass(frozen=True)
class ControlFlow:
    """Blocks and edges of a function; block 0 is the entry.

    `unknown_targets` are addresses of direct branches whose target is not in the text, and
    `external_calls` of calls that leave the function. `calls` leads from a block that ends in a
    CALL to the entry block of the routine.
    """

    function: Function
    layout: Layout

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks, in the order of their addresses."""
        return self.layout.blocks

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """All edges, without duplicates."""
        return self.layout.edges

    @property
    def routines(self) -> tuple[Routine, ...]:
        """Helper routines inside the function's own code."""
        return self.layout.routines

    @cached_property
    def calls(self) -> dict[int, int]:
        """Block that ends in a CALL -> entry block of the routine."""
        return self.layout.calls

    @property
    def indirect(self) -> tuple[IndirectBranch, ...]:
        """Branches through a register, with their targets where the listing names them."""
        return self.layout.indirect

    @property
    def unknown_branches(self) -> tuple[int, ...]:
        """Addresses of branches that lead where the text does not say: edges may be missing."""
        unnamed = (branch.address for branch in self.indirect if branch.targets is None)
        return tuple(sorted((*self.layout.unknown_targets, *unnamed)))

    @cached_property
    def successors(self) -> tuple[tuple[Edge, ...], ...]:
        """Edges out of each block."""
        groups: list[list[Edge]] = [[] for _ in self.blocks]
        for edge in self.edges:
            groups[edge.source].append(edge)
        return tuple(map(tuple, groups))

    @cached_property
    def predecessors(self) -> tuple[tuple[Edge, ...], ...]:
        """Edges into each block."""
        groups: list[list[Edge]] = [[] for _ in self.blocks]
        for edge in self.edges:
            groups[edge.target].append(edge)
        return tuple(map(tuple, groups))

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """Blocks where control starts: the entry, the routines, and what only BRX may reach."""
        found = [0, *(routine.entry for routine in self.routines)] if self.blocks else []
        if any(branch.targets is None for branch in self.indirect):
            found += [
                block.index
                for block in self.blocks
                if not self.predecessors[block.index] and not self.is_filler(block.index)
            ]
        return tuple(dict.fromkeys(found))

    @cached_property
    def reachable(self) -> frozenset[int]:
        """Blocks that control can reach."""
        return frozenset(reached(self.roots, self._following))

    @cached_property
    def dominators(self) -> tuple[int | None, ...]:
        """Immediate dominator of each block, None for roots and unreached blocks."""
        pairs = ((edge.source, edge.target) for edge in self.edges)
        return immediate_dominators(len(self.blocks), pairs, self.roots)

    @cached_property
    def post_dominators(self) -> tuple[int | None, ...]:
        """Immediate post-dominator of each block; an endless loop counts as left at its end."""
        pairs = ((edge.target, edge.source) for edge in self.edges)
        return immediate_dominators(len(self.blocks), pairs, self._leaves)

    @cached_property
    def graph(self) -> DiGraph[int]:
        """The graph in networkx: nodes are block indices, edges carry their kind."""
        import networkx as nx

        graph: DiGraph[int] = nx.DiGraph()
        for block in self.blocks:
            graph.add_node(block.index, address=block.address, last_address=block.last_address)
        for edge in self.edges:
            graph.add_edge(edge.source, edge.target, kind=edge.kind)
        return graph

    def dominates(self, first: int, second: int) -> bool:
        """Tell whether every path from a root to the second block goes through the first."""
        entered, left = self._dominator_spans[first]
        return entered <= self._dominator_spans[second][0] < left

    @cached_property
    def block_of(self) -> tuple[int, ...]:
        """Block of each instruction, by position."""
        found: list[int] = []
        for block in self.blocks:
            found += repeat(block.index, block.end - block.first)
        return tuple(found)

    def instructions(self, block: int) -> tuple[Instruction, ...]:
        """Give the instructions of a block."""
        return self.function.instructions[self.blocks[block].first : self.blocks[block].end]

    def last_instruction(self, block: int) -> Instruction:
        """Give the instruction that ends a block."""
        return self.function.instructions[self.blocks[block].end - 1]

    def is_filler(self, block: int) -> bool:
        """Tell whether a block only pads the code: nothing but NOP and a branch to itself."""
        return all(i.opcode in ("NOP", "BRA") for i in self.instructions(block))

    @cached_property
    def _following(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(edge.target for edge in group) for group in self.successors)

    @cached_property
    def _dominator_spans(self) -> tuple[tuple[int, int], ...]:
        return tree_spans(self.dominators)

    @cached_property
    def _leaves(self) -> tuple[int, ...]:
        preceding = [[edge.source for edge in group] for group in self.predecessors]
        leaves = [block.index for block in self.blocks if not self.successors[block.index]]
        seen = reached(leaves, preceding)
        for block in reversed(self.blocks):
            if block.index in self.reachable and block.index not in seen:
                leaves.append(block.index)
                seen |= reached([block.index], preceding)
        return tuple(leaves)


def control_flow(function: Function) -> ControlFlow:
    """Find the control flow of a function, in time linear in its instructions."""
    return ControlFlow(function, lay_out(function))
