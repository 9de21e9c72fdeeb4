"""The encoding of rules for durable_rules: plain dictionaries, written by its own serializer.

durable_rules is safe only inside narrow bounds (see `engine.rete`), so rules are encoded like
this and in no other way:

- A message carries one fact: `{"id": name, name: number}`. Claims are 1.0 and 0.0, texts are
  numbered, every number is a decimal float: joins between types do not exist.
- Every antecedent looks at one message. A comparison of two facts is a join in which the right
  one is bound first: `{"r0": {"$ex": {"smem.cliff": 1}}}, {"c0": {"$gt": {"smem": {"r0": ..}}}}`.
- What is not `fact operator constant` or `fact operator fact` is computed outside, and asserted
  as a helper fact: `value:N` for an expression, `absent:N` for an exception that fails. (No fact
  has a colon in its name.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..parsers.expression_tree import Scalar, Tree, evaluate_tree, names_in, unparse
from ..rules.comparison import sides
from ..rules.limits import LARGEST_ANTECEDENTS, fact_hash
from ..rules.model import Condition, Rule

# Per ruleset, below what durable_rules 2.0.28 was seen to stand: 512 distinct root conditions
# (one more hangs its compiler), 255 rules with the same one, 64 on one fact.
MOST_CONDITIONS = 400
MOST_SHARING = 200
MOST_PER_FACT = 48

SENTINEL = "end:"
SENTINEL_RULE = "end:"  # no rule id holds a colon either
ALWAYS = "always:"  # the antecedent of a rule without conditions
LAST_PRIORITY = 65_000  # priorities are 16 bits; the sentinel comes after every rule
OPERATORS = {"<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte", "!=": "$neq"}

Json = dict[str, Any]
RootCondition = tuple[str, str, str]  # the fact, the comparison, and the rule where it joins


class Helper(NamedTuple):
    """A fact that is computed outside: the value of a tree, or that a condition fails."""

    name: str
    tree: Tree
    negated: bool  # assert 1.0 where the tree is false, instead of its value


class Section:
    """The rules of one durable ruleset, with what they look at."""

    def __init__(self) -> None:
        self.definition: Json = {}
        self.rules: list[str] = []
        self.strata: set[int] = set()
        self.names: set[str] = set()  # facts and helpers to assert
        self.helpers: dict[int, list[Helper]] = {}  # by stratum
        self.conditions: dict[RootCondition, int] = {}  # and how many rules have it
        self.per_fact: dict[str, int] = {}  # distinct conditions on each fact


class Texts:
    """Numbers for texts: equal texts have equal numbers, and no other value is ever compared."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.numbers: dict[str, float] = {}
        for text in known:
            self.number(text)

    def number(self, text: str) -> float:
        """Give the number of a text, a new one where it was not seen before."""
        return self.numbers.setdefault(text, float(len(self.numbers) + 1))

    def encoded(self, value: Scalar) -> float:
        """Give the number that stands for a value."""
        return self.number(value) if isinstance(value, str) else float(value)


class Encoder:
    """Packs rules, sorted by stratum and id, into as many sections as durable_rules needs."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.texts = Texts(sorted(_texts(rules)))
        self.helper_names: dict[tuple[str, bool], str] = {}
        self.sections: list[Section] = [Section()]
        for priority, rule in enumerate(rules, 1):
            self._place(rule, priority)
        for section in self.sections:
            section.definition[SENTINEL_RULE] = {
                "pri": LAST_PRIORITY,
                "all": [{"m": {"$ex": {SENTINEL: 1}}}],
            }

    def _place(self, rule: Rule, priority: int) -> None:
        antecedents, helpers = self._antecedents(rule)
        keys = [_key(antecedent, rule.id) for antecedent in antecedents]
        section = self.sections[-1]
        if not _fits(section, keys):
            section = Section()
            self.sections.append(section)
        section.definition[rule.id] = {"pri": priority, "dist": 0, "all": antecedents}
        section.rules.append(rule.id)
        section.strata.add(rule.stratum)
        section.helpers.setdefault(rule.stratum, []).extend(helpers)
        section.names.update(_name(next(iter(a.values()))) for a in antecedents)
        for key in keys:
            if key not in section.conditions:
                section.per_fact[key[0]] = section.per_fact.get(key[0], 0) + 1
            section.conditions[key] = section.conditions.get(key, 0) + 1

    def _antecedents(self, rule: Rule) -> tuple[list[Json], list[Helper]]:
        bound: dict[str, str] = {}
        binding: list[Json] = []
        tests: list[Json] = []
        helpers: list[Helper] = []

        def alias(name: str) -> str:
            if name not in bound:
                bound[name] = f"r{len(bound)}"
                binding.append({bound[name]: {"$ex": {name: 1}}})
            return bound[name]

        for position, condition in enumerate(rule.when):
            left, operator, right = self._sides(condition, helpers)
            wanted: Any = {alias(right): right} if isinstance(right, str) else right
            body = {left: wanted} if operator == "==" else {OPERATORS[operator]: {left: wanted}}
            tests.append({f"c{position}": body})
        for position, condition in enumerate(rule.unless):
            name = self._helper(condition.expression.tree, True, helpers)
            tests.append({f"n{position}": {"$ex": {name: 1}}})
        antecedents = [*binding, *tests] or [{"m": {"$ex": {ALWAYS: 1}}}]
        if len(antecedents) > LARGEST_ANTECEDENTS:
            raise ValueError(f"{rule.id} needs {len(antecedents)} antecedents")
        return antecedents, helpers

    def _sides(self, condition: Condition, helpers: list[Helper]) -> tuple[str, str, str | float]:
        """Give a fact's name, the operator, and a fact's name or a constant."""
        left, operator, right = sides(condition.expression.tree)
        name = left[1] if left[0] == "name" else self._helper(left, False, helpers)
        if right[0] == "name":
            return name, operator, str(right[1])
        constant = None if any(names_in(right)) else evaluate_tree(right, lambda name: None)
        if constant is not None:
            return name, operator, self.texts.encoded(constant)
        return name, operator, self._helper(right, False, helpers)

    def _helper(self, tree: Tree, negated: bool, helpers: list[Helper]) -> str:
        """Name the helper fact for a tree; equal trees share one."""
        key = (unparse(tree), negated)
        if key not in self.helper_names:
            number = len(self.helper_names)
            self.helper_names[key] = f"{'absent' if negated else 'value'}:{number}"
        name = self.helper_names[key]
        helpers.append(Helper(name, tree, negated))
        return name


def _texts(rules: Iterable[Rule]) -> set[str]:
    """Collect the texts that conditions compare with."""
    found: set[str] = set()
    todo: list[Tree] = [c.expression.tree for rule in rules for c in rule.conditions]
    while todo:
        tree = todo.pop()
        if tree[0] == "text":
            found.add(tree[1])
        todo.extend(operand for operand in tree[1:] if isinstance(operand, tuple))
    return found


def _name(body: Json) -> str:
    """Name the fact that an antecedent looks at."""
    key, value = next(iter(body.items()))
    return next(iter(value)) if key.startswith("$") else key


def _key(antecedent: Json, rule: str) -> RootCondition:
    """Identify a root condition; one that joins is never shared between rules."""
    alias, body = next(iter(antecedent.items()))
    operator, value = next(iter(body.items()))
    right = next(iter(value.values())) if operator.startswith("$") else value
    joins = isinstance(right, dict)
    return _name(body), str(body), f"{rule} {alias}" if joins else ""


def _fits(section: Section, keys: Sequence[RootCondition]) -> bool:
    new = {key for key in keys if key not in section.conditions}
    if len(section.conditions) + len(new) > MOST_CONDITIONS:
        return False
    if any(section.conditions.get(key, 0) >= MOST_SHARING for key in keys):
        return False
    more: dict[str, int] = {}
    for name, _, _ in new:
        more[name] = more.get(name, 0) + 1
    return all(section.per_fact.get(n, 0) + count <= MOST_PER_FACT for n, count in more.items())


def check_hashes(sections: Iterable[Section]) -> None:
    """Refuse names that durable_rules would confuse; raises ValueError naming both."""
    for section in sections:
        seen: dict[int, str] = {}
        for name in sorted(section.names):
            first = seen.setdefault(fact_hash(name), name)
            if first != name:
                raise ValueError(f"{first} and {name} have the same hash in durable_rules")
