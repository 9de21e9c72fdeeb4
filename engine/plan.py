"""The best compatible set of strategies, solved exactly, and the order to apply them in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, prod

from ..parsers.record import dataclass
from .conflicts import Related
from .infer import Inference
from .rank import Ranked

EXCLUSIVE = ("conflicts", "competes", "supersedes")  # not both of two strategies
MOST_STRATEGIES = 24  # in the exact search; of more, the best by rank


@dataclass(frozen=True, slots=True)
class Plan:
    """Strategy ids in the order to apply them, and the gain of all together in percent."""

    strategies: tuple[str, ...]
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A strategy as the search sees it: gain factors, and the ceiling it shares with others."""

    id: str
    low: float
    expected: float
    high: float
    promised: bool  # a range; a ceiling alone promises nothing and adds nothing
    ceiling: str | None
    nested: bool  # the ceiling is a fact: one of the whole time, and what it allows is shared
    cap: float | None  # as a factor


def plan(ranked: Sequence[Ranked], edges: Sequence[Related], inference: Inference) -> Plan:
    """Choose the strategies that gain most together and do not exclude each other.

    Refuted strategies, those that promise a loss, and those that lead to a pitfall of severity
    "error" are left out. Strategies under the same ceiling share what it allows: each takes its
    part of the time that the others leave above it.
    """
    fatal = _fatal(edges, inference)
    candidates = [
        _candidate(item)
        for item in ranked
        if item.rule.status != "refuted"
        and item.rule.id not in fatal
        and (item.gain.expected is None or item.gain.expected > 0)
    ][:MOST_STRATEGIES]
    chosen = _best(candidates, _excluded(candidates, edges))
    order = _in_order([c.id for c in chosen], edges)
    promised = [c for c in chosen if c.promised]
    if promised:
        low, high = (_together(promised, end) for end in ("low", "high"))
        return Plan(order, 100 * (low - 1), 100 * (high - 1))
    ceilings = [item.gain.high for item in ranked if item.rule.id in order]
    known = [ceiling for ceiling in ceilings if ceiling is not None]
    return Plan(order, None, max(known, default=None))


def _candidate(item: Ranked) -> _Candidate:
    gain = item.gain
    promised = gain.expected is not None
    cap = item.rule.gain.cap if item.rule.gain else None
    return _Candidate(
        item.rule.id,
        1 + (gain.low or 0.0) / 100 if promised else 1.0,
        1 + (gain.expected or 0.0) / 100,
        1 + (gain.high or 0.0) / 100 if promised else 1.0,
        promised,
        str(cap) if cap is not None and gain.cap is not None else None,
        cap is not None and cap.tree[0] == "name",
        None if gain.cap is None else 1 + gain.cap / 100,
    )


def _fatal(edges: Iterable[Related], inference: Inference) -> set[str]:
    """Name the strategies that lead to a pitfall with which the kernel would not run."""
    found = set()
    for edge in edges:
        if edge.kind == "conflicts":
            for strategy, other in (edge.between, edge.between[::-1]):
                rule = inference.knowledge.by_id[other]
                now = inference.has_fired(other)
                if rule.kind == "pitfall" and rule.severity == "error" and not now:
                    found.add(strategy)
    return found


def _excluded(candidates: Sequence[_Candidate], edges: Iterable[Related]) -> list[int]:
    """Give, for each candidate, the bit mask of those that cannot stand beside it."""
    position = {candidate.id: index for index, candidate in enumerate(candidates)}
    masks = [0] * len(candidates)
    for edge in edges:
        one, two = (position.get(id) for id in edge.between)
        if edge.kind in EXCLUSIVE and one is not None and two is not None:
            masks[one] |= 1 << two
            masks[two] |= 1 << one
    return masks


Score = tuple[float, int]  # the gain of what is promised, then the number of further strategies


def _best(candidates: Sequence[_Candidate], masks: Sequence[int]) -> list[_Candidate]:
    """Search with branch and bound, from the best rank on; the first of equals is kept.

    Whoever excludes nobody is always taken: it cannot lower the gain of any set.
    """
    free = [index for index, mask in enumerate(masks) if not mask]
    torn = [index for index, mask in enumerate(masks) if mask]
    best: tuple[Score, list[int]] = ((0.0, -1), [])

    def search(at: int, chosen: list[int], forbidden: int) -> None:
        nonlocal best
        open_ones = [i for i in torn[at:] if not forbidden >> i & 1]
        if _score([candidates[i] for i in free + chosen + open_ones]) <= best[0]:
            return  # even all that is left brings no more
        if at == len(torn):
            best = (_score([candidates[i] for i in free + chosen]), list(chosen))
            return
        index = torn[at]
        if not forbidden >> index & 1:
            search(at + 1, [*chosen, index], forbidden | masks[index])
        search(at + 1, chosen, forbidden)

    search(0, [], 0)
    return [candidates[i] for i in sorted(free + best[1])]


def _score(chosen: Sequence[_Candidate]) -> Score:
    return round(_together(chosen, "expected"), 9), sum(not c.promised for c in chosen)


def _together(chosen: Sequence[_Candidate], end: str) -> float:
    """Combine the gain factors; those under one ceiling share what it allows.

    Ceilings that are facts (headroom.roof, headroom.problem) are distances of the whole time, so
    what stays below the nearer one counts as one gain under the farther one. Another cap (a ratio
    of two peaks) moves the ceiling itself, and its gain multiplies.
    """
    factors: dict[tuple[bool, float | None, str], list[float]] = {}
    for candidate in chosen:
        nested = candidate.nested and candidate.cap is not None
        key = (nested, candidate.cap, "" if nested else candidate.ceiling or candidate.id)
        factors.setdefault(key, []).append(float(getattr(candidate, end)))
    total = reached = 1.0
    for (nested, cap, _), found in sorted(factors.items(), key=lambda item: item[0][1] or inf):
        if nested and cap is not None:
            reached = _under(cap, [reached, *found])
        else:
            total *= prod(found) if cap is None else _under(cap, found)
    return total * reached


def _under(cap: float, factors: Sequence[float]) -> float:
    """Combine gains below one ceiling: each removes its part of the time above the ceiling.

    Of the time 1, 1 / cap is the ceiling's. A factor g alone removes 1 - 1/g of the rest; after
    others it finds only what they left, and removes the same part of that. One factor is itself,
    and none brings more than the cap.
    """
    moving = [factor for factor in factors if factor != 1]
    if len(moving) < 2:
        return min(cap, prod(moving))
    above = 1 - 1 / cap
    if above <= 0 or min(factors) <= 0:
        return min(1.0, prod(factors))
    left = prod(max(0.0, 1 - (1 - 1 / factor) / above) for factor in factors)
    return 1 / (1 / cap + above * left)


def _in_order(chosen: Sequence[str], edges: Iterable[Related]) -> tuple[str, ...]:
    """Put what enables another before it; the rank decides otherwise, and where they circle."""
    before: dict[str, set[str]] = {id: set() for id in chosen}
    for edge in edges:
        first, second = edge.between
        if edge.kind == "enables" and first in before and second in before:
            before[second].add(first)
    order: list[str] = []
    left = list(chosen)
    while left:
        ready = next((id for id in left if not before[id] - set(order)), left[0])
        order.append(ready)
        left.remove(ready)
    return tuple(order)
