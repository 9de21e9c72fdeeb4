"""Dominators of a graph with several roots, and quick answers to "does a dominate b"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from networkx import DiGraph


def immediate_dominators(
    count: int, edges: Iterable[tuple[int, int]], roots: Sequence[int]
) -> tuple[int | None, ...]:
    """Give the immediate dominator of each node 0..count-1, None at the top and where unreached.

    The roots hang below one node of their own, so that code of a helper routine has dominators
    too. Source: Cooper, Harvey and Kennedy, as networkx has it.
    """
    import networkx as nx

    above = count
    graph: DiGraph[int] = nx.DiGraph()
    graph.add_node(above)
    graph.add_edges_from(edges)
    graph.add_edges_from((above, root) for root in roots)
    found = nx.immediate_dominators(graph, above)
    return tuple(
        None if (parent := found.get(node)) is None or parent == above else parent
        for node in range(count)
    )


def tree_spans(parents: Sequence[int | None]) -> tuple[tuple[int, int], ...]:
    """Number the nodes of a forest so that a stands above b where b's number lies in a's span."""
    children: list[list[int]] = [[] for _ in parents]
    for child, parent in enumerate(parents):
        if parent is not None:
            children[parent].append(child)
    spans = [(0, 0)] * len(parents)
    clock = 0
    for top in (node for node, parent in enumerate(parents) if parent is None):
        stack = [(top, False)]
        while stack:
            node, is_done = stack.pop()
            if is_done:
                spans[node] = (spans[node][0], clock)
                continue
            spans[node] = (clock, clock)
            clock += 1
            stack.append((node, True))
            stack.extend((child, False) for child in children[node])
    return tuple(spans)


def reached(starts: Iterable[int], neighbours: Sequence[Sequence[int]]) -> set[int]:
    """Give every node that can be reached from these, themselves included."""
    seen = set(starts)
    stack = list(seen)
    while stack:
        for node in neighbours[stack.pop()]:
            if node not in seen:
                seen.add(node)
                stack.append(node)
    return seen
