"""Rules in three values: a rule fires, is silent, or is undecided because a fact is missing.

This is the reference for `engine.rete`: both read the same condition objects, and every run
compares them. It also gives what the engine cannot: the state of each single condition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
    """The facts before and after, and the outcome of each rule, by id."""

    base: FactBase
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


def fails(rule: Rule, memory: WorkingMemory) -> bool:
    """Tell whether some condition of a rule is not as it should be: then the rule is silent."""
    return any(truth(c, memory) is False for c in rule.when) or any(
        truth(c, memory) is True for c in rule.unless
    )


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


def evaluate_rules(
    knowledge: Knowledge, base: FactBase, known: Evaluation | None = None
) -> Evaluation:
    """Evaluate every rule, stratum by stratum; raises KnowledgeError on a contradiction.

    `known` is an evaluation of the same knowledge on other facts: a rule that asks for none of the
    facts that differ stands as it did there, which makes a small change cheap.
    """
    memory = WorkingMemory(knowledge, base)
    changed = None if known is None else _Changed(known, memory)
    outcomes: dict[str, Outcome] = {}
    fired: set[str] = set()
    for stratum, rules in enumerate(knowledge.strata):
        for rule in rules:
            if changed is not None and not changed.concerns(rule):
                found = changed.known.outcomes[rule.id]
            else:
                found = outcome(rule, memory)
            outcomes[rule.id] = found
            if found.state == "fired":
                fired.add(rule.id)
        memory.settle(stratum, fired, lambda rule: lacking(outcomes[rule.id], memory))
        if changed is not None:
            changed.compare(knowledge.settled_after[stratum])
    return Evaluation(base, FactBase(memory.facts, memory.missing), outcomes)


class _Changed:
    """The facts that two evaluations of one knowledge base differ in, as they become known."""

    def __init__(self, known: Evaluation, memory: WorkingMemory) -> None:
        self.known = known
        self._memory = memory
        self._asked = memory.knowledge.asked
        settled = {name for names in memory.knowledge.settled_after for name in names}
        bases = (known.base, memory.base)
        given = {name for base in bases for names in (base.facts, base.missing) for name in names}
        self._names: set[str] = set()
        self.compare(given - settled)

    def concerns(self, rule: Rule) -> bool:
        """Tell whether a rule asks for a fact that differs."""
        return not self._names.isdisjoint(self._asked[rule.id])

    def compare(self, names: Iterable[str]) -> None:
        """Note which of these facts differ; those that rules decide, once they are decided."""
        self._names.update(name for name in names if self._differs(name))

    def _differs(self, name: str) -> bool:
        now, before = self._memory.facts.get(name), self.known.facts.facts.get(name)
        if now is not None and before is not None:
            return now is not before and now.value != before.value
        if now is not before:
            return True
        gap = self.known.facts.missing.get(name)
        return self._memory.applies(name) != (gap is None or gap.applies)
