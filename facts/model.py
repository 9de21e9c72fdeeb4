"""Facts: a name, a value with its unit, and where it came from.

Three states, not two: a fact is present, or it is missing with the reason and the way to get it.
Nothing here knows a threshold.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Literal

from ..parsers.record import dataclass

Value = bool | int | float | str
Wanted = Container[str]  # names of the facts that somebody will ask for


class _Everything:
    def __contains__(self, name: object) -> bool:
        return True


EVERYTHING: Wanted = _Everything()

SourceKind = Literal[
    "file",  # detail: path:line
    "sass",  # detail: addresses
    "option",  # detail: the option as given
    "kb",  # detail: file and citation
    "emulated",  # detail: what was counted, or SASS addresses
    "derived",  # detail: the formula in words; `inputs` of the fact lead on
    "rule",  # detail: rule id and file
    "measured",  # detail: command or probe
    "counter",  # detail: report and metric
    "what-if",  # detail: the assignment
]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value came from, precise enough to go there."""

    kind: SourceKind
    detail: str


@dataclass(frozen=True, slots=True)
class Fact:
    """One named value; `inputs` names the facts that a derived value was computed from."""

    name: str
    value: Value
    unit: str
    source: Source
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Missing:
    """A fact that has no value: why, and which input or measurement would supply it.

    `applies` is false where there is nothing to know, such as a ratio per K tile in a kernel
    without a loop: a condition on it fails, where one on an unknown fact stays open.
    """

    name: str
    because: str
    needs: tuple[str, ...] = ()  # names of the missing facts that it depends on
    applies: bool = True


@dataclass(frozen=True)
class FactBase:
    """Immutable set of facts, with what is missing beside it; iteration is by name."""

    facts: Mapping[str, Fact] = field(default_factory=dict)
    missing: Mapping[str, Missing] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "facts", MappingProxyType(dict(self.facts)))
        object.__setattr__(self, "missing", MappingProxyType(dict(self.missing)))

    def __contains__(self, name: object) -> bool:
        return name in self.facts

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.facts[name] for name in sorted(self.facts))

    def __len__(self) -> int:
        return len(self.facts)

    def value(self, name: str) -> Value | None:
        """Give the value of a fact, None where it is missing."""
        fact = self.facts.get(name)
        return None if fact is None else fact.value

    def number(self, name: str) -> float | int | None:
        """Give a numeric value, None where it is missing; a boolean or text raises TypeError."""
        value = self.value(name)
        if isinstance(value, (bool, str)):
            raise TypeError(f"{name} is not a number: {value!r}")
        return value

    def with_facts(self, facts: Iterable[Fact], missing: Iterable[Missing] = ()) -> FactBase:
        """Give a new base with these facts added; a present fact is never missing."""
        merged = dict(self.facts)
        merged.update((fact.name, fact) for fact in facts)
        gaps = {**self.missing, **{gap.name: gap for gap in missing}}
        return FactBase(merged, {name: gap for name, gap in gaps.items() if name not in merged})
