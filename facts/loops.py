"""Loops of a function: natural loops, their nesting, and backward branches that are no loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from .control_flow import ControlFlow, Edge
from .flow_branches import is_conditional
from .loop_counters import advancing_registers, defined_registers


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


@dataclass(slots=True)
class _Body:
    header: int
    latches: list[int]
    blocks: set[int]
    is_natural: bool = True


def find_loops(flow: ControlFlow) -> Loops:
    """Find the loops of a function, near-linear in its blocks times the nesting depth."""
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
        for body in _bodies_of_header(flow, header, latches)
    ]
    bodies += _irregular_bodies(flow, back)
    return Loops(flow, _nest(flow, bodies), _backward_branches(flow, bodies))


def _bodies_of_header(flow: ControlFlow, header: int, latches: Sequence[int]) -> list[_Body]:
    """Give one loop per header, or nested ones where an inner loop starts at the same block."""
    single = sorted(
        (_Body(header, [latch], _walk_back(flow, header, [latch])) for latch in set(latches)),
        key=lambda body: (len(body.blocks), body.latches),
    )
    merged: list[_Body] = []
    for body in single:
        if merged and not _is_nested(flow, merged[-1], body):
            merged[-1].blocks |= body.blocks
            merged[-1].latches += body.latches
        else:
            merged.append(body)
    return merged


def _is_nested(flow: ControlFlow, inner: _Body, outer: _Body) -> bool:
    """Tell an inner loop with the same header from a `continue`.

    Only the outer one moves some counter on: a register that it advances by a constant and that
    the inner one leaves alone. A `continue` moves on too.
    """
    if not inner.blocks < outer.blocks:
        return False
    if not all(is_conditional(flow.last_instruction(latch)) for latch in inner.latches):
        return False
    inside = [i for block in inner.blocks for i in flow.instructions(block)]
    beyond = [i for block in outer.blocks - inner.blocks for i in flow.instructions(block)]
    return bool(advancing_registers(beyond) - defined_registers(inside))


def _walk_back(flow: ControlFlow, header: int, latches: Iterable[int]) -> set[int]:
    blocks = {header}
    stack = [latch for latch in latches if latch != header]
    while stack:
        block = stack.pop()
        if block not in blocks:
            blocks.add(block)
            stack += [edge.source for edge in flow.predecessors[block]]
    return blocks & flow.reachable


def _irregular_bodies(flow: ControlFlow, back: Sequence[Edge]) -> list[_Body]:
    """Find cycles that are left when the natural back edges are gone: they have two entries."""
    closing = set(back)
    forward = [e for e in flow.edges if e.source in flow.reachable and e not in closing]
    if _is_acyclic(flow.reachable, forward):
        return []
    import networkx as nx

    graph = nx.DiGraph((edge.source, edge.target) for edge in forward)
    bodies = []
    for component in nx.strongly_connected_components(graph):
        inner = [e for e in forward if e.source in component and e.target in component]
        if not inner:
            continue
        entries = {e.target for e in forward if e.target in component and e.source not in component}
        header = min(entries or component)
        latches = sorted({edge.source for edge in inner if edge.target == header})
        bodies.append(_Body(header, latches, set(component), is_natural=False))
    return bodies


def _is_acyclic(nodes: Iterable[int], edges: Sequence[Edge]) -> bool:
    waiting = {node: 0 for node in nodes}
    following: dict[int, list[int]] = {node: [] for node in waiting}
    for edge in edges:
        waiting[edge.target] += 1
        following[edge.source].append(edge.target)
    ready = [node for node, count in waiting.items() if not count]
    done = 0
    while ready:
        done += 1
        for target in following[ready.pop()]:
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return done == len(waiting)


def _nest(flow: ControlFlow, bodies: Sequence[_Body]) -> tuple[Loop, ...]:
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
    flow: ControlFlow, index: int, body: _Body, depth: int, parents: Sequence[int | None]
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


def _out_of_line(flow: ControlFlow, body: _Body) -> set[int]:
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


def _backward_branches(flow: ControlFlow, bodies: Sequence[_Body]) -> tuple[NoLoop, ...]:
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
