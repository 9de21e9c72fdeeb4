"""Integer values as sums: a constant plus multiples of values that are not known more closely."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import NamedTuple

from ..parsers.record import dataclass

# What a sum is made of. "constant": bank and offset of the constant memory; "special": a special
# register; "entry": a register that the function never set; "loop": a register at the top of a
# loop (block) that changes in it; "merge": one where several paths meet; "result": of an
# instruction (position) that is not linear in its operands; "product": of two sums (by number).
Symbol = tuple[str, int | str, int]


class Linear(NamedTuple):
    """constant + sum of factor * symbol, with 32-bit overflow left out of account."""

    constant: int = 0
    terms: tuple[tuple[Symbol, int], ...] = ()

    @property
    def is_constant(self) -> bool:
        """Tell whether nothing but the constant is in it."""
        return not self.terms

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """Give self + factor * other."""
        if not other.terms:
            return Linear(self.constant + factor * other.constant, self.terms)
        merged = dict(self.terms)
        for symbol, count in other.terms:
            merged[symbol] = merged.get(symbol, 0) + factor * count
        terms = tuple(sorted((s, n) for s, n in merged.items() if n))
        return Linear(self.constant + factor * other.constant, terms)

    def times(self, factor: int) -> Linear:
        """Give factor * self."""
        return Linear().plus(self, factor)


def sum_of(parts: Iterable[Linear]) -> Linear:
    """Add up several sums."""
    total = Linear()
    for part in parts:
        total = total.plus(part)
    return total


@dataclass(frozen=True, slots=True)
class Interval:
    """Integers from low to high, both included."""

    low: int
    high: int

    @property
    def is_exact(self) -> bool:
        """Tell whether it is one number."""
        return self.low == self.high

    def joined(self, other: Interval) -> Interval:
        """Give the smallest interval around both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def times(self, factor: int) -> Interval:
        """Give the interval of factor * x."""
        ends = (self.low * factor, self.high * factor)
        return Interval(min(ends), max(ends))

    def plus(self, other: Interval) -> Interval:
        """Give the interval of x + y."""
        return Interval(self.low + other.low, self.high + other.high)


@dataclass(frozen=True)
class Known:
    """What is known beside the code: launch and problem dimensions.

    `constants` maps (bank, byte offset) to the 32-bit value there: block and grid sizes, kernel
    parameters. `specials` gives the range of a special register over the threads ("SR_TID.X").
    """

    constants: Mapping[tuple[int, int], int] = field(default_factory=dict)
    specials: Mapping[str, Interval] = field(default_factory=dict)

    def of_symbol(self, symbol: Symbol) -> Interval | None:
        """Give the range of a constant or special register, None where it is not known."""
        kind, name, detail = symbol
        if kind == "constant":
            found = self.constants.get((int(name), detail))
            return None if found is None else Interval(found, found)
        if kind == "special":
            return self.specials.get(str(name))
        return None


def describe(value: Linear) -> str:
    """Write a sum as text, for reasons.

    >>> describe(Linear(-16, ((("constant", 0, 0x168), 1),)))
    'c[0x0][0x168] - 16'
    """
    parts = []
    for symbol, factor in value.terms:
        times = f"{abs(factor)} * " if abs(factor) > 1 else ""
        parts.append(f"{'-' if factor < 0 else '+'} {times}{_name(symbol)}")
    if value.constant or not parts:
        parts.append(f"{'-' if value.constant < 0 else '+'} {abs(value.constant)}")
    return " ".join(parts).removeprefix("+ ")


def _name(symbol: Symbol) -> str:
    kind, name, detail = symbol
    if kind == "constant":
        return f"c[{name:#x}][{detail:#x}]"
    return str(name) if kind == "special" else f"a value of {kind} {name}"
