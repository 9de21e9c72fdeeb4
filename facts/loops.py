"""Loops of a function: natural loops, their nesting, and backward branches that are no loops."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ..parsers.collector import collector_paused
from ..parsers.record import dataclass
from .control_flow import ControlFlow, Edge
from .loop_bodies import Body, bodies_of_header, irregular_bodies


@dataclass(frozen=True, slots=True)
class Loop:
    """Blocks that control can go round in.

    `first` and `last` are addresses of the part that stands in line; blocks that the compiler put
    behind the end of the code are in `blocks` and in `out_of_line`. `is_natural` is false where
    the loop can be entered in several places. `exits` are the edges that leave it.
    """

    index: int
    header: int
    latches: tuple[int, ...]
    blocks: frozenset[int]
    out_of_line: frozenset[int]
    exits: tuple[Edge, ...]
    depth: int  # 1 for an outermost loop
    parent: int | None
    children: tuple[int, ...]
    is_natural: bool
    first: int
    last: int

    @property
    def has_middle_exit(self) -> bool:
        """Tell whether control can leave from a block that does not close the loop."""
        return any(edge.source not in self.latches for edge in self.exits)


@dataclass(frozen=True, slots=True)
class NoLoop:
    """A backward branch that closes no loop, and why."""

    address: int
    because: str


@dataclass(frozen=True)
class Loops:
    """All loops, by the address of their header, outer before inner; `loops[i].index == i`."""

    flow: ControlFlow
    loops: tuple[Loop, ...]
    not_loops: tuple[NoLoop, ...]

    @cached_property
    def innermost(self) -> dict[int, int]:
        """Block -> the innermost loop around it."""
        found: dict[int, int] = {}
        for loop in sorted(self.loops, key=lambda loop: loop.depth):
            found.update((block, loop.index) for block in loop.blocks)
        return found

    def around(self, loop: Loop) -> tuple[Loop, ...]:
        """Give the loops that a loop stands in, the nearest first."""
        chain: list[Loop] = []
        parent = loop.parent
        while parent is not None:
            chain.append(self.loops[parent])
            parent = self.loops[parent].parent
        return tuple(chain)


def find_loops(flow: ControlFlow) -> Loops:
    """Find the loops of a function, near-linear in its blocks times the nesting depth."""
    with collector_paused():
        return _find_loops(flow)


def _find_loops(flow: ControlFlow) -> Loops:
    back = [
        edge
        for edge in flow.edges
        if edge.source in flow.reachable and flow.dominates(edge.target, edge.source)
    ]
    by_header: dict[int, list[int]] = {}
    for edge in back:
        by_header.setdefault(edge.target, []).append(edge.source)
    bodies = [
        body
        for header, latches in by_header.items()
        for body in bodies_of_header(flow, header, latches)
    ]
    bodies += irregular_bodies(flow, back, bodies)
    return Loops(flow, _nest(flow, bodies), _backward_branches(flow, bodies))


def _nest(flow: ControlFlow, bodies: Sequence[Body]) -> tuple[Loop, ...]:
    """Order the loops, outer before inner, and find parents by the blocks they share."""
    bodies = sorted(bodies, key=lambda body: (body.header, -len(body.blocks)))
    by_size = sorted(range(len(bodies)), key=lambda i: -len(bodies[i].blocks))
    inside: dict[int, int] = {}  # header block -> innermost loop so far
    parents: list[int | None] = [None] * len(bodies)
    for index in by_size:
        parents[index] = inside.get(bodies[index].header)
        for block in bodies[index].blocks:
            inside[block] = index
    depths = [0] * len(bodies)
    for index in by_size:
        parent = parents[index]
        depths[index] = 1 if parent is None else depths[parent] + 1
    return tuple(
        _loop(flow, index, body, depths[index], parents) for index, body in enumerate(bodies)
    )


def _loop(
    flow: ControlFlow, index: int, body: Body, depth: int, parents: Sequence[int | None]
) -> Loop:
    away = _out_of_line(flow, body)
    in_line = [flow.blocks[block] for block in body.blocks - away]
    exits = tuple(
        edge
        for block in sorted(body.blocks)
        for edge in flow.successors[block]
        if edge.target not in body.blocks
    )
    return Loop(
        index=index,
        header=body.header,
        latches=tuple(sorted(body.latches)),
        blocks=frozenset(body.blocks),
        out_of_line=frozenset(away),
        exits=exits,
        depth=depth,
        parent=parents[index],
        children=tuple(child for child, parent in enumerate(parents) if parent == index),
        is_natural=body.is_natural,
        first=min(block.address for block in in_line),
        last=max(block.last_address for block in in_line),
    )


def _out_of_line(flow: ControlFlow, body: Body) -> set[int]:
    """Give the blocks of a loop that stand behind an end of the program: slow paths.

    A program end between the header and a block, itself outside the loop, parts the code.
    """
    away: set[int] = set()
    is_away = False
    for block in range(body.header, max(body.blocks) + 1):
        if block in body.blocks:
            if is_away:
                away.add(block)
        elif not flow.successors[block] and block in flow.reachable:
            is_away = True
    return away


def _backward_branches(flow: ControlFlow, bodies: Sequence[Body]) -> tuple[NoLoop, ...]:
    """Explain every branch to a lower address that closes no loop."""
    closing = {(latch, body.header) for body in bodies for latch in body.latches}
    found = []
    for block in flow.blocks:
        last = flow.last_instruction(block.index)
        for edge in flow.successors[block.index]:
            is_backward = flow.blocks[edge.target].address <= block.last_address
            if (
                is_backward
                and edge.kind != "fallthrough"
                and (edge.source, edge.target) not in (closing)
            ):
                found.append(NoLoop(last.address, _why_no_loop(flow, edge)))
        if last.opcode == "BRA" and not flow.successors[block.index]:
            found.append(NoLoop(last.address, "a branch to itself that pads the code"))
    return tuple(found)


def _why_no_loop(flow: ControlFlow, edge: Edge) -> str:
    target = flow.blocks[edge.target].address
    if edge.source not in flow.reachable:
        return f"control does not reach it on its way to {target:#x}"
    return f"comes back to {target:#x} from code that stands out of line"
