"""Why a rule did not fire: which conditions fail or are open, by how much, what would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..facts.derive import Derivation
from ..facts.model import Value
from ..parsers.expression_tree import Tree, compare, evaluate_tree, unparse
from ..rules.comparison import OPPOSITE, sides
from ..rules.model import Condition, Rule
from .changes import Change, gap, smallest_change
from .evaluate import Outcome, Truth
from .infer import Inference, infer
from .missing import roots
from .numbers import plain
from .whatif import what_if


@dataclass(frozen=True, slots=True)
class Failed:
    """A condition that does not hold: what it needs, the gap, and what would close it."""

    condition: str
    holds: Truth  # False or None
    fact: str
    value: Value | None
    needed: str
    margin: float | None
    relative: float | None
    changes: tuple[Change, ...]
    producers: tuple[str, ...]  # rules that could have produced what is missing or different
    missing: tuple[str, ...]  # facts that the condition asks for and that have no value
    because: str | None  # why the first of those has none


@dataclass(frozen=True, slots=True)
class WhyNot:
    """A rule that did not fire; `unknown` names the missing facts at the root.

    `would_fire` says, once it was tried, whether the rule fires with all changes made.
    """

    rule: Rule
    failed: tuple[Failed, ...]
    unknown: tuple[str, ...]
    would_fire: bool | None = None

    @property
    def changes(self) -> tuple[Change, ...]:
        """Give the changes of all conditions, each fact once."""
        return tuple({c.fact: c for f in self.failed for c in f.changes}.values())

    @property
    def distance(self) -> tuple[int, float, str]:
        """Order near misses: fewest failed conditions, then the smallest relative gap."""
        gaps = [1.0 if f.relative is None else f.relative for f in self.failed]
        return len(self.failed), sum(gaps), self.rule.id


def why_not(inference: Inference, rule: str) -> WhyNot:
    """Explain a rule that did not fire; `rule` is its id."""
    outcome = inference.outcomes[rule]
    failed = tuple(
        _failed(inference, condition, holds, negated, frozenset({rule}))
        for condition, holds, negated in _conditions(outcome)
        if holds is not True
    )
    names = [name for f in failed if f.holds is None for name in f.missing]
    return WhyNot(outcome.rule, failed, roots(inference, names))


def near_misses(inference: Inference, rules: Sequence[Rule]) -> list[WhyNot]:
    """Explain these rules, the nearest miss first."""
    return sorted((why_not(inference, r.id) for r in rules), key=lambda found: found.distance)


def tried(found: WhyNot, inference: Inference, derivations: Sequence[Derivation]) -> WhyNot:
    """Make all changes together, derive and infer again, and note whether the rule fires."""
    if not found.changes:
        return found
    changes = {change.fact: change.to for change in found.changes}
    facts = what_if(inference.base, changes, derivations, inference.knowledge.vocabulary)
    fires = infer(facts, inference.knowledge).has_fired(found.rule.id)
    return replace(found, would_fire=fires)


def _conditions(outcome: Outcome) -> list[tuple[Condition, Truth, bool]]:
    when = [(c, t, False) for c, t in zip(outcome.rule.when, outcome.when, strict=True)]
    return when + [(c, t, True) for c, t in zip(outcome.rule.unless, outcome.unless, strict=True)]


def _failed(
    inference: Inference,
    condition: Condition,
    holds: Truth,
    negated: bool,
    above: frozenset[str],
) -> Failed:
    tree = condition.expression.tree
    left, operator, right = sides(tree)
    if negated:
        operator = OPPOSITE[operator]
    lookup = inference.facts.value
    value, wanted = evaluate_tree(left, lookup), evaluate_tree(right, lookup)
    fact = next(iter(condition.expression.names))
    if left[0] == "name":
        fact = left[1]
    margin, relative = gap(value, wanted)
    demand = _Demand(fact, operator, wanted)
    producers = _producers(inference, condition, holds, demand)
    missing = tuple(n for n in condition.expression.names if n not in inference.facts)
    gaps = [inference.facts.missing[name] for name in missing if name in inference.facts.missing]
    changes = _changes(inference, left, demand, value, producers, above)
    return Failed(
        condition=("unless " if negated else "") + condition.text,
        holds=holds,
        fact=fact,
        value=value,
        needed=_needed(operator, right, wanted),
        margin=margin,
        relative=relative,
        changes=changes,
        producers=tuple(rule.id for rule in producers),
        missing=missing,
        because=gaps[0].because if gaps else None,
    )


@dataclass(frozen=True, slots=True)
class _Demand:
    """What a condition asks of the fact on its left."""

    fact: str
    operator: str
    wanted: Value | None


def _needed(operator: str, right: Tree, wanted: Value | None) -> str:
    written = unparse(right).strip('"')
    if right[0] in ("num", "text", "bool") or wanted is None:
        return f"{operator} {written}"
    shown = plain(wanted) if isinstance(wanted, (int, float)) else str(wanted)
    return f"{operator} {shown} ({written})"


def _producers(
    inference: Inference, condition: Condition, holds: Truth, demand: _Demand
) -> list[Rule]:
    """Give the rules that did not fire and could have set a fact as the condition needs it."""
    found = []
    for name in condition.expression.names:
        if name in inference.base:
            continue
        for rule in inference.knowledge.producers.get(name, ()):
            if inference.has_fired(rule.id):
                continue
            sets = True if name == rule.fact else _constant(rule, name)
            useful = name != demand.fact or _suits(sets, demand)
            if useful or holds is None:
                found.append(rule)
    return found


def _constant(rule: Rule, name: str) -> Value | None:
    return evaluate_tree(rule.sets[name].tree, lambda name: None)


def _suits(value: Value | None, demand: _Demand) -> bool:
    """Tell whether a value that a rule would set is what the condition asks for."""
    if value is None or demand.wanted is None:
        return True
    return compare(demand.operator, value, demand.wanted) is True


def _changes(
    inference: Inference,
    left: Tree,
    demand: _Demand,
    value: Value | None,
    producers: Sequence[Rule],
    above: frozenset[str],
) -> tuple[Change, ...]:
    """Change the fact itself; for one that rules set, what the nearest of those rules asks for."""
    set_by_rules = demand.fact in inference.knowledge.producers
    if set_by_rules and demand.fact not in inference.base:
        ways: list[list[Change]] = [
            [c for f in _open_conditions(inference, rule, above) for c in f.changes]
            for rule in producers
            if rule.id not in above
        ]
        ways = [way for way in ways if way]
        if not ways:
            return ()
        nearest: list[Change] = min(ways, key=len)
        return tuple(nearest)
    known = inference.facts.missing.get(demand.fact)
    if left[0] != "name" or demand.wanted is None or (known is not None and not known.applies):
        return ()  # nothing to set, or nothing that a value could be given to
    change = smallest_change(demand.fact, value, demand.operator, demand.wanted)
    return () if change is None else (change,)


def _open_conditions(inference: Inference, rule: Rule, above: frozenset[str]) -> list[Failed]:
    outcome = inference.outcomes[rule.id]
    return [
        _failed(inference, condition, holds, negated, above | {rule.id})
        for condition, holds, negated in _conditions(outcome)
        if holds is not True
    ]
