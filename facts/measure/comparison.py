"""`kneck compare`: two diagnoses beside each other, the speed-up with its noise, the strategy.

Works on the JSON of `kneck.diagnosis/1`, so that a saved diagnosis and a fresh one compare alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import hypot
from typing import Any

from ...parsers.expression import Expression, evaluate
from ...parsers.record import dataclass
from .flips import verdict

Value = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Change:
    """One fact that differs; None where a side does not know it."""

    name: str
    before: Value | None
    after: Value | None
    unit: str

    @property
    def ratio(self) -> float | None:
        """After over before, for numbers other than 0."""
        numbers = (self.before, self.after)
        if any(isinstance(n, (bool, str)) or n is None for n in numbers) or not self.before:
            return None
        return float(self.after) / float(self.before)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """Time before over time after, its noise, and whether it can be told from none."""

    before_ms: float
    after_ms: float
    factor: float
    noise_fraction: float | None  # None where no spread is known
    measurable: bool | None

    @property
    def gain_percent(self) -> float:
        """The contract's gain: 100 (before / after - 1)."""
        return 100 * (self.factor - 1)

    def __str__(self) -> str:
        change = f"{self.before_ms:.4g} ms -> {self.after_ms:.4g} ms, {self.gain_percent:+.1f} %"
        if self.measurable is None:
            return f"{change}; how much of it is noise is not known (times without a spread)"
        noise = f"noise +-{100 * (self.noise_fraction or 0):.1f} %"
        return (
            f"{change}, {noise}"
            if self.measurable
            else f"no measurable difference ({change}, {noise})"
        )


@dataclass(frozen=True, slots=True)
class Signature:
    """What a strategy leaves in the facts; conditions over `before.NAME` and `after.NAME`."""

    strategy: str
    conditions: tuple[Expression, ...]


@dataclass(frozen=True)
class Comparison:
    """Everything that differs between two diagnoses."""

    verdicts: tuple[str, str]
    changes: tuple[Change, ...]
    speed_up: SpeedUp | None
    strategies: tuple[str, ...]

    def is_regression(self, fraction: float) -> bool:
        """Tell whether it became slower by more than this share, and by more than the noise."""
        found = self.speed_up
        if found is None or found.measurable is False:
            return False
        return found.after_ms > found.before_ms * (1 + fraction)


def compare(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    signatures: Sequence[Signature],
    change_fraction: float,
) -> Comparison:
    """Compare two diagnoses as JSON gives them; smaller changes of a number are left out."""
    left, right = facts_of(before), facts_of(after)
    return Comparison(
        verdicts=(verdict(before), verdict(after)),
        changes=tuple(changes(left, right, change_fraction)),
        speed_up=speed_up(left, right),
        strategies=tuple(matching(left, right, signatures)),
    )


def facts_of(diagnosis: Mapping[str, Any]) -> dict[str, tuple[Value, str]]:
    """Give name -> (value, unit) of a diagnosis."""
    return {
        fact["name"]: (fact["value"], fact.get("unit") or "")
        for fact in diagnosis.get("facts", ())
        if fact.get("value") is not None
    }


COUNTED = "mix."  # a listing is read whole: an opcode that it does not have is there 0 times


def _absent(name: str, others: Mapping[str, tuple[Value, str]]) -> Value | None:
    """Give the value of a fact that one side has not: 0 for counts where the rest was counted."""
    return 0 if name.startswith(COUNTED) and any(n.startswith(COUNTED) for n in others) else None


# Figures of the knowledge base, not of the kernel, and what only says how it was measured.
LEFT_OUT = ("arch.", "device.", "method.", "measurement.", "inferred.")


def changes(
    before: Mapping[str, tuple[Value, str]],
    after: Mapping[str, tuple[Value, str]],
    fraction: float,
) -> list[Change]:
    """List the facts that differ, by name."""
    found = []
    for name in sorted({*before, *after}):
        if name.startswith(LEFT_OUT):
            continue
        left, unit = before.get(name, (_absent(name, before), ""))
        right, unit = after.get(name, (_absent(name, after), unit))
        if left != right and not _close(left, right, fraction):
            found.append(Change(name, left, right, unit))
    return found


def _close(left: Value | None, right: Value | None, fraction: float) -> bool:
    if any(isinstance(value, (bool, str)) or value is None for value in (left, right)):
        return False
    a, b = float(left), float(right)  # type: ignore[arg-type]
    return abs(a - b) < fraction * max(abs(a), abs(b))


def speed_up(
    before: Mapping[str, tuple[Value, str]], after: Mapping[str, tuple[Value, str]]
) -> SpeedUp | None:
    """Compare the two times; None where one is missing.

    The noise of the ratio is the root of the sum of the squared half widths of the two medians'
    confidence intervals.
    """
    times = [_number(side, "baseline.time_ms") for side in (before, after)]
    if times[0] is None or times[1] is None or not times[1]:
        return None
    widths = [_number(side, "measurement.interval_fraction") for side in (before, after)]
    factor = times[0] / times[1]
    if widths[0] is None or widths[1] is None:
        return SpeedUp(times[0], times[1], factor, None, None)
    noise = hypot(*(width for width in widths if width is not None))
    return SpeedUp(times[0], times[1], factor, noise, abs(factor - 1) > noise)


def _number(side: Mapping[str, tuple[Value, str]], name: str) -> float | None:
    value = side.get(name, (None, ""))[0]
    return None if value is None or isinstance(value, (bool, str)) else float(value)


def matching(
    before: Mapping[str, tuple[Value, str]],
    after: Mapping[str, tuple[Value, str]],
    signatures: Iterable[Signature],
) -> list[str]:
    """Name the strategies whose traces the change shows; a condition that is unknown is no trace.

    An opcode that a known mix does not list occurs 0 times.
    """

    def lookup(name: str) -> Value | None:
        side, _, fact = name.partition(".")
        facts = before if side == "before" else after
        if fact in facts:
            return facts[fact][0]
        counted = fact.startswith("mix.") and any(known.startswith("mix.") for known in facts)
        return 0 if counted else None

    return [
        signature.strategy
        for signature in signatures
        if all(evaluate(condition, lookup) is True for condition in signature.conditions)
    ]
