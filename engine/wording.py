"""Templates of rules, filled with the facts of this kernel."""

from __future__ import annotations

from collections.abc import Callable

from ..facts.model import Value
from ..parsers.expression_tree import Expression, evaluate
from ..rules.model import Template
from ..rules.vocabulary import Vocabulary
from . import numbers as n

Lookup = Callable[[str], Value | None]


def render(template: Template | None, lookup: Lookup, vocabulary: Vocabulary) -> str:
    """Fill a template; a fact that is missing is written as "unknown"."""
    if template is None:
        return ""
    return "".join(
        part if isinstance(part, str) else _filled(part, lookup, vocabulary)
        for part in template.parts
    )


def _filled(expression: Expression, lookup: Lookup, vocabulary: Vocabulary) -> str:
    value = evaluate(expression, lookup)
    if expression.tree[0] == "name":
        name = expression.tree[1]
        entry = vocabulary.entry(name)
        return quantity(value, entry.unit if entry else "", vocabulary, name)
    from ..rules.typecheck import measure, shown_unit

    measured = measure(expression.tree, vocabulary)
    return quantity(value, shown_unit(measured) if measured.unit else "", vocabulary)


def quantity(value: Value | None, unit: str, vocabulary: Vocabulary, name: str = "") -> str:
    """Write a value with its unit; counts of things have none, the sentence names the thing."""
    number = n.number(value)
    if number is None:
        return n.anything(value)
    if unit == "B":
        return n.size(number)
    if unit == "ms":
        return n.milliseconds(number)
    if unit == "GFLOP/s":
        return n.rate(number)
    if name.endswith(("fraction", "share")):
        return n.percent(number)
    return f"{n.plain(number)} {unit}" if unit in vocabulary.units else n.plain(number)
