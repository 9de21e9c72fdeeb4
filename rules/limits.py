"""What durable_rules 2.0.28 can hold; larger definitions hang or crash it, so they are refused.

The limits on one ruleset (500 distinct conditions, 255 rules with the same condition, 64
conditions that one fact satisfies) are not here: `engine.rete` splits a knowledge base before
it reaches them.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..parsers.expression_tree import Tree, names_in, unparse
from .comparison import sides
from .model import Rule

LARGEST_ANTECEDENTS = 16


def antecedents(rule: Rule) -> int:
    """Count the antecedents of a rule: its conditions, and each fact on a right-hand side once."""
    joined: set[str] = set()
    for condition in rule.when:
        joined.update(joined_names(condition.expression.tree))
    return len(rule.when) + len(rule.unless) + len(joined)


def joined_names(tree: Tree) -> set[str]:
    """Name what stands on the right side of a comparison and must be bound before it.

    A compound right side is computed beforehand and bound as one value.
    """
    right = sides(tree)[2]
    return {unparse(right)} if any(names_in(right)) else set()


def fact_hash(name: str) -> int:
    """Give the 32-bit hash (FNV-1a) by which durable_rules knows a name."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def colliding_names(rules: Iterable[Rule]) -> list[tuple[str, str]]:
    """Find facts that durable_rules would take for one another."""
    names = sorted(
        {n for rule in rules for c in (*rule.when, *rule.unless) for n in c.expression.names}
    )
    seen: dict[int, str] = {}
    found = []
    for name in names:
        first = seen.setdefault(fact_hash(name), name)
        if first != name:
            found.append((first, name))
    return found
