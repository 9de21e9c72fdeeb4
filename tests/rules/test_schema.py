"""The JSON Schema for editors, and YAML as it is read here."""

from __future__ import annotations

import pytest

from kneck.parsers.errors import KnowledgeError
from kneck.rules.documents import read_document
from kneck.rules.schema import EntryDocument, RuleDocument, json_schemas


def test_the_schema_knows_every_key_of_a_rule() -> None:
    rules = json_schemas()["rules"]
    assert rules["type"] == "array"
    rule = rules["$defs"]["RuleDocument"]
    assert set(rule["properties"]) == set(RuleDocument.model_fields)
    assert rule["additionalProperties"] is False
    assert set(rule["required"]) == {"id", "title", "status", "why", "source"}


def test_the_schema_knows_every_key_of_a_fact() -> None:
    entry = json_schemas()["vocabulary"]["$defs"]["EntryDocument"]
    names = {field.alias or name for name, field in EntryDocument.model_fields.items()}
    assert set(entry["properties"]) == names


def test_the_schema_allows_what_an_editor_reads_as_a_number_or_a_claim() -> None:
    definitions = json_schemas()["rules"]["$defs"]
    assert definitions["CaseDocument"]["properties"]["fires"]["enum"] == [True, False, "unknown"]
    given = definitions["CaseDocument"]["properties"]["given"]["additionalProperties"]
    assert given == {"type": ["string", "number", "boolean"]}
    when = definitions["RuleDocument"]["properties"]["when"]
    assert [kind["type"] for kind in when["anyOf"]] == ["string", "array"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 20:1", "20:1"),
        ("a: on", "on"),
        ("a: 010", "010"),
        ("a: 1e3", "1e3"),
        ("a: 2026-01-01", "2026-01-01"),
        ("a:", None),
        ("a: ~", None),
        ('a: ""', ""),
        ("a: 'null'", "null"),
        ("a: >-\n  two\n  lines", "two lines"),
    ],
)
def test_a_scalar_stays_the_text_that_was_written(text: str, value: str | None) -> None:
    assert read_document(text, "x.yaml").data == {"a": value}


def test_places_are_those_of_the_file() -> None:
    document = read_document('a:\n  - b: "c d"\n    e: [f, g]\n', "x.yaml")
    assert str(document.place("a", 0, "b")) == "x.yaml:2:8"
    assert str(document.text_place("a", 0, "b")) == "x.yaml:2:9"
    assert str(document.key_place("a", 0, "e")) == "x.yaml:3:5"
    assert str(document.place("a", 0, "e", 1)) == "x.yaml:3:12"
    assert str(document.place("a", 0, "none")) == "x.yaml:2:5"


@pytest.mark.parametrize(
    "text",
    ["a: b: c", "a: [1", "'", "\ta: 1", "a: 1\na: 2", "? [1]\n: 2", "a: &x 1\nb: *x", "\x00"],
)
def test_irregular_yaml_is_refused_with_a_place(text: str) -> None:
    with pytest.raises(KnowledgeError) as caught:
        read_document(text, "x.yaml")
    assert caught.value.place is not None and caught.value.place.path == "x.yaml"
