"""Judging a small change again: the same as judging everything anew."""

from __future__ import annotations

from random import Random

import pytest

from kneck.engine.evaluate import Evaluation, evaluate_rules
from kneck.facts.model import FactBase
from kneck.parsers.errors import KnowledgeError
from kneck.rules.model import Knowledge

from . import random_knowledge


def mixed(random: Random, one: FactBase, other: FactBase) -> FactBase:
    """Take each fact from one of two bases, or from none."""
    facts = [*one.facts.values(), *(f for f in other.facts.values() if random.random() < 0.2)]
    gaps = [*one.missing.values(), *(g for g in other.missing.values() if random.random() < 0.2)]
    return FactBase().with_facts([f for f in facts if random.random() < 0.95], gaps)


def judged(knowledge: Knowledge, base: FactBase, known: Evaluation | None) -> Evaluation | str:
    try:
        return evaluate_rules(knowledge, base, known)
    except KnowledgeError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(300))
def test_a_small_change_is_judged_as_if_anew(seed: int) -> None:
    random = Random(seed)
    knowledge = random_knowledge.knowledge(random)
    one, other = random_knowledge.facts(random), random_knowledge.facts(random)
    known = judged(knowledge, one, None)
    if isinstance(known, str):
        return  # a contradiction: nothing to compare with
    base = mixed(random, one, other)
    again, anew = judged(knowledge, base, known), judged(knowledge, base, None)
    if isinstance(again, str) or isinstance(anew, str):
        assert again == anew
        return
    assert again.outcomes == anew.outcomes
    assert again.facts == anew.facts
