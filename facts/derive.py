"""Derived facts: pure functions with declared inputs, run in the order of their dependences.

Declaring inputs gives three things at once: provenance (each derived fact names its inputs),
honesty (a missing input makes the outputs missing, by name) and what-if (a pinned fact is kept
and everything that depends on it is computed again).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite

from ..parsers.record import dataclass
from .model import Fact, FactBase, Missing, Source, Value

Outputs = Mapping[str, tuple[Value | None, str, str]]  # name -> (value, unit, formula in words)
Compute = Callable[[Mapping[str, Value]], Outputs]


@dataclass(frozen=True, slots=True)
class Derivation:
    """One computation: all `inputs` must be present, `optional` ones are passed where they are.

    `compute` gets name -> value and returns name -> (value, unit, formula); a value of None says
    that the inputs do not determine it. Every name in `outputs` that it leaves out is missing.
    """

    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    compute: Compute
    optional: tuple[str, ...] = ()


def derive(base: FactBase, derivations: Sequence[Derivation]) -> FactBase:
    """Add what follows from the base; a fact that is present already is kept as it is.

    Raises ValueError where two derivations depend on each other.
    """
    facts, missing = dict(base.facts), dict(base.missing)
    steps = derivations if isinstance(derivations, Ordered) else in_order(derivations)
    for step in steps:
        wanted = [name for name in step.outputs if name not in facts]
        if not wanted:
            continue
        gaps = tuple(name for name in step.inputs if name not in facts)
        if gaps:
            missing.update((name, _without(name, gaps, missing)) for name in wanted)
            continue
        used = [*step.inputs, *(name for name in step.optional if name in facts)]
        results = _finite(step, {name: facts[name].value for name in used})
        absent = tuple(name for name in step.optional if name not in facts)
        for name in wanted:
            value, unit, formula = results.get(name, (None, "", "not determined by its inputs"))
            if value is None:
                could_help = any(n not in missing or missing[n].applies for n in absent)
                missing[name] = Missing(name, formula, absent, could_help)
            else:
                source = Source("derived", formula)
                facts[name] = Fact(name, value, unit, source, tuple(used))
                missing.pop(name, None)
        for name, (value, unit, formula) in results.items():
            if value is not None and name not in step.outputs and name not in facts:
                facts[name] = Fact(name, value, unit, Source("derived", formula), tuple(used))
    return FactBase(facts, missing)


def _finite(step: Derivation, values: Mapping[str, Value]) -> Outputs:
    """Compute; what divides by zero or leaves the range of numbers has no value.

    Inputs pinned by hand need not fit together, so a computation cannot rule that out.
    """
    try:
        results = step.compute(values)
    except (ZeroDivisionError, OverflowError) as error:
        return {
            name: (None, "", f"its inputs have no such result: {error}") for name in step.outputs
        }
    return {
        name: (None, unit, f"{text}: out of range") if _is_infinite(value) else (value, unit, text)
        for name, (value, unit, text) in results.items()
    }


def _is_infinite(value: Value | None) -> bool:
    return isinstance(value, float) and not isfinite(value)


def _without(name: str, gaps: tuple[str, ...], missing: Mapping[str, Missing]) -> Missing:
    """What needs something that does not apply does not apply either."""
    for gap in gaps:
        known = missing.get(gap)
        if known is not None and not known.applies:
            return Missing(name, known.because, gaps, False)
    return Missing(name, f"needs {', '.join(gaps)}", gaps)


class Ordered(tuple[Derivation, ...]):
    """Derivations of which producers come before consumers."""


def in_order(derivations: Sequence[Derivation]) -> Ordered:
    """Sort so that producers come before consumers; ties keep the given order."""
    producers: dict[str, list[int]] = {}
    for position, step in enumerate(derivations):
        for name in step.outputs:
            producers.setdefault(name, []).append(position)
    order: list[int] = []
    state: dict[int, bool] = {}

    def visit(position: int) -> None:
        if position in state:
            if not state[position]:
                raise ValueError(f"derivations form a cycle at {derivations[position].outputs}")
            return
        state[position] = False
        step = derivations[position]
        for name in (*step.inputs, *step.optional):
            for producer in producers.get(name, ()):
                if producer != position:
                    visit(producer)
        state[position] = True
        order.append(position)

    for position in range(len(derivations)):
        visit(position)
    return Ordered(derivations[position] for position in order)


def consequences(names: Iterable[str], derivations: Sequence[Derivation]) -> set[str]:
    """Name every fact that depends, directly or not, on one of these."""
    reached = set(names)
    grown = True
    while grown:
        grown = False
        for step in derivations:
            if reached & {*step.inputs, *step.optional} and not reached >= set(step.outputs):
                reached |= set(step.outputs)
                grown = True
    return reached
