"""Working memory of one inference: the facts that were given, and those that rules decide.

A fact that was given stands: no rule changes it (a test or a what-if pins verdicts that way).
A fact that rules decide takes, once all of them are through, the value that the fired ones set;
or its default when every one of them is decided and silent; or it stays missing, by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from itertools import groupby

from ..facts.model import Fact, FactBase, Missing, Source, Value
from ..parsers.errors import KnowledgeError, Place
from ..parsers.expression_tree import evaluate
from ..rules.model import Knowledge, Rule

Lacks = Callable[[Rule], Sequence[str] | None]  # what an undecided rule is missing; None: decided


class WorkingMemory:
    """Facts by name, as they become known; `base` is never changed."""

    def __init__(self, knowledge: Knowledge, base: FactBase) -> None:
        self.knowledge = knowledge
        self.base = base
        self.facts: dict[str, Fact] = {}
        self.missing: dict[str, Missing] = dict(base.missing)
        for name, fact in base.facts.items():
            if type(fact.value) in (bool, str) or is_usable(fact.value):
                self.facts[name] = fact
            else:
                self.missing[name] = Missing(name, f"{fact.value} is not a finite number")

    def value(self, name: str) -> Value | None:
        """Give the value of a fact, None where it is missing."""
        fact = self.facts.get(name)
        return None if fact is None else fact.value

    def applies(self, name: str) -> bool:
        """Tell whether there is something to know; true for a fact that is merely missing."""
        gap = self.missing.get(name)
        return gap is None or gap.applies

    def settle(
        self,
        stratum: int,
        fired: Container[str],
        lacks: Lacks,
        only: Container[str] | None = None,
    ) -> None:
        """Decide the facts whose rules are through with this stratum, all or `only` these.

        `fired` holds rule ids; `lacks` gives what an undecided rule is missing. Raises
        KnowledgeError where two rules that fired set different values.
        """
        for name in self.knowledge.settled_after[stratum]:
            if name in self.facts or (only is not None and name not in only):
                continue
            decided = self._decide(name, fired, lacks)
            if isinstance(decided, Fact):
                self.facts[name] = decided
                self.missing.pop(name, None)
            else:
                self.missing[name] = decided

    def _decide(self, name: str, fired: Container[str], lacks: Lacks) -> Fact | Missing:
        rules = self.knowledge.producers[name]
        setting = [rule for rule in rules if rule.id in fired]
        if setting:
            return self._set(name, setting)
        open_rules = [(rule.id, needs) for rule in rules if (needs := lacks(rule)) is not None]
        if open_rules:
            needed = sorted({fact for _, needs in open_rules for fact in needs})
            what = f"{', '.join(id for id, _ in open_rules)} cannot be decided"
            return Missing(name, what, tuple(needed))
        entry = self.knowledge.vocabulary.entry(name)
        silent = ", ".join(rule.id for rule in rules)
        if entry is None or entry.default is None:
            what = f"none of the rules that set it fires: {silent}"
            return Missing(name, what, applies=False)
        source = Source("rule", f"the default, since none of these fires: {silent}")
        return Fact(name, entry.default, entry.unit, source, self._inputs(rules))

    def _set(self, name: str, setting: Sequence[Rule]) -> Fact | Missing:
        values = [(self._value_from(rule, name), rule) for rule in setting]
        known = [(value, rule) for value, rule in values if value is not None]
        if not known:
            rule = setting[0]
            needs = tuple(n for n in rule.sets[name].names if n not in self.facts)
            return Missing(name, f"{rule.id} sets it to {rule.sets[name]}, which is unknown", needs)
        different = [next(group) for _, group in groupby(known, key=lambda pair: pair[0])]
        if len(different) > 1:
            raise contradiction(name, different)
        entry = self.knowledge.vocabulary.entry(name)
        detail = "; ".join(f"{rule.id} ({rule.file}:{rule.line})" for _, rule in known)
        unit = entry.unit if entry else ""
        return Fact(name, known[0][0], unit, Source("rule", detail), self._inputs(setting))

    def _value_from(self, rule: Rule, name: str) -> Value | None:
        return True if name == rule.fact else evaluate(rule.sets[name], self.value)

    def _inputs(self, rules: Sequence[Rule]) -> tuple[str, ...]:
        """Name the known facts that the conditions of these rules looked at, in their order."""
        names = (n for rule in rules for c in rule.conditions for n in c.expression.names)
        return tuple(dict.fromkeys(name for name in names if name in self.facts))


def is_usable(value: Value) -> bool:
    """Tell whether a value can be compared: text, a claim, or a number in a float's range."""
    if isinstance(value, (bool, str)):
        return True
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def contradiction(name: str, setting: Sequence[tuple[Value, Rule]]) -> KnowledgeError:
    """Make the error for rules that set one fact to different values."""
    (first, rule), (second, other) = setting[0], setting[1]
    what = (
        f"contradiction: {rule.id} sets {name} to {_shown(first)}, "
        f"{other.id} ({other.file}:{other.line}) sets it to {_shown(second)}"
    )
    help = "make the conditions of the two rules exclude each other"
    return KnowledgeError(what, Place(rule.file, rule.line), help)


def _shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
