"""Rules and the knowledge base as checked, immutable records; nothing here parses or reads files.

These records are what the cache keeps, so they hold plain data and expression trees only. They are
named tuples because a dataclass takes six times as long to define, and each command pays for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Literal, NamedTuple

from ..facts.model import Fact, Value
from ..parsers.expression_tree import Expression
from ..parsers.record import dataclass
from .vocabulary import FactType, Vocabulary

Kind = Literal["verdict", "strategy", "pitfall", "limitation"]
Status = Literal["measured", "reported", "hypothesis", "contested", "refuted"]
Relation = Literal["conflicts", "enables", "supersedes", "competes"]
Basis = Literal["model", "evidence", "ceiling"]
Expected = Literal["true", "false", "unknown"]

KIND_OF_FOLDER: Mapping[str, Kind] = {
    "verdicts": "verdict",
    "strategies": "strategy",
    "pitfalls": "pitfall",
    "limitations": "limitation",
}
NOTHING: Mapping[str, Expression] = MappingProxyType({})
KINDS_WITH_A_FACT: tuple[Kind, ...] = ("strategy", "pitfall", "limitation")


class Template(NamedTuple):
    """Text with expressions in braces: `give up {advice.registers} registers`."""

    text: str
    parts: tuple[str | Expression, ...]


class Condition(NamedTuple):
    """One comparison of a rule, and where it stands in the rule's file."""

    expression: Expression
    line: int
    column: int

    @property
    def text(self) -> str:
        return self.expression.text


class Gain(NamedTuple):
    """What a strategy may bring: gains as fractions (0.35 is +35 %), the cap as a factor.

    `cap` is the largest time before / time after that the relevant ceiling allows.
    """

    low: Expression | None
    high: Expression | None
    cap: Expression | None
    basis: Basis


class Edge(NamedTuple):
    """A declared relation to another strategy or pitfall, with its reason, where `when` holds."""

    kind: Relation
    to: str
    because: Template | None
    line: int
    column: int
    when: tuple[Condition, ...] = ()


class RuleTest(NamedTuple):
    """Facts that must fire the rule, or must not; `because` names the condition that fails."""

    given: Mapping[str, Value]
    fires: Expected
    because: str | None
    arch: str | None
    device: str | None
    line: int


class Rule(NamedTuple):
    """One rule of a knowledge base; `stratum` says after which other rules it is decided."""

    id: str
    kind: Kind
    title: str
    status: Status
    why: Template
    source: str
    folder: str  # "kb" for the shipped one, else the overlay's path as given
    path: str  # of the file, inside the folder
    line: int
    when: tuple[Condition, ...]
    unless: tuple[Condition, ...]
    stratum: int = 0
    sets: Mapping[str, Expression] = NOTHING
    severity: str | None = None
    action: Template | None = None
    experiment: Template | None = None
    gain: Gain | None = None
    side_effects: Mapping[str, Expression] = NOTHING
    edges: tuple[Edge, ...] = ()
    wrong_when: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    tests: tuple[RuleTest, ...] = ()

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return self.when + self.unless

    @property
    def file(self) -> str:
        return f"{self.folder}/{self.path}"

    @property
    def fact(self) -> str | None:
        """Name the fact that says whether the rule fired; verdicts have none, they set facts."""
        return f"{self.kind}.{self.id}" if self.kind in KINDS_WITH_A_FACT else None

    @property
    def produces(self) -> tuple[str, ...]:
        """Name the facts that this rule decides."""
        return tuple(self.sets) if self.fact is None else (self.fact,)


class Folder(NamedTuple):
    """One knowledge folder: its name in reports, and a hash of the files that were read."""

    name: str
    hash: str


@dataclass(frozen=True, eq=False)
class Knowledge:
    """A checked knowledge base; rules are sorted by stratum and id, the order of evaluation."""

    vocabulary: Vocabulary
    rules: tuple[Rule, ...]
    method: tuple[Fact, ...]
    folders: tuple[Folder, ...]

    @cached_property
    def by_id(self) -> Mapping[str, Rule]:
        return {rule.id: rule for rule in self.rules}

    @cached_property
    def producers(self) -> Mapping[str, tuple[Rule, ...]]:
        """Map each fact that rules decide to the rules that can set it."""
        found: dict[str, list[Rule]] = {}
        for rule in self.rules:
            for name in rule.produces:
                found.setdefault(name, []).append(rule)
        return {name: tuple(rules) for name, rules in found.items()}

    @cached_property
    def types(self) -> Mapping[str, FactType]:
        """Map each fact that a condition looks at to its type."""
        names = {n for rule in self.rules for c in rule.conditions for n in c.expression.names}
        entries = ((name, self.vocabulary.entry(name)) for name in sorted(names))
        return {name: entry.type for name, entry in entries if entry is not None}

    @cached_property
    def needed(self) -> frozenset[str]:
        """Name the facts that some rule asks for, in a condition or to set another fact."""
        asked = {name for rule in self.rules for e in rule.sets.values() for name in e.names}
        return frozenset(asked | self.types.keys())

    @cached_property
    def settled_after(self) -> tuple[tuple[str, ...], ...]:
        """Name, for each stratum, the facts that are decided when it is through."""
        last: dict[str, int] = {}
        for rule in self.rules:
            for name in rule.produces:
                last[name] = max(last.get(name, 0), rule.stratum)
        strata: list[list[str]] = [[] for _ in range(1 + max(last.values(), default=0))]
        for name in sorted(last):
            strata[last[name]].append(name)
        return tuple(tuple(names) for names in strata)

    @cached_property
    def asked(self) -> Mapping[str, frozenset[str]]:
        """Name the facts that each rule's conditions ask for, by its id."""
        return {
            rule.id: frozenset(name for c in rule.conditions for name in c.expression.names)
            for rule in self.rules
        }

    @cached_property
    def strata(self) -> tuple[tuple[Rule, ...], ...]:
        """Give the rules of each stratum, by id."""
        found: list[list[Rule]] = [[] for _ in self.settled_after]
        for rule in self.rules:
            found[rule.stratum].append(rule)
        return tuple(tuple(rules) for rules in found)

    def of_kind(self, kind: Kind) -> tuple[Rule, ...]:
        """Give the rules of one kind, by id."""
        return tuple(sorted((r for r in self.rules if r.kind == kind), key=lambda r: r.id))
