"""The shape of rule files, kb/vocabulary.yaml and the test cases in rules.

All values are text here, since expressions, units and facts are checked afterwards against the
vocabulary. The JSON Schema that editors get from them (`json_schemas`) also allows what YAML reads
as a number or a claim.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    WithJsonSchema,
)

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Written = Annotated[Text, WithJsonSchema({"type": ["string", "number", "boolean"]})]
Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Texts = Annotated[
    list[Text],
    BeforeValidator(_as_list),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]


class Strict(BaseModel):
    """No unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class GainDocument(Strict):
    """A gain as fractions (14.6 % or an expression), its cap as a factor (1.4 is +40 %)."""

    low: Written | None = Field(None, description="the least to expect: 14.6 %, or an expression")
    high: Written | None = Field(None, description="the most to expect: 35 %, or an expression")
    cap: Written | None = Field(
        None, description="the largest time before / time after that the relevant ceiling allows"
    )
    basis: Literal["model", "evidence", "ceiling"] | None = Field(
        None, description="left out: evidence for constants, model for expressions"
    )


class EdgeDocument(Strict):
    """A relation with its reason."""

    id: Id = Field(description="a strategy or a pitfall")
    because: Text | None = Field(
        None, description="the reason, in numbers: text with {facts} in braces"
    )
    when: Texts = Field(
        default_factory=list, description="comparisons; the relation is left out where one fails"
    )


def _as_edges(value: Any) -> Any:
    items = _as_list(value)
    if not isinstance(items, list):
        return items
    return [{"id": item} if isinstance(item, str) else item for item in items]


EDGE_SCHEMA = {"anyOf": [{"type": "string"}, EdgeDocument.model_json_schema()]}
Edges = Annotated[
    list[EdgeDocument],
    BeforeValidator(_as_edges),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": EDGE_SCHEMA}]}),
]


class CaseDocument(Strict):
    """Facts that must fire the rule, or must not."""

    given: dict[str, Written] = Field(description="facts; the method's thresholds are always there")
    fires: Annotated[
        Literal["true", "false", "unknown"], WithJsonSchema({"enum": [True, False, "unknown"]})
    ] = Field(description="unknown: a fact that would decide it is missing")
    because: Text | None = Field(None, description="the condition that fails, as written above")
    arch: Text | None = Field(None, description="add the facts of an architecture: sm_86")
    device: Text | None = Field(None, description="add the facts of a device: rtx-3070-ti")


class RuleDocument(Strict):
    """One rule; its kind is the folder that it lies in."""

    id: Id
    title: Text
    status: Literal["measured", "reported", "hypothesis", "contested", "refuted"]
    why: Text = Field(description="one or two sentences: the mechanism")
    source: Texts = Field(description="where the rule comes from")
    when: Texts = Field(default_factory=list, description="comparisons that must all hold")
    unless: Texts = Field(default_factory=list, description="comparisons that must all fail")
    sets: dict[str, Written] = Field(
        default_factory=dict, description="verdicts: the facts that it sets, as expressions"
    )
    severity: Literal["error", "warning", "note"] | None = Field(None, description="pitfalls")
    action: Text | None = Field(
        None, description="what to do, concrete for this kernel: text with {facts} in braces"
    )
    experiment: Text | None = Field(
        None, description="what to change, what to measure, which outcome confirms"
    )
    gain: GainDocument | None = None
    side_effects: dict[str, Written] = Field(
        default_factory=dict, description="facts that it changes: {smem.per_block: expression}"
    )
    conflicts: Edges = Field(default_factory=list)
    enables: Edges = Field(default_factory=list)
    supersedes: Edges = Field(default_factory=list)
    competes: Edges = Field(default_factory=list)
    wrong_when: Texts = Field(default_factory=list, description="when the advice is wrong")
    evidence: Texts = Field(default_factory=list, description="what was seen, and where")
    tests: list[CaseDocument] = Field(
        default_factory=list, description="at least one that fires and one that does not"
    )


class EntryDocument(Strict):
    """One fact of the vocabulary."""

    type: Literal["num", "bool", "text"]
    unit: str | None = Field(None, description="of a number; one of `units` or `counts`, or a/b")
    meaning: Text
    source: Text | None = Field(
        None, alias="from", description="how to obtain it; left out for facts that rules set"
    )
    cost: Annotated[int, Field(ge=0, le=9)] = Field(
        1, description="rank: 0 is in the cubin, 1 an option, 3 a timing, 5 a profiler run"
    )
    values: Texts = Field(default_factory=list, description="of a text: what it may be")
    default: Written | None = Field(
        None, description="of a fact that rules set: its value when none of them fires"
    )
    headline: bool = Field(
        False, description="name it first when the consequences of a change are told"
    )


class VocabularyDocument(Strict):
    """kb/vocabulary.yaml."""

    units: dict[str, Text] = Field(default_factory=dict)
    counts: dict[str, Text] = Field(default_factory=dict)
    facts: dict[str, EntryDocument] = Field(default_factory=dict)


def json_schemas() -> dict[str, dict[str, Any]]:
    """Give the JSON Schema of rule files and of the vocabulary, for editors."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    rules = TypeAdapter(list[RuleDocument]).json_schema()
    vocabulary = VocabularyDocument.model_json_schema(by_alias=True)
    return {
        "rules": {**dialect, "title": "A kneck rule file", **rules},
        "vocabulary": {**dialect, **vocabulary, "title": "A kneck vocabulary"},
    }
