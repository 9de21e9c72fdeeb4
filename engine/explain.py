"""Why a rule fired: the tree from its conditions down to addresses, options and citations.

The form is the TREE of the contract; a fact that was derived carries its `inputs` besides.
Within one tree each rule and each derived fact is opened once, where it is met first.
"""

from __future__ import annotations

from typing import Any

from ..rules.model import Condition, Rule
from .evaluate import Truth
from .infer import Inference

Tree = dict[str, Any]


def why(inference: Inference, rule: str) -> Tree:
    """Give the tree of a rule, fired or not; `rule` is its id."""
    return _Explanation(inference).tree(inference.knowledge.by_id[rule])


class _Explanation:
    """One tree in the making: what was opened already stays closed."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.opened: set[str] = set()

    def tree(self, rule: Rule) -> Tree:
        outcome = self.inference.outcomes[rule.id]
        self.opened.add(f"rule {rule.id}")
        conditions = [
            *(
                self._condition(c, holds, "")
                for c, holds in zip(rule.when, outcome.when, strict=True)
            ),
            *(
                self._condition(c, holds, "unless ")
                for c, holds in zip(rule.unless, outcome.unless, strict=True)
            ),
        ]
        return {
            "rule": rule.id,
            "file": rule.file,
            "status": rule.status,
            "conditions": conditions,
        }

    def _condition(self, condition: Condition, holds: Truth, prefix: str) -> Tree:
        names = condition.expression.names
        return {
            "text": prefix + condition.text,
            "holds": holds,
            "facts": [self._fact(name) for name in names],
            "children": [self.tree(rule) for name in names for rule in self._behind(name)],
        }

    def _behind(self, name: str) -> list[Rule]:
        """Give the rules that decide a fact and are not open yet: those that fired, else all."""
        if name in self.inference.base:
            return []
        rules = self.inference.knowledge.producers.get(name, ())
        fired = [rule for rule in rules if self.inference.has_fired(rule.id)]
        return [rule for rule in fired or rules if f"rule {rule.id}" not in self.opened]

    def _fact(self, name: str) -> Tree:
        fact = self.inference.facts.facts.get(name)
        if fact is None:
            gap = self.inference.facts.missing.get(name)
            detail = gap.because if gap else "no input gives it"
            return {
                "name": name,
                "value": None,
                "unit": self._unit(name),
                "source": {"kind": "missing", "detail": detail},
            }
        shown: Tree = {
            "name": name,
            "value": fact.value,
            "unit": fact.unit,
            "source": {"kind": fact.source.kind, "detail": fact.source.detail},
        }
        if fact.source.kind != "rule" and fact.inputs and name not in self.opened:
            self.opened.add(name)
            shown["inputs"] = [self._fact(input) for input in fact.inputs]
        return shown

    def _unit(self, name: str) -> str:
        entry = self.inference.knowledge.vocabulary.entry(name)
        return entry.unit if entry else ""
