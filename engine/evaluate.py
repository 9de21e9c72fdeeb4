"""Rules in three values: a rule fires, is silent, or is undecided because a fact is missing.

This is the reference for `engine.rete`: both read the same condition objects, and every run
compares them. It also gives what the engine cannot: the state of each single condition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from ..facts.model import FactBase, Value
from ..parsers.expression_tree import evaluate
from ..rules.model import Condition, Knowledge, Rule
from .memory import WorkingMemory

Truth = bool | None  # None: unknown
State = Literal["fired", "silent", "undecided"]
Lookup = Callable[[str], Value | None]


class Outcome(NamedTuple):
    """How a rule stands: its state, and for each condition whether it is as the rule wants it."""

    rule: Rule
    state: State
    when: tuple[Truth, ...]
    unless: tuple[Truth, ...]


class Evaluation(NamedTuple):
    """The facts afterwards and the outcome of each rule, by id."""

    facts: FactBase
    outcomes: Mapping[str, Outcome]

    @property
    def fired(self) -> frozenset[str]:
        return frozenset(id for id, outcome in self.outcomes.items() if outcome.state == "fired")


def truth(condition: Condition, memory: WorkingMemory) -> Truth:
    """Evaluate one condition; a fact that is no claim (a number, a text) decides nothing.

    A condition on a fact that does not apply to this kernel fails.
    """
    value = evaluate(condition.expression, memory.value)
    if value is None and not all(map(memory.applies, condition.expression.names)):
        return False
    return value if isinstance(value, bool) else None


def outcome(rule: Rule, memory: WorkingMemory) -> Outcome:
    """Evaluate one rule: `when` must all hold, `unless` must all fail."""
    when = tuple(truth(condition, memory) for condition in rule.when)
    unless = tuple(_negated(truth(condition, memory)) for condition in rule.unless)
    both = (*when, *unless)
    state: State = "silent" if False in both else "undecided" if None in both else "fired"
    return Outcome(rule, state, when, unless)


def _negated(value: Truth) -> Truth:
    return None if value is None else not value


def lacking(found: Outcome, memory: WorkingMemory) -> tuple[str, ...] | None:
    """Name the missing facts that an undecided rule asks for; None for a decided one."""
    if found.state != "undecided":
        return None
    names: dict[str, None] = {}
    for condition, holds in zip(found.rule.conditions, found.when + found.unless, strict=True):
        if holds is None:
            asked = condition.expression.names
            names.update((name, None) for name in asked if name not in memory.facts)
    return tuple(names)


def evaluate_rules(knowledge: Knowledge, base: FactBase) -> Evaluation:
    """Evaluate every rule, stratum by stratum; raises KnowledgeError on a contradiction."""
    memory = WorkingMemory(knowledge, base)
    outcomes: dict[str, Outcome] = {}
    fired: set[str] = set()
    for stratum, rules in enumerate(knowledge.strata):
        for rule in rules:
            outcomes[rule.id] = found = outcome(rule, memory)
            if found.state == "fired":
                fired.add(rule.id)
        memory.settle(stratum, fired, lambda rule: lacking(outcomes[rule.id], memory))
    return Evaluation(FactBase(memory.facts, memory.missing), outcomes)
