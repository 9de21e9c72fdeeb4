"""The blocks of each loop, before they are ordered and nested."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..parsers.record import dataclass
from .control_flow import ControlFlow, Edge
from .flow_branches import is_conditional
from .loop_counters import advancing_registers, defined_registers


@dataclass(slots=True)
class Body:
    """A loop as a set of blocks, still growing."""

    header: int
    latches: list[int]
    blocks: set[int]
    is_natural: bool = True


def bodies_of_header(flow: ControlFlow, header: int, latches: Sequence[int]) -> list[Body]:
    """Give one loop per header, or nested ones where an inner loop starts at the same block."""
    single = sorted(
        (Body(header, [latch], _walk_back(flow, header, [latch])) for latch in set(latches)),
        key=lambda body: (len(body.blocks), body.latches),
    )
    merged: list[Body] = []
    for body in single:
        if merged and not _is_nested(flow, merged[-1], body):
            merged[-1].blocks |= body.blocks
            merged[-1].latches += body.latches
        else:
            merged.append(body)
    return merged


def _is_nested(flow: ControlFlow, inner: Body, outer: Body) -> bool:
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


def irregular_bodies(
    flow: ControlFlow, back: Sequence[Edge], natural: Sequence[Body]
) -> list[Body]:
    """Find cycles that are left when the natural back edges are gone: they have two entries.

    Natural loops that start on such a cycle belong to it.
    """
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
        bodies.append(Body(header, latches, _with_inner(component, natural), is_natural=False))
    return bodies


def _with_inner(component: set[int], natural: Sequence[Body]) -> set[int]:
    blocks = set(component)
    waiting = [body for body in natural if not body.blocks >= component]
    while True:
        inside = [body for body in waiting if body.header in blocks]
        if not inside:
            return blocks
        waiting = [body for body in waiting if body.header not in blocks]
        for body in inside:
            blocks |= body.blocks


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
