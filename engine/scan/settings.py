"""`kb/scan.yaml` as checked records: what a scan reports, and what it calls a regression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...facts.model import Value
from ...parsers.errors import KnowledgeError
from ...parsers.expression import parse_expression
from ...parsers.expression_tree import Expression
from ...parsers.record import dataclass
from ...rules.documents import Document, read_document, validate
from ...rules.model import Knowledge, Template
from ...rules.overlay import shipped_folder
from ...rules.values import suggest_fact
from ...rules.vocabulary import Entry, Vocabulary

Level = Literal["error", "warning", "note"]
Name = Annotated[str, Field(pattern=r"[a-z][a-z0-9]*(-[a-z0-9]+)*")]
FILE = "scan.yaml"
STALL_SLACK = "scan.stall_slack_cycles"  # the sum over all opcodes, which no formula can name


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Derived(_Strict):
    formula: str
    unit: str


class _Finding(_Strict):
    id: Name
    title: str
    level: Level
    when: str
    text: str


class _Baseline(_Strict):
    fact: str
    worse: Literal["higher", "lower"]


class _File(_Strict):
    facts: list[str]
    derived: dict[str, _Derived]
    findings: list[_Finding]
    leave_out: dict[str, str]
    baseline: list[_Baseline]


@dataclass(frozen=True)
class Derived:
    """A figure that only a scan has, by a formula."""

    name: str
    formula: Expression
    unit: str


@dataclass(frozen=True)
class Finding:
    """A condition on the static facts, and what is said where it holds."""

    id: str
    title: str
    level: Level
    when: Expression
    text: Template


@dataclass(frozen=True)
class Measure:
    """A fact that two scans are compared by."""

    fact: str
    higher_is_worse: bool

    def is_worse(self, before: Value | None, after: Value | None) -> bool:
        """Tell whether a figure got worse; what is not known on both sides tells nothing."""
        if not isinstance(before, (int, float)) or not isinstance(after, (int, float)):
            return False
        return after > before if self.higher_is_worse else after < before


@dataclass(frozen=True)
class ScanSettings:
    """Everything in `kb/scan.yaml`; the vocabulary has the scan's own figures too."""

    vocabulary: Vocabulary
    facts: tuple[str, ...]
    derived: tuple[Derived, ...]
    findings: tuple[Finding, ...]
    leave_out: frozenset[str]
    baseline: tuple[Measure, ...]

    @property
    def names(self) -> set[str]:
        """Name every fact that is asked for."""
        asked = {name for finding in self.findings for name in finding.when.names}
        asked.update(name for derived in self.derived for name in derived.formula.names)
        asked.update(
            name
            for finding in self.findings
            for part in finding.text.parts
            if isinstance(part, Expression)
            for name in part.names
        )
        return asked.union(self.facts)


def scan_settings(knowledge: Knowledge) -> ScanSettings:
    """Read the file; raises KnowledgeError with the place of whatever is not right in it."""
    folder = shipped_folder()
    text = (folder.path / FILE).read_text(encoding="utf-8")
    document = read_document(text, f"{folder.name}/{FILE}")
    parsed = validate(document, _File)
    own = {name: each.unit for name, each in parsed.derived.items()}
    vocabulary = _extended(knowledge.vocabulary, {**own, STALL_SLACK: "cycles"})
    reader = _Reader(document, vocabulary)
    for index, name in enumerate(parsed.facts):
        reader.check(name, "facts", index)
    for id in parsed.leave_out:
        if id not in knowledge.by_id:
            raise KnowledgeError(f'there is no rule "{id}"', document.key_place("leave_out", id))
    return ScanSettings(
        vocabulary=vocabulary,
        facts=tuple(parsed.facts),
        derived=tuple(
            Derived(name, reader.expression(each.formula, "derived", name, "formula"), each.unit)
            for name, each in parsed.derived.items()
        ),
        findings=tuple(
            Finding(
                each.id,
                each.title,
                each.level,
                reader.expression(each.when, "findings", index, "when"),
                reader.template(each.text, "findings", index, "text"),
            )
            for index, each in enumerate(parsed.findings)
        ),
        leave_out=frozenset(parsed.leave_out),
        baseline=tuple(
            Measure(reader.check(each.fact, "baseline", index, "fact"), each.worse == "higher")
            for index, each in enumerate(parsed.baseline)
        ),
    )


def _extended(vocabulary: Vocabulary, units: dict[str, str]) -> Vocabulary:
    own = {name: Entry(name, "num", unit, name, "kneck scan", 0) for name, unit in units.items()}
    return replace(vocabulary, entries={**vocabulary.entries, **own})


@dataclass(frozen=True)
class _Reader:
    document: Document
    vocabulary: Vocabulary

    def expression(self, text: str, *at: str | int) -> Expression:
        found = parse_expression(text, self.document.text_place(*at))
        for name in found.names:
            self.check(name, *at)
        return found

    def template(self, text: str, *at: str | int) -> Template:
        return Template(text, tuple(self._parts(text, *at)))

    def _parts(self, text: str, *at: str | int) -> Iterator[str | Expression]:
        for index, part in enumerate(text.replace("}", "{").split("{")):
            if index % 2:
                yield self.expression(part, *at)
            elif part:
                yield part

    def check(self, name: str, *at: str | int) -> str:
        if self.vocabulary.entry(name) is None:
            help = suggest_fact(name, self.vocabulary)
            raise KnowledgeError(f'unknown fact "{name}"', self.document.place(*at), help)
        return name
