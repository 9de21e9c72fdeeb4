"""`--what-if NAME=VALUE`: facts changed by hand, checked against the vocabulary."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..facts.launch_facts import axes
from ..facts.model import Value
from ..parsers.errors import KneckError
from ..parsers.suggest import suggestion
from ..rules.vocabulary import Entry, Vocabulary

LARGEST_COUNT = 2.0**63  # above it a whole number stays a float
SHAPES = ("launch.grid", "launch.block")


def changes(texts: Iterable[str], vocabulary: Vocabulary) -> dict[str, Value]:
    """Read the assignments; raises KneckError for an unknown fact or a value of the wrong type."""
    return dict(_change(text, vocabulary) for text in texts)


def _change(text: str, vocabulary: Vocabulary) -> tuple[str, Value]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name or not value:
        raise KneckError(f"--what-if {text}: no assignment", help="write --what-if NAME=VALUE")
    entry = vocabulary.entry(name)
    if entry is None:
        known = [known for known in vocabulary.entries if "*" not in known]
        raise KneckError(f'--what-if: unknown fact "{name}"', help=suggestion(name, known))
    return name, _value(entry, name, value)


def _value(entry: Entry, name: str, text: str) -> Value:
    if entry.type == "bool":
        if text not in ("true", "false"):
            raise KneckError(
                f"--what-if {name}={text}: not true or false", help="write one of them"
            )
        return text == "true"
    if name in SHAPES:
        try:
            return ",".join(map(str, axes(text)))
        except (ValueError, OverflowError):
            what = f"--what-if {name}={text}: not one to three sizes of at least 1"
            raise KneckError(what, help=f"write {name}=32,32") from None
    if entry.type == "text":
        if entry.values and text not in entry.values:
            what = f'--what-if {name}: "{text}" is not one of its values'
            raise KneckError(what, help=suggestion(text, entry.values))
        return text
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise KneckError(f"--what-if {name}={text}: not a number", help="write a number")
    return int(number) if number.is_integer() and abs(number) < LARGEST_COUNT else number
