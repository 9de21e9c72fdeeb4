"""How many ways lead through each node of a graph, from an entry to its goals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .flow_blocks import Edge


class Ways:
    """Counts the ways through an acyclic graph; `node_of` takes blocks together to nodes.

    A cycle that is left, one with two entries, is cut where a walk comes back; the nodes around it
    are `irregular`.
    """

    def __init__(
        self, edges: Iterable[Edge], node_of: Mapping[int, int], entry: int, goals: set[int]
    ) -> None:
        following: dict[int, list[int]] = {}
        for edge in edges:
            source, target = node_of[edge.source], node_of[edge.target]
            known = following.setdefault(source, [])
            if source != target and target not in known:
                known.append(target)
        order = _in_order(entry, following)
        rank = {node: place for place, node in enumerate(order)}
        self.irregular: set[int] = set()
        self.down = dict.fromkeys(order, 0)
        self.down[entry] = 1
        for node in order:
            for target in following.get(node, ()):
                if rank[target] > rank[node]:
                    self.down[target] += self.down[node]
                else:
                    self.irregular.update(order[rank[target] : rank[node] + 1])
        self.up: dict[int, int] = {}
        for node in reversed(order):
            ahead = [t for t in following.get(node, ()) if rank[t] > rank[node]]
            self.up[node] = int(node in goals) + sum(self.up[target] for target in ahead)
        self.all = self.up[entry]

    def through(self, node: int) -> int:
        """Give the number of ways through a node."""
        return self.down.get(node, 0) * self.up.get(node, 0)


def _in_order(entry: int, following: Mapping[int, Sequence[int]]) -> list[int]:
    """Sort the nodes that can be reached so that each stands before its followers."""
    order: list[int] = []
    seen = {entry}
    stack = [(entry, iter(following.get(entry, ())))]
    while stack:
        node, targets = stack[-1]
        for target in targets:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(following.get(target, ()))))
                break
        else:
            order.append(node)
            stack.pop()
    return order[::-1]
