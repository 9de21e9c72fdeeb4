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

    try:
        expression = parse_expression(text, Place("--fail-on"), is_fact)
    except KneckError as error:
        raise KneckError(error.what, error.place, error.help or "write NAME > VALUE") from None
    value = evaluate(expression, facts.value)
    if value is None:
        raise _undecided([name for name in expression.names if name not in facts], facts)
    if not isinstance(value, bool):
        raise KneckError(f"--fail-on {text}: this is no condition", help="write NAME > VALUE")
    return value


def _undecided(gaps: list[str], facts: FactBase) -> KneckError:
    """Tell a fact that is missing, with its reason, from a name that is no fact at all."""
    unheard = [name for name in gaps if name not in facts.missing]
    if unheard:
        from ..parsers.suggest import suggestion

        help = suggestion(unheard[0], {*facts.facts, *facts.missing})
        return KneckError(f'--fail-on: there is no fact "{unheard[0]}"', help=help)
    if not gaps:
        return KneckError("--fail-on cannot be decided: it has no value", help="it divides by 0")
    told = "; ".join(f"{name} is not known, {facts.missing[name].because}" for name in gaps)
    help = "kneck facts TARGET lists what is known"
    return KneckError(f"--fail-on cannot be decided: {told}", help=help)
