"""How strategies and pitfalls stand to each other: as declared, and as inference shows.

Derived relations come from applying a strategy's side effects and inferring again:
- a pitfall or limitation that fires now: the strategy conflicts with it (a note only where some
  rule declares a conflict with it: others tell of the analysis, or that enough was done);
- a strategy that fires now: the first enables it (where no pitfall fires with it: what repairs
  damage is not enabled by it);
- a strategy that is silent now: they compete where both change the same fact or silence each
  other, else the first supersedes it;
- two strategies that only together make a pitfall fire: they conflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from ..facts.derive import Derivation
from ..parsers.expression_tree import evaluate
from ..parsers.record import dataclass
from ..rules.model import Edge, Relation, Rule
from .effects import Effect, effect_of, support_of
from .infer import Inference
from .wording import render

if TYPE_CHECKING:
    import networkx as nx

WARNINGS = ("pitfall", "limitation")
SYMMETRIC: tuple[Relation, ...] = ("conflicts", "competes")


@dataclass(frozen=True, slots=True)
class Related:
    """One edge: `between[0]` enables or supersedes `between[1]`; the other kinds are mutual."""

    between: tuple[str, str]
    kind: Relation
    because: str
    declared: bool


def relations(inference: Inference, derivations: Sequence[Derivation] = ()) -> list[Related]:
    """Give all relations of the strategies that fired, sorted; derived ones tell their numbers."""
    fired = inference.fired("strategy")
    effects = {rule.id: effect_of([rule], inference, derivations) for rule in fired}
    known = {id: effect for id, effect in effects.items() if effect is not None}
    found = [*_derived(fired, known), *_joint(fired, known, inference, derivations)]
    found += _declared(inference, known)
    return _merged(found)


def graph(edges: Iterable[Related], inference: Inference) -> nx.MultiDiGraph[str]:
    """Give the relations as a networkx graph; nodes are ids with kind, title and status."""
    import networkx as nx

    made: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for rule in inference.fired("strategy"):
        _add_node(made, rule)
    for edge in edges:
        for id in edge.between:
            _add_node(made, inference.knowledge.by_id[id])
        made.add_edge(*edge.between, kind=edge.kind, because=edge.because, declared=edge.declared)
    return made


def _add_node(made: nx.MultiDiGraph[str], rule: Rule) -> None:
    made.add_node(rule.id, kind=rule.kind, title=rule.title, status=rule.status)


def _derived(fired: Sequence[Rule], effects: Mapping[str, Effect]) -> Iterator[Related]:
    silenced = {id: {r.id for r in e.newly_silent(["strategy"])} for id, e in effects.items()}
    for rule in fired:
        effect = effects.get(rule.id)
        if effect is None:
            continue
        damage = [rule for rule in effect.newly_fired(WARNINGS) if _harms(rule, effect.before)]
        for pitfall in damage:
            because = f"{effect.told(pitfall)}, {pitfall.id} fires"
            yield Related((rule.id, pitfall.id), "conflicts", because, False)
        for other in [] if damage else effect.newly_fired(["strategy"]):
            because = f"{effect.told(other)}, {other.id} fires"
            yield Related((rule.id, other.id), "enables", because, False)
        for other in effect.newly_silent(["strategy"]):
            if other.id != rule.id:
                shared = rule.side_effects.keys() & other.side_effects.keys()
                mutual = bool(shared) or rule.id in silenced.get(other.id, ())
                because = f"{effect.told(other)}, {other.id} no longer applies"
                kind: Relation = "competes" if mutual else "supersedes"
                yield Related((rule.id, other.id), kind, because, False)


def _harms(warning: Rule, inference: Inference) -> bool:
    """Tell whether it costs something that a warning fires now."""
    if warning.severity != "note":
        return True
    rules = inference.knowledge.rules
    return any(e.kind == "conflicts" and e.to == warning.id for r in rules for e in r.edges)


def _joint(
    fired: Sequence[Rule],
    effects: Mapping[str, Effect],
    inference: Inference,
    derivations: Sequence[Derivation],
) -> Iterator[Related]:
    """Find pairs that only together make a pitfall fire."""
    with_effect = [rule for rule in fired if rule.id in effects]
    for one, two in combinations(with_effect, 2):
        if not _meet(effects[one.id], effects[two.id]):
            continue
        alone = {
            pitfall.id
            for rule in (one, two)
            for pitfall in effects[rule.id].newly_fired(["pitfall"])
        }
        fired_now = {pitfall.id for pitfall in inference.fired("pitfall")}
        both = effect_of([one, two], inference, derivations, unless_fired=alone | fired_now)
        newly = [] if both is None else both.newly_fired(["pitfall"])
        new = [pitfall for pitfall in newly if _harms(pitfall, inference)]
        for pitfall in new:
            if both is not None and pitfall.id not in alone:
                because = f"together {both.told(pitfall)}, {pitfall.id} fires"
                yield Related((one.id, two.id), "conflicts", because, False)
                break


def _meet(one: Effect, two: Effect) -> bool:
    """Tell whether some pitfall that fires in no case rests on facts that both of them move."""
    knowledge = one.before.knowledge
    for pitfall in knowledge.of_kind("pitfall"):
        fires = (e.has_fired(pitfall.id) for e in (one.before, one.after, two.after))
        if not any(fires):
            support = support_of(pitfall, one.after.facts) | support_of(pitfall, two.after.facts)
            if not (support.isdisjoint(one.moved) or support.isdisjoint(two.moved)):
                return True
    return False


def _declared(inference: Inference, effects: Mapping[str, Effect]) -> Iterator[Related]:
    rules = inference.knowledge.rules
    for rule in sorted(rules, key=lambda r: r.id):
        if rule.kind not in ("strategy", "pitfall") or not inference.has_fired(rule.id):
            continue
        for edge in rule.edges:
            if any(evaluate(c.expression, inference.facts.value) is False for c in edge.when):
                continue
            other = inference.knowledge.by_id[edge.to]
            effect = effects.get(rule.id)
            if _matters(rule, other, edge.kind, inference, effect):
                because = _because(edge, rule, other, inference, effect)
                yield Related((rule.id, other.id), edge.kind, because, True)


def _matters(
    rule: Rule, other: Rule, kind: Relation, inference: Inference, effect: Effect | None
) -> bool:
    """Tell whether a declared relation says something about this kernel.

    A relation to what fires does. One to a rule that does not fire only does while it could:
    where the side effects are known and settle it as silent, the numbers speak against it.
    """
    if inference.has_fired(other.id):
        return True
    if rule.kind == "pitfall" or (other.kind == "strategy" and kind != "enables"):
        return False
    if effect is not None and effect.touches(other):
        return effect.after.outcomes[other.id].state != "silent"
    return other.kind == "pitfall" or inference.outcomes[other.id].state == "undecided"


def _because(
    edge: Edge, rule: Rule, other: Rule, inference: Inference, effect: Effect | None
) -> str:
    if edge.because is not None:
        return render(edge.because, inference.facts.value, inference.knowledge.vocabulary)
    told = effect.told(other) if effect is not None and effect.touches(other) else ""
    return f"{told}; {other.title}" if told else f"{other.title} ({rule.file}:{edge.line})"


def _merged(found: Iterable[Related]) -> list[Related]:
    """Keep one edge of a kind between two ids: the declared reason, if any, after the numbers."""
    kept: dict[tuple[Relation, tuple[str, ...]], Related] = {}
    for edge in found:
        ends = tuple(sorted(edge.between)) if edge.kind in SYMMETRIC else edge.between
        earlier = kept.get((edge.kind, ends))
        if earlier is None:
            kept[edge.kind, ends] = edge
        elif edge.declared and not earlier.declared:
            kept[edge.kind, ends] = Related(earlier.between, edge.kind, earlier.because, True)
    return sorted(kept.values(), key=lambda e: (e.between, e.kind))
