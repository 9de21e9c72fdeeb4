"""Dominators of a graph with several roots, and quick answers to "does a dominate b"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def immediate_dominators(
    count: int, edges: Iterable[tuple[int, int]], roots: Sequence[int]
) -> tuple[int | None, ...]:
    """Give the immediate dominator of each node 0..count-1, None at the top and where unreached.

    The roots hang below one node of their own, so that code of a helper routine has dominators
    too. Source: Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm". networkx has it
    as well, and the tests compare the two; its import would be a sixth of a short run.
    """
    above = count
    following: list[list[int]] = [[] for _ in range(count + 1)]
    preceding: list[list[int]] = [[] for _ in range(count + 1)]
    for source, target in [*edges, *((above, root) for root in roots)]:
        following[source].append(target)
        preceding[target].append(source)
    order = _postorder(above, following)
    number = {node: i for i, node in enumerate(order)}
    found: dict[int, int] = {above: above}
    moved = True
    while moved:
        moved = False
        for node in reversed(order[:-1]):
            parent = -1
            for other in preceding[node]:
                if other in found:
                    parent = other if parent < 0 else _meeting(parent, other, found, number)
            if found.get(node) != parent:
                found[node] = parent
                moved = True
    parents = (found.get(node, above) for node in range(count))
    return tuple(None if parent == above else parent for parent in parents)


def ranks(roots: Iterable[int], following: Sequence[Sequence[int]]) -> dict[int, int]:
    """Number the nodes that can be reached so that, but for loops, each stands before the next."""
    above = len(following)
    order = _postorder(above, [*following, list(roots)])
    return {node: rank for rank, node in enumerate(reversed(order[:-1]))}


def _postorder(root: int, following: Sequence[Sequence[int]]) -> list[int]:
    """List what can be reached, each node after those that its edges lead to."""
    order: list[int] = []
    seen = {root}
    stack = [(root, iter(following[root]))]
    while stack:
        node, rest = stack[-1]
        fresh = next((other for other in rest if other not in seen), None)
        if fresh is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(fresh)
            stack.append((fresh, iter(following[fresh])))
    return order


def _meeting(one: int, other: int, found: dict[int, int], number: dict[int, int]) -> int:
    """Go up from two nodes to where their ways to the root meet."""
    while one != other:
        while number[one] < number[other]:
            one = found[one]
        while number[other] < number[one]:
            other = found[other]
    return one


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
