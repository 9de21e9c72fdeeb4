"""A figure with its lowest and highest possible value."""

from __future__ import annotations

from collections.abc import Iterable

from ..parsers.record import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """What is known of a figure: it lies between `low` and `high`, most likely at `value`."""

    low: float
    value: float
    high: float

    def __add__(self, other: Span) -> Span:
        return Span(self.low + other.low, self.value + other.value, self.high + other.high)

    def times(self, factor: float) -> Span:
        """Scale all three by a factor that is not negative."""
        return Span(self.low * factor, self.value * factor, self.high * factor)


NOTHING = Span(0.0, 0.0, 0.0)


def total(spans: Iterable[Span]) -> Span:
    """Add up many; those of one block of code are one and the same, so each is added once."""
    low = value = high = 0.0
    last, times = NOTHING, 0
    for span in spans:
        if span is last:
            times += 1
            continue
        low, value, high = (
            low + times * last.low,
            value + times * last.value,
            high + times * last.high,
        )
        last, times = span, 1
    return Span(low + times * last.low, value + times * last.value, high + times * last.high)


def exactly(value: float) -> Span:
    """Give the span of a figure that is known."""
    return Span(value, value, value)
