"""Values of facts as text: read as the vocabulary says, refused with a suggestion."""

from __future__ import annotations

from ..facts.model import Value
from ..parsers.errors import KnowledgeError, Place
from ..parsers.expression import parse_expression
from ..parsers.expression_tree import evaluate
from ..parsers.suggest import suggestion
from .vocabulary import Vocabulary


def typed_value(name: str, text: str, vocabulary: Vocabulary, place: Place | None) -> Value:
    """Read the value of a fact as its entry says; raises KnowledgeError when it does not fit.

    Serves the facts of a rule's tests, and `--what-if NAME=VALUE`.
    """
    entry = vocabulary.entry(name)
    if entry is None:
        raise KnowledgeError(f'unknown fact "{name}"', place, suggest_fact(name, vocabulary))
    if entry.type == "bool":
        if text not in ("true", "false"):
            raise KnowledgeError(f'{name} is true or false, not "{text}"', place)
        return text == "true"
    if entry.type == "text":
        if entry.values and text not in entry.values:
            help = suggestion(text, set(entry.values))
            raise KnowledgeError(f'"{text}" is not a value of {name}', place, help)
        return text
    expression = parse_expression(text, place)
    value = evaluate(expression, lambda name: None)
    if value is None or isinstance(value, (bool, str)):
        raise KnowledgeError(f'{name} is a number, not "{text}"', place)
    return value


def suggest_fact(name: str, vocabulary: Vocabulary) -> str:
    """Give the help line for a fact that is not in the vocabulary."""
    from difflib import get_close_matches

    near = get_close_matches(name, sorted(vocabulary.entries), 1)
    return f'did you mean "{near[0]}"?' if near else "facts are listed in kb/vocabulary.yaml"
