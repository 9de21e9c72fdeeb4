"""From facts and knowledge to what fired, what did not, and why it could not be decided."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from ..facts.model import FactBase
from ..parsers.record import dataclass
from ..rules.model import Kind, Knowledge, Rule
from .evaluate import Evaluation, Outcome, evaluate_rules
from .rete import EngineError, Firing, network

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True)
class Inference:
    """The result of one inference; `base` is what was known before the rules."""

    knowledge: Knowledge
    base: FactBase
    facts: FactBase
    outcomes: Mapping[str, Outcome]
    firings: tuple[Firing, ...]

    def fired(self, kind: Kind) -> list[Rule]:
        """Give the rules of a kind that fired, by id."""
        return self._in_state(kind, "fired")

    def silent(self, kind: Kind) -> list[Rule]:
        """Give the rules of a kind that are decided and did not fire, by id."""
        return self._in_state(kind, "silent")

    def undecided(self, kind: Kind) -> list[Rule]:
        """Give the rules of a kind that lack a fact, by id."""
        return self._in_state(kind, "undecided")

    def _in_state(self, kind: Kind, state: str) -> list[Rule]:
        return [r for r in self.knowledge.of_kind(kind) if self.outcomes[r.id].state == state]

    def has_fired(self, rule: str) -> bool:
        """Tell whether the rule with this id fired."""
        return self.outcomes[rule].state == "fired"

    @property
    def evaluation(self) -> Evaluation:
        """Give what the evaluator found, for evaluations of facts that differ little."""
        return Evaluation(self.base, self.facts, self.outcomes)

    @cached_property
    def derivation(self) -> nx.DiGraph[str]:
        """The graph fact -> firing -> fact; see `engine.derivation`."""
        from .derivation import derivation

        return derivation(self)


def infer(facts: FactBase, knowledge: Knowledge, near: Inference | None = None) -> Inference:
    """Run the rules over the facts, in durable_rules and in the evaluator, and compare.

    `near` is an inference on facts that differ little: the evaluator looks at the difference only.
    Raises KnowledgeError where rules contradict each other, EngineError where the two differ.
    """
    check_types(facts, knowledge)
    known = near.evaluation if near is not None and near.knowledge is knowledge else None
    evaluation = evaluate_rules(knowledge, facts, known)
    firings = network(knowledge).run(facts)
    compare(frozenset(firing.rule for firing in firings), evaluation.fired)
    return Inference(knowledge, facts, evaluation.facts, evaluation.outcomes, firings)


def check_types(facts: FactBase, knowledge: Knowledge) -> None:
    """Raise EngineError for a fact that is not of the type that the rules were checked with."""
    for name, wanted in knowledge.types.items():
        fact = facts.facts.get(name)
        if fact is None:
            continue
        found = "bool" if isinstance(fact.value, bool) else "num"
        found = "text" if isinstance(fact.value, str) else found
        if found != wanted:
            raise EngineError(f"{name} is {found} ({fact.value!r}), the vocabulary says {wanted}")


def compare(durable: frozenset[str], evaluator: frozenset[str]) -> None:
    """Raise EngineError when the two fired sets differ, naming what each has alone."""
    if durable != evaluator:
        only_durable = ", ".join(sorted(durable - evaluator)) or "nothing"
        only_evaluator = ", ".join(sorted(evaluator - durable)) or "nothing"
        raise EngineError(
            "durable_rules and the evaluator disagree: "
            f"fired only in durable_rules: {only_durable}; only in the evaluator: {only_evaluator}"
        )
