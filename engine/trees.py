"""Explanation trees as indented text: rule, conditions, facts, and the rules behind them."""

from __future__ import annotations

from typing import Any

from . import numbers as n
from .diagnosis import Tree

MARK = {True: "holds", False: "fails", None: "unknown"}


def render_tree(tree: Tree) -> list[str]:
    """Write a tree; the first line names the rule, its outcome and its file."""
    head = f"{tree['rule']}: {outcome(tree)}, {tree['status']}"
    return [f"{head}    {tree['file']}", *_conditions(tree["conditions"], "")]


def outcome(tree: Tree) -> str:
    """Say whether the rule fired, is silent, or is undecided."""
    holds = [condition["holds"] for condition in tree["conditions"]]
    if False in holds:
        return "silent"
    return "undecided" if None in holds else "fired"


def _conditions(conditions: list[dict[str, Any]], indent: str) -> list[str]:
    lines = []
    for position, condition in enumerate(conditions):
        last = position == len(conditions) - 1
        branch, below = ("`- ", "   ") if last else ("|- ", "|  ")
        lines.append(f"{indent}{branch}{condition['text']}    {MARK[condition['holds']]}")
        lines += _leaves(condition, indent + below)
    return lines


def _leaves(condition: dict[str, Any], indent: str) -> list[str]:
    lines = [line for fact in condition["facts"] for line in _fact_lines(fact, indent)]
    for child in condition["children"]:
        lines.append(f"{indent}set by {render_tree(child)[0]}")
        lines += _conditions(child["conditions"], indent)
    return lines


def _fact_lines(fact: dict[str, Any], indent: str) -> list[str]:
    """Write a fact, and below it the facts that it was derived from."""
    lines = [f"{indent}{fact_line(fact)}"]
    for input in fact.get("inputs", ()):
        lines += _fact_lines(input, indent + "  ")
    return lines


def fact_line(fact: dict[str, Any]) -> str:
    """Write one fact with its unit and where it came from."""
    value = n.anything(fact["value"])
    unit = f" {fact['unit']}" if fact.get("unit") and value != n.UNKNOWN else ""
    source = fact.get("source") or {}
    where = ": ".join(x for x in (source.get("kind"), source.get("detail")) if x)
    return f"{fact['name']} = {value}{unit}" + (f"    [{where}]" if where else "")
