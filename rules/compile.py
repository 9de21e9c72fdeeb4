"""From the document of a rule to the checked rule: expressions parsed, names, types, units known.

What only shows across rules (ids, cycles, shadows) is checked in `lint`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..facts.model import Value
from ..parsers.errors import KneckError, Place
from ..parsers.expression import column_of, parse_expression
from ..parsers.expression_tree import COMPARISONS, Expression, evaluate
from ..parsers.suggest import suggestion
from .documents import Document, Key
from .faults import Faults
from .model import Basis, Condition, Edge, Gain, Kind, Relation, Rule, RuleTest, Template
from .schema import CaseDocument, EdgeDocument, GainDocument, RuleDocument
from .typecheck import Measure, TypeFault, measure, units_fit
from .values import suggest_fact, typed_value
from .vocabulary import FIRED, FactType, Vocabulary

RELATIONS: tuple[Relation, ...] = ("conflicts", "enables", "supersedes", "competes")


class RuleCompiler:
    """Compiles the rules of one document; what is wrong goes to `faults`, the rest is kept."""

    def __init__(
        self, document: Document, folder: str, path: str, vocabulary: Vocabulary, faults: Faults
    ) -> None:
        self.document = document
        self.folder = folder
        self.path = path
        self.vocabulary = vocabulary
        self.faults = faults

    def compile(self, kind: Kind, parsed: RuleDocument, index: int) -> Rule:
        """Compile the rule at a position of the list."""
        return Rule(
            id=parsed.id,
            kind=kind,
            title=parsed.title,
            status=parsed.status,
            why=self._template(parsed.why, index, "why") or Template("", ()),
            source="; ".join(parsed.source),
            folder=self.folder,
            path=self.path,
            line=self.document.place(index).line,
            when=self._conditions(parsed.when, index, "when"),
            unless=self._conditions(parsed.unless, index, "unless"),
            sets=self._assignments(parsed.sets, index, "sets"),
            severity=parsed.severity,
            action=self._template(parsed.action, index, "action"),
            experiment=self._template(parsed.experiment, index, "experiment"),
            gain=self._gain(parsed.gain, index),
            side_effects=self._assignments(parsed.side_effects, index, "side_effects"),
            edges=self._edges(parsed, index),
            wrong_when=tuple(parsed.wrong_when),
            evidence=tuple(parsed.evidence),
            tests=self._tests(parsed.tests, index),
        )

    # Expressions

    def expression(
        self, text: str, *at: Key, type: FactType | None = None, offset: int = 0
    ) -> tuple[Expression, Measure] | None:
        """Parse and check one expression; a fault gives None."""
        start = self.document.text_place(*at)
        start = Place(start.path, start.line, start.column + offset)
        try:
            parsed = parse_expression(text, start, self.vocabulary.__contains__)
            found = measure(parsed.tree, self.vocabulary)
        except TypeFault as fault:
            help = fault.help or self._nearest(fault)
            column = start.column + column_of(text, fault.at) - 1
            self.faults.add(str(fault), Place(start.path, start.line, column), help)
            return None
        except KneckError as error:
            help = error.help
            if text.count("(") > text.count(")"):
                help = "inside [..], quote an expression that holds a comma"
            self.faults.add(error.what, error.place, help)
            return None
        if type is not None and found.type != type:
            kind = {"num": "a number", "bool": "true or false", "text": "text"}
            self.faults.add(f"{text} is {kind[found.type]}, not {kind[type]}", start)
            return None
        return parsed, found

    def _nearest(self, fault: TypeFault) -> str | None:
        if not str(fault).startswith("unknown fact"):
            return None
        return suggest_fact(fault.at, self.vocabulary)

    def _conditions(self, texts: list[str], *keys: Key) -> tuple[Condition, ...]:
        found = []
        for position, text in enumerate(texts):
            at: tuple[Key, ...] = (*keys, position)
            if at not in self.document.values:  # one condition written without a list
                at = keys
            checked = self.expression(text, *at, type="bool")
            if checked is None:
                continue
            place = self.document.text_place(*at)
            wrong = _not_one_comparison(checked[0])
            if wrong:
                self.faults.add(wrong[0], place, wrong[1])
            else:
                found.append(Condition(checked[0], place.line, place.column))
        return tuple(found)

    def _assignments(self, texts: Mapping[str, str], index: int, key: str) -> dict[str, Expression]:
        found: dict[str, Expression] = {}
        for name, text in texts.items():
            place = self.document.key_place(index, key, name)
            entry = self.vocabulary.entry(name)
            if name.startswith(FIRED):
                self.faults.add(f'"{name}" is reserved: it says whether a rule fired', place)
            elif entry is None or "*" in name:
                self.faults.add(
                    f'unknown fact "{name}"', place, suggest_fact(name, self.vocabulary)
                )
            else:
                at = (index, key, name)
                if entry.type == "text" and re.fullmatch(r"[\w-]+", text):
                    if entry.values and text not in entry.values:
                        what = f'"{text}" is not a value of {name}'
                        help = suggestion(text, set(entry.values))
                        self.faults.add(what, self.document.text_place(*at), help)
                    found[name] = Expression(text, ("text", text), ())
                    continue
                checked = self.expression(text, *at, type=entry.type)
                if checked is not None:
                    self._check_unit(name, checked[1], *at)
                    found[name] = checked[0]
        return found

    def _check_unit(self, name: str, found: Measure, *at: Key) -> None:
        wanted = measure(("name", name), self.vocabulary)
        if found.type == "num" and not units_fit(wanted, found, self.vocabulary):
            from .typecheck import shown_unit

            what = f"{name} is in {shown_unit(wanted)}, the expression in {shown_unit(found)}"
            self.faults.add(what, self.document.place(*at), "convert one of them")

    def _template(self, text: str | None, *at: Key) -> Template | None:
        if text is None:
            return None
        parts: list[str | Expression] = []
        for position, part in enumerate(re.split(r"\{([^{}]*)\}", text)):
            if position % 2 == 0:
                parts.append(part)
                continue
            offset = text.find("{" + part + "}") + 1
            checked = self.expression(part, *at, offset=offset)
            if checked is not None:
                parts.append(checked[0])
        return Template(text, tuple(part for part in parts if part != ""))

    # Parts of a rule

    def _gain(self, gain: GainDocument | None, index: int) -> Gain | None:
        if gain is None:
            return None
        found: dict[str, Expression | None] = {}
        for key, text in (("low", gain.low), ("high", gain.high), ("cap", gain.cap)):
            checked = text and self.expression(text, index, "gain", key, type="num")
            found[key] = checked[0] if checked else None
        place = self.document.place(index, "gain")
        basis = _basis(gain, found)
        if gain.low is not None and gain.high is None:
            self.faults.add("a gain with low needs high", place, "add high:, or remove low:")
        if gain.low is None and basis != "ceiling":
            what = f"a gain without low is a ceiling, not {basis}"
            self.faults.add(what, place, "add low:, or write basis: ceiling")
        low, high = (_constant(found[key]) for key in ("low", "high"))
        if low is not None and high is not None and low > high:
            self.faults.add("low is larger than high", self.document.place(index, "gain", "low"))
        return Gain(found["low"], found["high"], found["cap"], basis)

    def _edges(self, parsed: RuleDocument, index: int) -> tuple[Edge, ...]:
        found = []
        for kind in RELATIONS:
            documents: list[EdgeDocument] = getattr(parsed, kind)
            for position, edge in enumerate(documents):
                at = (index, kind, position)
                place = self.document.place(*at)
                if (*at, "id") in self.document.values:
                    place = self.document.place(*at, "id")
                because = self._template(edge.because, *at, "because")
                when = self._conditions(edge.when, *at, "when")
                found.append(Edge(kind, edge.id, because, place.line, place.column, when))
        return tuple(found)

    def _tests(self, cases: list[CaseDocument], index: int) -> tuple[RuleTest, ...]:
        return tuple(
            RuleTest(
                given=self._given(case.given, index, "tests", position, "given"),
                fires=case.fires,
                because=case.because,
                arch=case.arch,
                device=case.device,
                line=self.document.place(index, "tests", position).line,
            )
            for position, case in enumerate(cases)
        )

    def _given(self, given: Mapping[str, str], *at: Key) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for name, text in given.items():
            entry = self.vocabulary.entry(name)
            if entry is None:
                place = self.document.key_place(*at, name)
                self.faults.add(
                    f'unknown fact "{name}"', place, suggest_fact(name, self.vocabulary)
                )
            else:
                with self.faults.caught():
                    found[name] = typed_value(
                        name, text, self.vocabulary, self.document.text_place(*at, name)
                    )
        return found


def _not_one_comparison(expression: Expression) -> tuple[str, str] | None:
    """Say what is wrong with a condition, and the next step."""
    tree = expression.tree
    if tree[0] == "not" and tree[1][0] in COMPARISONS:
        return '"not" stands before a fact, not before a comparison', "write the opposite one"
    if tree[0] == "not":
        tree = tree[1]
    if tree[0] in ("and", "or", "if", "not"):
        help = "write one comparison per line; for another way to fire, write another rule"
        return f'a condition is one comparison, without "{tree[0]}"', help
    if not expression.names:
        return "a condition must ask for a fact", "name one: tile.ratio < 5"
    return None


def _constant(expression: Expression | None) -> float | None:
    value = evaluate(expression, lambda name: None) if expression else None
    return None if value is None or isinstance(value, (bool, str)) else float(value)


def _basis(gain: GainDocument, found: Mapping[str, Expression | None]) -> Basis:
    if gain.basis is not None:
        return gain.basis
    if gain.low is None:
        return "ceiling"
    named = any(found[key] and found[key].names for key in ("low", "high"))  # type: ignore[union-attr]
    return "model" if named else "evidence"
