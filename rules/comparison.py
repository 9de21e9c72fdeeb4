"""Conditions in one form: a fact (or an expression) on the left, what it is compared with right."""

from __future__ import annotations

from ..parsers.expression_tree import Tree, names_in

OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


def sides(tree: Tree) -> tuple[Tree, str, Tree]:
    """Split a condition; a claim `x` is `x == true`, and `5 < x` turns into `x > 5`."""
    if tree[0] == "not":
        return tree[1], "==", ("bool", False)
    if tree[0] == "name":
        return tree, "==", ("bool", True)
    operator, left, right = tree
    if left[0] != "name" and (right[0] == "name" or not any(names_in(left))):
        return right, MIRRORED[operator], left
    return left, operator, right
