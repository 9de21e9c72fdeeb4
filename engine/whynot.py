"""Why a rule did not fire: which conditions fail or are open, by how much, what would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..facts.derive import Derivation
from ..facts.model import Value
from ..parsers.expression_tree import Tree, evaluate_tree
from ..parsers.record import dataclass
from ..rules.comparison import OPPOSITE, sides
from ..rules.model import Condition, Rule
from .changes import Change, gap, smallest_change
from .demand import Demand, constant, needed, suits
from .evaluate import Outcome, Truth
from .infer import Inference, infer
from .missing import roots
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
    kept_by: tuple[Failed, ...] = ()  # of rules that fired and set the fact: what would stop them


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
    demand = Demand(fact, operator, wanted)
    producers = _producers(inference, condition, holds, demand)
    missing = tuple(n for n in condition.expression.names if n not in inference.facts)
    gaps = [inference.facts.missing[name] for name in missing if name in inference.facts.missing]
    kept_by = () if holds is None or producers else _kept_by(inference, demand, above)
    changes = _changes(inference, left, demand, value, producers, kept_by, above)
    return Failed(
        condition=("unless " if negated else "") + condition.text,
        holds=holds,
        fact=fact,
        value=value,
        needed=needed(operator, right, wanted),
        margin=margin,
        relative=relative,
        changes=changes,
        producers=tuple(rule.id for rule in producers),
        missing=missing,
        because=gaps[0].because if gaps else None,
        kept_by=kept_by,
    )


def _producers(
    inference: Inference, condition: Condition, holds: Truth, demand: Demand
) -> list[Rule]:
    """Give the rules that did not fire and could have set a fact as the condition needs it."""
    found = []
    for name in condition.expression.names:
        if name in inference.base:
            continue
        for rule in inference.knowledge.producers.get(name, ()):
            if inference.has_fired(rule.id):
                continue
            sets = True if name == rule.fact else constant(rule, name)
            useful = name != demand.fact or suits(sets, demand)
            if useful or holds is None:
                found.append(rule)
    return found


def _kept_by(inference: Inference, demand: Demand, above: frozenset[str]) -> tuple[Failed, ...]:
    """Give what keeps a fact from its default: of each rule that set it, what is easiest to fail.

    A condition of such a rule holds; turned round it is the demand that is not met.
    """
    found = []
    for rule in inference.knowledge.producers.get(demand.fact, ()):
        if not inference.has_fired(rule.id) or rule.id in above:
            continue
        if demand.fact in rule.sets and not suits(constant(rule, demand.fact), demand):
            ways = [_failed(inference, c, False, True, above | {rule.id}) for c in rule.when]
            found.append(min(ways, key=lambda way: 1.0 if way.relative is None else way.relative))
    return tuple(found)


def _changes(
    inference: Inference,
    left: Tree,
    demand: Demand,
    value: Value | None,
    producers: Sequence[Rule],
    kept_by: Sequence[Failed],
    above: frozenset[str],
) -> tuple[Change, ...]:
    """Change the fact itself; for one that rules set, what those rules ask for.

    To set it, the nearest rule has to fire; to have its default, none of those that did may.
    """
    set_by_rules = demand.fact in inference.knowledge.producers
    if set_by_rules and demand.fact not in inference.base:
        ways: list[list[Change]] = [
            [c for f in _open_conditions(inference, rule, above) for c in f.changes]
            for rule in producers
            if rule.id not in above
        ]
        ways = [way for way in ways if way]
        if not ways:
            undone = [list(kept.changes) for kept in kept_by]
            return tuple(c for way in undone for c in way) if all(undone) else ()
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
