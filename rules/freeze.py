"""Knowledge to JSON and back, as lists in the order of the fields: small, and quick to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..facts.model import Fact, Source
from ..parsers.expression_tree import Expression
from .model import Condition, Edge, Folder, Gain, Knowledge, Rule, RuleTest, Template
from .vocabulary import Entry, Vocabulary


def knowledge_to_json(knowledge: Knowledge) -> dict[str, Any]:
    """Give plain lists and dictionaries; `knowledge_from_json` reads them back."""
    vocabulary = knowledge.vocabulary
    return {
        "entries": [list(entry) for entry in vocabulary.entries.values()],
        "units": dict(vocabulary.units),
        "counts": dict(vocabulary.counts),
        "method": [
            [f.name, f.value, f.unit, f.source.kind, f.source.detail, f.inputs]
            for f in knowledge.method
        ],
        "folders": [[folder.name, folder.hash] for folder in knowledge.folders],
        "rules": [_rule_to_json(rule) for rule in knowledge.rules],
    }


def knowledge_from_json(data: Any) -> Knowledge:
    """Read what `knowledge_to_json` wrote; anything else raises one of Python's own errors."""
    entries = {item[0]: Entry(*_tuple_at(6, item)) for item in data["entries"]}
    return Knowledge(
        Vocabulary(entries, data["units"], data["counts"]),
        tuple(_rule_from_json(rule) for rule in data["rules"]),
        tuple(Fact(f[0], f[1], f[2], Source(f[3], f[4]), tuple(f[5])) for f in data["method"]),
        tuple(Folder(*folder) for folder in data["folders"]),
    )


def _tuple_at(position: int, data: list[Any]) -> list[Any]:
    data[position] = tuple(data[position])
    return data


def _rule_to_json(rule: Rule) -> list[Any]:
    return [
        *(getattr(rule, name) for name in PLAIN_FIELDS),
        [_condition_to_json(condition) for condition in rule.when],
        [_condition_to_json(condition) for condition in rule.unless],
        _expressions_to_json(rule.sets),
        _expressions_to_json(rule.side_effects),
        _template_to_json(rule.why),
        _template_to_json(rule.action),
        _template_to_json(rule.experiment),
        _gain_to_json(rule.gain),
        [_edge_to_json(edge) for edge in rule.edges],
        rule.wrong_when,
        rule.evidence,
        [[dict(t.given), t.fires, t.because, t.arch, t.device, t.line] for t in rule.tests],
    ]


PLAIN_FIELDS = (
    "id",
    "kind",
    "title",
    "status",
    "source",
    "folder",
    "path",
    "line",
    "stratum",
    "severity",
)


def _rule_from_json(data: list[Any]) -> Rule:
    plain = dict(zip(PLAIN_FIELDS, data, strict=False))
    when, unless, sets, effects, why, action, experiment, gain, edges, wrong, evidence, tests = (
        data[len(PLAIN_FIELDS) :]
    )
    return Rule(
        **plain,
        when=tuple(map(_condition_from_json, when)),
        unless=tuple(map(_condition_from_json, unless)),
        sets=_expressions_from_json(sets),
        side_effects=_expressions_from_json(effects),
        why=_template_from_json(why) or Template("", ()),
        action=_template_from_json(action),
        experiment=_template_from_json(experiment),
        gain=_gain_from_json(gain),
        edges=tuple(map(_edge_from_json, edges)),
        wrong_when=tuple(wrong),
        evidence=tuple(evidence),
        tests=tuple(RuleTest(*test) for test in tests),
    )


def _gain_to_json(gain: Gain | None) -> list[Any] | None:
    if gain is None:
        return None
    return [*map(_expression_to_json, (gain.low, gain.high, gain.cap)), gain.basis]


def _gain_from_json(data: list[Any] | None) -> Gain | None:
    if data is None:
        return None
    low, high, cap = map(_expression_from_json, data[:3])
    return Gain(low, high, cap, data[3])


def _edge_to_json(edge: Edge) -> list[Any]:
    when = [_condition_to_json(condition) for condition in edge.when]
    return [edge.kind, edge.to, _template_to_json(edge.because), edge.line, edge.column, when]


def _edge_from_json(data: list[Any]) -> Edge:
    when = tuple(map(_condition_from_json, data[5]))
    return Edge(data[0], data[1], _template_from_json(data[2]), data[3], data[4], when)


def _condition_to_json(condition: Condition) -> list[Any]:
    return [condition.expression.to_json(), condition.line, condition.column]


def _condition_from_json(data: list[Any]) -> Condition:
    return Condition(Expression.from_json(data[0]), data[1], data[2])


def _expression_to_json(expression: Expression | None) -> list[Any] | None:
    return None if expression is None else expression.to_json()


def _expression_from_json(data: list[Any] | None) -> Expression | None:
    return Expression.from_json(data) if data else None


def _expressions_to_json(expressions: Mapping[str, Expression]) -> dict[str, Any]:
    return {name: expression.to_json() for name, expression in expressions.items()}


def _expressions_from_json(data: dict[str, Any]) -> dict[str, Expression]:
    return {name: Expression.from_json(item) for name, item in data.items()}


def _template_to_json(template: Template | None) -> list[Any] | None:
    if template is None:
        return None
    return [template.text, [p if isinstance(p, str) else p.to_json() for p in template.parts]]


def _template_from_json(data: list[Any] | None) -> Template | None:
    if data is None:
        return None
    parts = (part if isinstance(part, str) else Expression.from_json(part) for part in data[1])
    return Template(data[0], tuple(parts))
