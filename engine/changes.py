"""Gaps and the changes that close them: what a fact is, and what it would have to be."""

from __future__ import annotations

import math

from ..facts.model import Value
from ..parsers.record import dataclass
from .numbers import plain


@dataclass(frozen=True, slots=True)
class Change:
    """The smallest change of one fact that makes a condition hold."""

    fact: str
    now: Value | None
    to: Value
    text: str  # "tile.ratio 8 -> below 5"


def gap(value: Value | None, wanted: Value | None) -> tuple[float | None, float | None]:
    """Give |value - wanted|, absolute and as a share of the larger of the two."""
    for side in (value, wanted):
        if side is None or isinstance(side, (bool, str)):
            return None, None
    assert value is not None and wanted is not None
    gap = abs(float(value) - float(wanted))
    scale = max(abs(float(value)), abs(float(wanted)))
    return gap, gap / scale if scale else 0.0


def smallest_change(fact: str, now: Value | None, operator: str, wanted: Value) -> Change | None:
    """Give the change that just satisfies `fact operator wanted`; None for any other text."""
    if isinstance(wanted, str) and operator == "!=":
        return None
    to = _just_satisfying(now, operator, wanted)
    words = {"<": "below ", ">": "above ", "<=": "at most ", ">=": "at least "}
    exact = operator in ("==", "!=") or to == wanted
    goal = shown(to) if exact else words[operator] + shown(wanted)
    return Change(fact, now, to, f"{fact} {shown(now)} -> {goal}")


def _just_satisfying(now: Value | None, operator: str, wanted: Value) -> Value:
    if isinstance(wanted, bool):
        return wanted if operator == "==" else not wanted
    if isinstance(wanted, str) or operator in ("<=", ">=", "=="):
        return wanted
    up = operator == ">" or (operator == "!=" and now is not None)
    if isinstance(now, int) or (now is None and float(wanted).is_integer()):
        return math.floor(wanted) + 1 if up else math.ceil(wanted) - 1
    return math.nextafter(float(wanted), math.inf if up else -math.inf)


def shown(value: Value | None) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else plain(value)
