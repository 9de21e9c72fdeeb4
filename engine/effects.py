"""What a strategy does to the facts of this kernel: its side effects, and what follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property

from ..facts.derive import Derivation
from ..facts.model import FactBase, Value
from ..parsers.expression_tree import evaluate
from ..parsers.record import dataclass
from ..rules.model import Rule
from .changes import shown
from .evaluate import evaluate_rules
from .infer import Inference, infer
from .whatif import what_if

MOST_TOLD = 4  # facts in one reason; the side effects themselves come on top


@dataclass(frozen=True)
class Effect:
    """The facts that change, and the inference before and after."""

    changes: Mapping[str, Value]
    before: Inference
    after: Inference

    def newly_fired(self, kinds: Iterable[str]) -> list[Rule]:
        """Give the rules that fire now and did not before, by id."""
        return [r for r in self._rules(kinds) if self._states(r) != "fired" and self._fires(r)]

    def newly_silent(self, kinds: Iterable[str]) -> list[Rule]:
        """Give the rules that fired before and are decided not to now, by id."""
        return [
            r
            for r in self._rules(kinds)
            if self._states(r) == "fired" and self.after.outcomes[r.id].state == "silent"
        ]

    def newly_true(self, rule: Rule) -> set[str]:
        """Give the conditions of a rule that hold now and did not before."""
        before, after = self.before.outcomes[rule.id], self.after.outcomes[rule.id]
        pairs = zip(
            rule.conditions, before.when + before.unless, after.when + after.unless, strict=True
        )
        return {c.text for c, was, now in pairs if now is True and was is not True}

    @cached_property
    def moved(self) -> tuple[str, ...]:
        """Name the facts below the rules that have another value than before, sorted."""
        before = self.before.base.value
        return tuple(f.name for f in self.after.base if before(f.name) not in (None, f.value))

    def told(self, target: Rule) -> str:
        """Say in numbers what changes: the side effects, and what they lead to for the target."""
        effects = ", ".join(self._change(name) for name in self.changes)
        support = support_of(target, self.after.facts)
        vocabulary = self.after.knowledge.vocabulary
        headlines = [n for n in self.moved if (e := vocabulary.entry(n)) is not None and e.headline]
        others = [n for n in self.moved if n in support and n not in headlines]
        shown_facts = [n for n in (*headlines, *others) if n not in self.changes][:MOST_TOLD]
        led_to = ", ".join(self._change(name) for name in shown_facts)
        return f"{effects}: {led_to}" if led_to else effects

    def touches(self, rule: Rule) -> bool:
        """Tell whether a rule's conditions rest on a fact that changes."""
        support = support_of(rule, self.before.facts) | support_of(rule, self.after.facts)
        return any(name in support for name in self.changes)

    def _rules(self, kinds: Iterable[str]) -> list[Rule]:
        wanted = set(kinds)
        rules = self.before.knowledge.rules
        return sorted((r for r in rules if r.kind in wanted), key=lambda r: r.id)

    def _states(self, rule: Rule) -> str:
        return self.before.outcomes[rule.id].state

    def _fires(self, rule: Rule) -> bool:
        return self.after.has_fired(rule.id)

    def _change(self, name: str) -> str:
        fact = self.after.facts.facts[name]
        vocabulary = self.after.knowledge.vocabulary
        entry = vocabulary.entry(name)
        unit = f" {entry.unit}" if entry and entry.unit in vocabulary.units else ""
        return f"{name} {shown(self.before.facts.value(name))} -> {shown(fact.value)}{unit}"


def effect_of(
    rules: Sequence[Rule],
    inference: Inference,
    derivations: Sequence[Derivation],
    unless_fired: Set[str] | None = None,
) -> Effect | None:
    """Apply the side effects of these strategies one after the other, derive and infer again.

    None where there is no side effect, or where one of them is unknown for this kernel; and where
    no pitfall fires but those in `unless_fired`: the evaluator alone tells that.
    """
    base = inference.base
    changes: dict[str, Value] = {}
    for rule in rules:
        for name, expression in rule.side_effects.items():
            value = evaluate(
                expression, lambda name: changes.get(name, inference.facts.value(name))
            )
            if value is None:
                return None
            changes[name] = value
    changes = {name: v for name, v in changes.items() if v != inference.facts.value(name)}
    if not changes:
        return None
    knowledge = inference.knowledge
    moved = what_if(base, changes, derivations, knowledge.vocabulary)
    if unless_fired is not None:
        judged = evaluate_rules(knowledge, moved, inference.evaluation)
        pitfalls = {rule.id for rule in knowledge.of_kind("pitfall")}
        if judged.fired & pitfalls <= unless_fired:
            return None
    return Effect(changes, inference, infer(moved, knowledge, inference))


def support_of(rule: Rule, facts: FactBase) -> set[str]:
    """Name all facts that the conditions of a rule rest on, directly or through others."""
    found: set[str] = set()
    todo = [name for condition in rule.conditions for name in condition.expression.names]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        fact = facts.facts.get(name)
        todo.extend(fact.inputs if fact else ())
    return found
