"""What a condition asks of the fact on its left, in words and against what a rule would set."""

from __future__ import annotations

from ..facts.model import Value
from ..parsers.expression_tree import Tree, compare, evaluate_tree, unparse
from ..parsers.record import dataclass
from ..rules.model import Rule
from .numbers import plain


@dataclass(frozen=True, slots=True)
class Demand:
    """A fact, an operator and the value on the right, None where that is not known."""

    fact: str
    operator: str
    wanted: Value | None


def needed(operator: str, right: Tree, wanted: Value | None) -> str:
    """Write what is needed: `< 8 (arch.min_warps_for_latency)`."""
    written = unparse(right).strip('"')
    if right[0] in ("num", "text", "bool") or wanted is None:
        return f"{operator} {written}"
    shown = plain(wanted) if isinstance(wanted, (int, float)) else str(wanted)
    return f"{operator} {shown} ({written})"


def constant(rule: Rule, name: str) -> Value | None:
    """Give the value that a rule sets, None where it depends on other facts."""
    return evaluate_tree(rule.sets[name].tree, lambda name: None)


def suits(value: Value | None, demand: Demand) -> bool:
    """Tell whether a value that a rule would set is what the condition asks for."""
    if value is None or demand.wanted is None:
        return True
    return compare(demand.operator, value, demand.wanted) is True
