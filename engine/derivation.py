"""The derivation as a graph: fact -> firing -> fact, and input -> derived fact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx

if TYPE_CHECKING:
    from .infer import Inference


def derivation(inference: Inference) -> nx.DiGraph[str]:
    """Build the graph; nodes are fact names (kind "fact") and `fires: ID` (kind "firing").

    Facts carry value, unit and source; an edge into a fact says what it was derived from.
    """
    graph: nx.DiGraph[str] = nx.DiGraph()
    for fact in inference.facts:
        graph.add_node(
            fact.name, kind="fact", value=fact.value, unit=fact.unit, source=fact.source.detail
        )
        if fact.name in inference.base:
            graph.add_edges_from((name, fact.name) for name in fact.inputs)
    for firing in inference.firings:
        rule = inference.knowledge.by_id[firing.rule]
        node = f"fires: {rule.id}"
        graph.add_node(node, kind="firing", rule=rule.id, file=rule.file)
        graph.add_edges_from((name, node) for name in firing.matched)
        graph.add_edges_from((node, name) for name in rule.produces if name in inference.facts)
    return graph
