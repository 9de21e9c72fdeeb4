"""Every rule that is shipped: no faults, and its own tests come out as written."""

from __future__ import annotations

from functools import cache

import pytest

from kneck.engine.selftest import run_test
from kneck.facts.model import Fact
from kneck.rules.hardware import load_architecture, load_device
from kneck.rules.load import check, load
from kneck.rules.model import Knowledge, Rule
from kneck.rules.overlay import shipped_folder

SHIPPED = shipped_folder()


@cache
def knowledge() -> Knowledge:
    return load([SHIPPED])


@cache
def architecture(name: str) -> tuple[Fact, ...]:
    found = load_architecture(name, [SHIPPED.path])
    assert found is not None
    return found.facts


@cache
def device(name: str) -> tuple[Fact, ...]:
    return load_device(name, [SHIPPED.path]).facts


def test_the_shipped_knowledge_base_has_no_faults() -> None:
    assert [str(fault) for fault in check([SHIPPED])] == []


@pytest.mark.parametrize(
    ("rule", "number"),
    [
        pytest.param(rule, number, id=f"{rule.id}-{number}")
        for rule in knowledge().rules
        for number in range(len(rule.tests))
    ],
)
def test_a_rule_does_as_its_tests_say(rule: Rule, number: int) -> None:
    assert run_test(knowledge(), rule, rule.tests[number], architecture, device) is None


def test_every_file_holds_rules_under_the_name_of_one_of_them() -> None:
    files: dict[str, set[str]] = {}
    for rule in knowledge().rules:
        files.setdefault(rule.path, set()).add(rule.id)
    for path, ids in files.items():
        name = path.rsplit("/", 1)[-1].removesuffix(".yaml")
        assert len(ids) > 1 or name in ids, path
