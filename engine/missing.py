"""What is not known: the facts at the root of what is missing, the cheapest to obtain first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..parsers.record import dataclass
from ..rules.model import Rule
from .infer import Inference

DEAREST = 9  # the cost of a fact that no vocabulary entry names


@dataclass(frozen=True, slots=True)
class MissingFact:
    """A missing fact, how to obtain it, and the rules that it would decide (or help to)."""

    fact: str
    how: str
    because: str
    cost: int
    would_decide: tuple[str, ...]


def roots(inference: Inference, names: Iterable[str]) -> tuple[str, ...]:
    """Follow missing facts to those that no other missing fact explains, sorted by cost."""
    found: set[str] = set()
    seen: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        if name in seen or name in inference.facts:
            continue
        seen.add(name)
        gap = inference.facts.missing.get(name)
        if gap is not None and not gap.applies:
            continue
        deeper = [need for need in gap.needs if need not in inference.facts] if gap else []
        todo.extend(deeper)
        if not deeper:
            found.add(name)
    return tuple(sorted(found, key=lambda name: (cost(inference, name), name)))


def cost(inference: Inference, name: str) -> int:
    """Give the rank of a fact by the effort to obtain it."""
    entry = inference.knowledge.vocabulary.entry(name)
    return DEAREST if entry is None else entry.cost


def missing_facts(inference: Inference, rules: Sequence[Rule]) -> list[MissingFact]:
    """List what these undecided rules lack: cheapest first, then what decides the most."""
    decides: dict[str, list[str]] = {}
    for rule in rules:
        names = {
            name
            for condition in rule.conditions
            for name in condition.expression.names
            if name not in inference.facts
        }
        for name in roots(inference, names):
            decides.setdefault(name, []).append(rule.id)
    found = [_missing_fact(inference, name, ids) for name, ids in decides.items()]
    return sorted(found, key=lambda f: (f.cost, -len(f.would_decide), f.fact))


def _missing_fact(inference: Inference, name: str, ids: Sequence[str]) -> MissingFact:
    entry = inference.knowledge.vocabulary.entry(name)
    gap = inference.facts.missing.get(name)
    because = gap.because if gap else "no input gives it"
    how = entry.source if entry and entry.source else because
    return MissingFact(name, how, because, cost(inference, name), tuple(sorted(ids)))
