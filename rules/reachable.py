"""Rules that can never fire: by their own conditions, by the rules before them, by a shadow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..parsers.expression_tree import Scalar, Tree, evaluate_tree, unparse
from ..parsers.record import dataclass
from .comparison import OPPOSITE, sides
from .model import Rule
from .vocabulary import Vocabulary


@dataclass(frozen=True)
class Demand:
    """What a rule asks of one fact: `name operator value`, the value a constant where it is one."""

    text: str
    name: str
    operator: str
    right: str  # as written
    value: Scalar | None


def demands(rule: Rule) -> Iterator[Demand]:
    """Give what must hold for the rule to fire, exceptions turned round."""
    for condition in rule.when:
        yield from _demand(condition.text, condition.expression.tree, False)
    for condition in rule.unless:
        yield from _demand(condition.text, condition.expression.tree, True)


def _demand(text: str, tree: Tree, negated: bool) -> Iterator[Demand]:
    left, operator, right = sides(tree)
    if left[0] == "name":
        operator = OPPOSITE[operator] if negated else operator
        value = evaluate_tree(right, _nothing)
        if isinstance(value, bool) and operator == "!=":
            operator, value = "==", not value
            right = ("bool", value)
        yield Demand(text, left[1], operator, unparse(right), value)


def contradiction(rule: Rule) -> tuple[str, str] | None:
    """Find two conditions of a rule that exclude each other."""
    seen: list[Demand] = []
    for demand in demands(rule):
        for earlier in seen:
            if earlier.name == demand.name and _exclude(earlier, demand):
                return earlier.text, demand.text
        seen.append(demand)
    return None


def _exclude(one: Demand, two: Demand) -> bool:
    if one.value is None or two.value is None:
        return one.right == two.right and _signs_exclude(one.operator, two.operator)
    if isinstance(one.value, (bool, str)) or isinstance(two.value, (bool, str)):
        same = one.value == two.value
        equal = (one.operator == "==") + (two.operator == "==")
        return (equal == 2 and not same) or (equal == 1 and same)
    return not any(_allows(one, x) and _allows(two, x) for x in _samples(one.value, two.value))


def _signs_exclude(one: str, two: str) -> bool:
    """Tell whether `a one b` and `a two b` exclude each other whatever a and b are."""
    orders = {"<": {-1}, "<=": {-1, 0}, ">": {1}, ">=": {0, 1}, "==": {0}, "!=": {-1, 1}}
    return not orders[one] & orders[two]


def _samples(one: float, two: float) -> list[float]:
    """Give a point in every stretch that two limits cut the numbers into."""
    low, high = sorted((float(one), float(two)))
    return [low - 1, low, (low + high) / 2, high, high + 1]


def _allows(demand: Demand, x: float) -> bool:
    return bool(evaluate_tree((demand.operator, ("num", x), ("num", demand.value)), _nothing))


def _nothing(name: str) -> None:
    return None


def impossible_value(
    rule: Rule, rules: Sequence[Rule], vocabulary: Vocabulary
) -> tuple[str, str] | None:
    """Find a condition on a fact that only rules set, with a value that none of them sets."""
    for demand in demands(rule):
        entry = vocabulary.entry(demand.name)
        if entry is None or entry.source or demand.value is None or demand.operator != "==":
            continue
        values = [value for other in rules for value in _values(other, demand.name)]
        if not values or None in values or demand.value in (*values, entry.default):
            continue
        return demand.text, f"no rule sets {demand.name} to {demand.right}"
    return None


def _values(rule: Rule, name: str) -> Iterator[Scalar | None]:
    """Give what a rule can set a fact to; None for an expression."""
    if name == rule.fact:
        yield True
    elif name in rule.sets:
        yield evaluate_tree(rule.sets[name].tree, _nothing)


def shadow(rule: Rule, rules: Iterable[Rule]) -> Rule | None:
    """Find a rule that fires whenever this one could, though this one asks for its silence."""
    silenced = {d.name for d in demands(rule) if d.operator == "==" and d.value is False}
    own = _wanted(rule)
    for other in rules:
        if other.id != rule.id and other.fact in silenced and _wanted(other) <= own:
            return other
    return None


def _wanted(rule: Rule) -> set[tuple[str, bool]]:
    """Give the conditions, and whether each must hold or fail."""
    return {(c.text, True) for c in rule.when} | {(c.text, False) for c in rule.unless}
