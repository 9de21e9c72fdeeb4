"""What a scan must know of a kernel: what it reports, what its rules ask for, and nothing else.

A scan has no launch, no time and no problem, so most rules can never fire in it. Those and the
facts that nobody else asks for are left out: the outcome of every rule that remains is the same,
since all that decides it remains as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ...facts.derive import Derivation
from ...facts.model import FactBase, Value
from ...facts.resource_facts import FIELDS
from ...parsers.expression_tree import COMPARISONS, Expression, Tree, compare
from ...rules.model import Knowledge, Rule, Template
from ..demand import constant

_FROM_THE_CUBIN = frozenset({*FIELDS, "launch.block"})  # a kernel may state its block size
_CONSTANTS = ("num", "text", "bool")
Possible = frozenset[Value]
ANY: Possible = frozenset({"any"})  # told apart by identity
NEVER: Possible = frozenset()


@dataclass(frozen=True)
class Demand:
    """The rules that are worth asking, the derivations they need, and every fact that is used."""

    knowledge: Knowledge
    derivations: tuple[Derivation, ...]
    names: frozenset[str]


def demand(
    knowledge: Knowledge,
    reported: Iterable[Rule],
    asked: Iterable[str],
    derivations: Sequence[Derivation],
    base: FactBase,
) -> Demand:
    """Find what is needed for the `asked` facts and for those `reported` rules that can fire.

    `base` holds for all kernels: what it says is missing can never be known, nor what costs an
    option, a run or a profiler and is not there.
    """
    able = _Able(knowledge, derivations, base)
    needed = _Needed(knowledge, derivations)
    for name in asked:
        needed.add(name)
    for rule in reported:
        if able.fires(rule):
            needed.add_rule(rule)
            needed.add_template(rule.why)
    rules = tuple(rule for rule in knowledge.rules if rule.id in needed.rules)
    steps = tuple(step for step in derivations if not needed.names.isdisjoint(step.outputs))
    return Demand(replace(knowledge, rules=rules), steps, frozenset(needed.names))


class _Able:
    """Tells what can ever be known and which rules can ever fire; in doubt both can."""

    def __init__(
        self, knowledge: Knowledge, derivations: Sequence[Derivation], base: FactBase
    ) -> None:
        self.knowledge = knowledge
        self.base = base
        self.makers: dict[str, list[Derivation]] = {}
        for step in derivations:
            for name in step.outputs:
                self.makers.setdefault(name, []).append(step)
        self._found: dict[str, Possible] = {}

    def fires(self, rule: Rule) -> bool:
        return all(self._can_be(condition.expression.tree, True) for condition in rule.when)

    def values(self, name: str) -> Possible:
        """Give the values that a fact may have: none where it is never known, ANY in doubt."""
        if name not in self._found:
            self._found[name] = ANY  # what asks for itself is not ruled out
            self._found[name] = self._values(name)
        return self._found[name]

    def _values(self, name: str) -> Possible:
        if name in self.base.facts or name in _FROM_THE_CUBIN:
            return ANY
        entry = self.knowledge.vocabulary.entry(name)
        rules = self.knowledge.producers.get(name, ())
        if rules:
            return self._set(name, rules, None if entry is None else entry.default)
        if name in self.makers:
            costs = self._costs(name)
            return ANY if any(self._works(step, costs) for step in self.makers[name]) else NEVER
        if name in self.base.missing:
            return NEVER
        return ANY if entry is None or entry.cost == 0 else NEVER

    def _works(self, step: Derivation, costs: bool) -> bool:
        """Tell whether a derivation can ever give a value.

        One that costs something although its inputs do not takes it from an optional input.
        """
        if not all(map(self.values, step.inputs)):
            return False
        needs_more = costs and not any(map(self._costs, step.inputs))
        return not (needs_more and step.optional) or any(map(self.values, step.optional))

    def _costs(self, name: str) -> bool:
        entry = self.knowledge.vocabulary.entry(name)
        return entry is not None and entry.cost > 0

    def _set(self, name: str, rules: Iterable[Rule], default: Value | None) -> Possible:
        """Give the constants that rules which can fire set, and the default."""
        found = set() if default is None else {default}
        for rule in filter(self.fires, rules):
            value = True if name == rule.fact else constant(rule, name)
            if value is not None:
                found.add(value)
            elif self._is_decided(rule.sets[name].tree):
                return ANY
        return frozenset(found)

    def _can_be(self, tree: Tree, wanted: bool) -> bool:
        """Tell whether a condition can have this truth."""
        operator = tree[0]
        if operator in ("and", "or"):
            both = (operator == "and") is wanted  # else one side alone decides
            return (all if both else any)(self._can_be(side, wanted) for side in tree[1:])
        if operator == "not":
            return self._can_be(tree[1], not wanted)
        if operator == "name":
            values = self.values(tree[1])
            return values is ANY or wanted in values
        if operator in COMPARISONS and tree[1][0] == "name" and tree[2][0] in _CONSTANTS:
            values = self.values(tree[1][1])
            if values is not ANY:
                return any(compare(operator, value, tree[2][1]) is wanted for value in values)
        return self._is_decided(tree)

    def _is_decided(self, tree: Tree) -> bool:
        """Tell whether an expression can have a value at all."""
        if tree[0] in ("and", "or"):
            return self._is_decided(tree[1]) or self._is_decided(tree[2])
        if tree[0] == "if":
            sides = self._is_decided(tree[2]) or self._is_decided(tree[3])
            return self._is_decided(tree[1]) and sides
        if tree[0] == "name":
            return bool(self.values(tree[1]))
        return tree[0] in _CONSTANTS or all(map(self._is_decided, tree[1:]))


class _Needed:
    """Collects facts, and whatever decides them."""

    def __init__(self, knowledge: Knowledge, derivations: Sequence[Derivation]) -> None:
        self.knowledge = knowledge
        self.inputs: dict[str, set[str]] = {}
        for step in derivations:
            for name in step.outputs:
                self.inputs.setdefault(name, set()).update(step.inputs, step.optional)
        self.names: set[str] = set()
        self.rules: set[str] = set()

    def add(self, name: str) -> None:
        if name in self.names:
            return
        self.names.add(name)
        for rule in self.knowledge.producers.get(name, ()):
            self.add_rule(rule)
        for source in self.inputs.get(name, ()):
            self.add(source)

    def add_rule(self, rule: Rule) -> None:
        if rule.id in self.rules:
            return
        self.rules.add(rule.id)
        self._add_all(condition.expression for condition in rule.conditions)
        self._add_all(rule.sets.values())

    def add_template(self, template: Template) -> None:
        self._add_all(part for part in template.parts if isinstance(part, Expression))

    def _add_all(self, expressions: Iterable[Expression]) -> None:
        for expression in expressions:
            for name in expression.names:
                self.add(name)
