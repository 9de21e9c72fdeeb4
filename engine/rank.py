"""Strategies in the order in which to try them: by expected gain, within the headroom."""

from __future__ import annotations

from math import isfinite

from ..parsers.expression_tree import Expression, evaluate
from ..parsers.record import dataclass
from ..rules.model import Basis, Rule
from .infer import Inference

STATUS_ORDER = ("measured", "reported", "contested", "hypothesis", "refuted")


@dataclass(frozen=True, slots=True)
class GainRange:
    """A speed-up in percent; None where it is not known. A ceiling has no low end.

    `limited_by` names the ceiling that cut the range, `cap` is that ceiling in percent.
    """

    low: float | None
    high: float | None
    basis: Basis
    limited_by: str | None = None
    cap: float | None = None

    @property
    def expected(self) -> float | None:
        """Give the middle of the range; None for a ceiling, which promises nothing."""
        return None if self.low is None or self.high is None else (self.low + self.high) / 2


@dataclass(frozen=True, slots=True)
class Ranked:
    """A strategy that fired, its place (from 1) and what it may bring."""

    rule: Rule
    rank: int
    gain: GainRange


def rank(inference: Inference) -> list[Ranked]:
    """Order the strategies that fired; the same facts give the same order."""
    found = [(rule, gain_range(rule, inference)) for rule in inference.fired("strategy")]
    found.sort(key=lambda pair: _order(*pair))
    return [Ranked(rule, place, gain) for place, (rule, gain) in enumerate(found, 1)]


def gain_range(rule: Rule, inference: Inference) -> GainRange:
    """Evaluate a strategy's gain on the facts, no further than its cap allows.

    A hypothesis has no evidence for a range, so only its ceiling is given.
    """
    if rule.gain is None:
        return GainRange(None, None, "ceiling")
    low, high = _percent(rule.gain.low, inference), _percent(rule.gain.high, inference)
    factor = _number(rule.gain.cap, inference)
    cap = None if factor is None else max(0.0, 100 * (factor - 1))
    limit = str(rule.gain.cap) if rule.gain.cap is not None else None
    promised = rule.gain.basis != "ceiling"
    promised = promised and (rule.status != "hypothesis" or rule.gain.basis == "model")
    if not promised or low is None or high is None:
        known = [value for value in (high, cap) if value is not None]
        ceiling = max(0.0, min(known)) if known else None
        cut = cap is not None and ceiling == cap
        return GainRange(None, ceiling, "ceiling", limit if cut else None, cap)
    if cap is None or high <= cap:
        return GainRange(min(low, high), high, rule.gain.basis, None, cap)
    return GainRange(min(low, cap), cap, rule.gain.basis, limit, cap)


def _percent(expression: Expression | None, inference: Inference) -> float | None:
    value = _number(expression, inference)
    return None if value is None else 100 * value


def _number(expression: Expression | None, inference: Inference) -> float | None:
    value = evaluate(expression, inference.facts.value) if expression else None
    if value is None or isinstance(value, (bool, str)) or not isfinite(100.0 * value):
        return None  # 100.0, since it becomes percent
    return float(value)


def _order(rule: Rule, gain: GainRange) -> tuple[bool, int, float, float, int, str]:
    """Refuted last; ranges before ceilings before nothing; then by gain, then by status."""
    known = 0 if gain.expected is not None else 1 if gain.high is not None else 2
    return (
        rule.status == "refuted",
        known,
        -(gain.expected or 0.0),
        -(gain.high or 0.0),
        STATUS_ORDER.index(rule.status),
        rule.id,
    )
