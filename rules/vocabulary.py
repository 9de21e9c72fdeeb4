"""The vocabulary: every fact that a rule may use, with its type, unit, meaning and origin.

A name may hold wildcards: `mix.*.in_loop` stands for `mix.HMMA.in_loop` and
`mix.HMMA.16816.in_loop` alike, since mnemonics have dots of their own; `arch.has_*` for
`arch.has_tma`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Literal, NamedTuple

from ..facts.model import Value
from ..parsers.record import dataclass

FactType = Literal["num", "bool", "text"]

FIRED = ("strategy.", "pitfall.", "limitation.")  # facts of the engine itself: has the rule fired


class Entry(NamedTuple):
    """What is known about a fact before it has a value."""

    name: str  # may hold wildcards
    type: FactType
    unit: str
    meaning: str
    source: str  # how to obtain it
    cost: int  # rank: the cheaper measurement comes first
    values: tuple[str, ...] = ()  # of a text; empty: any
    default: Value | None = None  # of a fact that rules set: its value when none of them fires
    headline: bool = False  # named first when a change is told: blocks per SM, active warps


@dataclass(frozen=True)
class Vocabulary:
    """Entries by name; units are checked against each other, counts are numbers of things."""

    entries: Mapping[str, Entry]
    units: Mapping[str, str]
    counts: Mapping[str, str]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.entry(name) is not None

    def entry(self, name: str) -> Entry | None:
        """Find the entry of a fact: the exact name, else the most specific wildcard."""
        exact = self.entries.get(name)
        if exact is not None:
            return exact
        return next((entry for parts, entry in self._wild if _fits(parts, name)), None)

    @cached_property
    def _wild(self) -> list[tuple[list[str], Entry]]:
        """Give the wildcards split at their stars, those with the most literal text first."""
        wild = [entry for name, entry in self.entries.items() if "*" in name]
        wild.sort(key=lambda entry: (-len(entry.name.replace("*", "")), entry.name))
        return [(entry.name.split("*"), entry) for entry in wild]


def _fits(parts: list[str], name: str) -> bool:
    """Match a name against the parts between stars; a star stands for one character or more."""
    first, *between, last = parts
    if not name.startswith(first):
        return False
    at = len(first) + 1
    for part in between:
        found = name.find(part, at)
        if found < 0:
            return False
        at = found + len(part) + 1
    return name.endswith(last) and at <= len(name) - len(last)
