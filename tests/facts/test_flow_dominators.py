"""Dominators: those of networkx, on graphs of any shape."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.flow_dominators import immediate_dominators


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]], list[int]]:
    count = draw(st.integers(1, 14))
    node = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=40))
    return count, edges, draw(st.lists(node, min_size=1, max_size=3, unique=True))


def by_networkx(
    count: int, edges: list[tuple[int, int]], roots: list[int]
) -> tuple[int | None, ...]:
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_edges_from([*edges, *((count, root) for root in roots)])
    found = nx.immediate_dominators(graph, count)
    parents = (found.get(node) for node in range(count))
    return tuple(None if parent == count else parent for parent in parents)


@given(graphs())
def test_dominators_are_those_of_networkx(
    graph: tuple[int, list[tuple[int, int]], list[int]],
) -> None:
    assert immediate_dominators(*graph) == by_networkx(*graph)


def test_a_long_chain_needs_no_recursion() -> None:
    count = 100_000
    edges = [(i, i + 1) for i in range(count - 1)]
    assert immediate_dominators(count, edges, [0]) == (None, *range(count - 1))
