"""The order in which rules are decided: a rule comes after every rule that can set its facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .model import Rule


class Strata(NamedTuple):
    """The level of each rule, and the cycles (rule ids in order) where there is none."""

    levels: dict[str, int]
    cycles: tuple[tuple[str, ...], ...]


def needs(rule: Rule) -> set[str]:
    """Name the facts that must be settled before the rule can be decided."""
    names: set[str] = set()
    for condition in (*rule.when, *rule.unless):
        names.update(condition.expression.names)
    for expression in rule.sets.values():
        names.update(expression.names)
    return names


def stratify(rules: Sequence[Rule]) -> Strata:
    """Give each rule a level above the rules that it depends on; no recursion is allowed."""
    producers: dict[str, list[str]] = {}
    for rule in rules:
        for name in rule.produces:
            producers.setdefault(name, []).append(rule.id)
    before = {
        rule.id: sorted({other for name in needs(rule) for other in producers.get(name, ())})
        for rule in rules
    }
    levels: dict[str, int] = {}
    cycles: list[tuple[str, ...]] = []
    for start in sorted(before):
        _visit(start, before, levels, cycles)
    return Strata(levels, tuple(cycles))


def _visit(
    start: str,
    before: dict[str, list[str]],
    levels: dict[str, int],
    cycles: list[tuple[str, ...]],
) -> None:
    """Walk depth first without recursion; `path` holds the rules that wait for a level."""
    path: list[str] = []
    todo = [(start, False)]
    while todo:
        rule, done = todo.pop()
        if done:
            path.pop()
            levels[rule] = 1 + max((levels.get(other, -1) for other in before[rule]), default=-1)
        elif rule in path:
            cycles.append((*path[path.index(rule) :], rule))
        elif rule not in levels:
            path.append(rule)
            todo.append((rule, True))
            todo.extend((other, False) for other in reversed(before[rule]))
