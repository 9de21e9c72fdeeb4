"""`--fail-on EXPR`: a condition on the facts for continuous integration."""

from __future__ import annotations

from ..facts.model import FactBase
from ..parsers.errors import KneckError, Place
from ..parsers.expression import parse_expression
from ..parsers.expression_tree import evaluate


def holds(text: str, facts: FactBase) -> bool:
    """Tell whether the condition holds; raises KneckError where it is none, or not decided."""

    def is_fact(name: str) -> bool:
        return name in facts or name in facts.missing

    expression = parse_expression(text, Place("--fail-on"), is_fact)
    value = evaluate(expression, facts.value)
    if value is None:
        gaps = [name for name in expression.names if name not in facts]
        what = f"--fail-on cannot be decided: {', '.join(gaps) or 'undefined'} is not known"
        raise KneckError(what, help="kneck facts TARGET lists what is known")
    if not isinstance(value, bool):
        raise KneckError(f"--fail-on {text}: this is no condition", help="write NAME > VALUE")
    return value
