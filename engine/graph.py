"""The conflict graph as a file: DOT, Mermaid, GraphML or SVG, by the ending of its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..parsers.errors import KneckError, Place
from ..parsers.files import write_atomically
from .diagnosis import Conflict, Diagnosis

MUTUAL = ("conflicts", "competes")  # drawn without a direction


def write_graph(path: str, diagnosis: Diagnosis) -> None:
    """Write the graph; raises KneckError for an unknown ending or an unwritable file."""
    writer = WRITERS.get(Path(path).suffix)
    if writer is None:
        known = ", ".join(WRITERS)
        raise KneckError("the graph has no known ending", Place(path), f"end the name in {known}")
    write_atomically(path, writer(diagnosis))


def nodes(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """List (id, kind): the strategies by rank, then whatever else an edge names, by id."""
    ranked = [(strategy.id, "strategy") for strategy in diagnosis.strategies]
    known = {id for id, _ in ranked}
    strategies = {entry.id for entry in diagnosis.not_chosen}
    others = sorted({id for edge in diagnosis.conflicts for id in edge.between} - known)
    return ranked + [(id, "not chosen" if id in strategies else "pitfall") for id in others]


def dot(diagnosis: Diagnosis) -> str:
    """Write Graphviz DOT."""
    shapes = {"strategy": "box", "not chosen": "box, style=dashed", "pitfall": "octagon"}
    lines = ["digraph conflicts {", '  rankdir=LR; node [fontname="sans-serif"];']
    lines += [f'  "{id}" [shape={shapes[kind]}];' for id, kind in nodes(diagnosis)]
    for edge in diagnosis.conflicts:
        both = ', dir="none"' if edge.kind in MUTUAL else ""
        tip = edge.because.replace("\\", "\\\\").replace('"', '\\"')
        one, two = edge.between
        lines.append(f'  "{one}" -> "{two}" [label="{edge.kind}", tooltip="{tip}"{both}];')
    return "\n".join([*lines, "}"]) + "\n"


def mermaid(diagnosis: Diagnosis) -> str:
    """Write a Mermaid flowchart."""
    marks = {"strategy": ("[", "]"), "not chosen": ("([", "])"), "pitfall": ("{{", "}}")}
    lines = ["flowchart LR"]
    lines += [f"  {id}{marks[kind][0]}{id}{marks[kind][1]}" for id, kind in nodes(diagnosis)]
    for edge in diagnosis.conflicts:
        arrow = "---" if edge.kind in MUTUAL else "-->"
        lines.append(f"  {edge.between[0]} {arrow}|{edge.kind}| {edge.between[1]}")
    return "\n".join(lines) + "\n"


def graphml(diagnosis: Diagnosis) -> str:
    """Write GraphML through networkx; edges carry kind and reason."""
    import networkx as nx

    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for id, kind in nodes(diagnosis):
        graph.add_node(id, kind=kind)
    for edge in diagnosis.conflicts:
        graph.add_edge(*edge.between, kind=edge.kind, because=edge.because)
    return "\n".join(nx.generate_graphml(graph)) + "\n"


def svg(diagnosis: Diagnosis) -> str:
    """Draw the graph; see `graph_svg`."""
    from .graph_svg import draw

    return draw(nodes(diagnosis), diagnosis.conflicts)


WRITERS: dict[str, Callable[[Diagnosis], str]] = {
    ".dot": dot,
    ".mmd": mermaid,
    ".graphml": graphml,
    ".svg": svg,
}

__all__ = ["Conflict", "dot", "graphml", "mermaid", "nodes", "svg", "write_graph"]
