"""Facts from counters, and how they stand beside facts inferred from SASS.

A counter overrules what kneck inferred. Both are kept: the inferred value moves to
`inferred.<name>`, and a difference above the given fraction is a disagreement to be shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ...parsers.errors import Place
from ...parsers.expression import Expression, evaluate
from ...parsers.record import dataclass
from ..model import Fact, FactBase, Missing, Source
from .counters import LaunchCounters

INFERRED = "inferred."


@dataclass(frozen=True, slots=True)
class CounterFact:
    """One fact that counters support; `formulas` in order of preference."""

    name: str
    unit: str
    meaning: str
    formulas: tuple[Expression, ...]
    overrules: bool = False


@dataclass(frozen=True)
class CounterTable:
    """Everything in `kb/ncu_metrics.yaml`; `stall_reasons` maps each spelling to its reason."""

    facts: tuple[CounterFact, ...]
    labels: Mapping[str, str]
    stall_reasons: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A fact on which counter and inference differ by more than the method accepts."""

    name: str
    inferred: float
    counted: float
    unit: str
    difference_fraction: float

    def __str__(self) -> str:
        counted = f"{self.counted:g} {self.unit}".rstrip()
        apart = f"{self.difference_fraction:.0%} apart"
        return f"{self.name}: inferred {self.inferred:g}, counted {counted} ({apart})"


@dataclass(frozen=True)
class Merged:
    """The facts in force, and where the two views disagree (largest difference first)."""

    facts: FactBase
    disagreements: tuple[Disagreement, ...]


def counter_facts(
    launch: LaunchCounters, table: CounterTable, path: str
) -> tuple[list[Fact], list[Missing]]:
    """Give every fact that this launch's counters support, and those that they do not."""
    facts: list[Fact] = []
    missing: list[Missing] = []
    for entry in table.facts:
        fact = _fact(launch, entry, path)
        if fact is None:
            metrics = sorted({name for formula in entry.formulas for name in formula.names})
            because = f"{path} has none of {', '.join(metrics[:3])}"
            missing.append(Missing(entry.name, because))
        else:
            facts.append(fact)
    facts += _executed(launch, path)
    return facts, missing


def _fact(launch: LaunchCounters, entry: CounterFact, path: str) -> Fact | None:
    for formula in entry.formulas:
        value = evaluate(formula, launch.metrics.get)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            whole = isinstance(value, float) and value.is_integer() and entry.unit not in ("", "ms")
            detail = f"{_where(launch, path)}: {formula.text}"
            return Fact(
                entry.name, int(value) if whole else value, entry.unit, Source("counter", detail)
            )
    return None


def _executed(launch: LaunchCounters, path: str) -> Iterator[Fact]:
    """Executed warp instructions by opcode, as `mix.<opcode>.executed`."""
    for opcode, count in sorted(launch.opcodes.items()):
        source = Source("counter", f"{_where(launch, path)}: executed per opcode")
        yield Fact(f"mix.{opcode}.executed", count, "instructions", source)


def _where(launch: LaunchCounters, path: str) -> str:
    place = launch.place if launch.place.line else Place(path)
    return f"{place}, launch {launch.number}"


def stall_samples(launch: LaunchCounters, table: CounterTable) -> list[tuple[int, str, str, int]]:
    """Give (offset, SASS, reason, samples) of every instruction that warps waited at, most first.

    Reasons carry kneck's names whichever page they came from.
    """
    found = [
        (row.offset, row.sass, table.stall_reasons.get(reason, reason), count)
        for row in launch.rows
        for reason, count in row.stalls.items()
    ]
    return sorted(found, key=lambda entry: (-entry[3], entry[0], entry[2]))


def merge(
    base: FactBase, counted: Sequence[Fact], threshold: float, missing: Iterable[Missing] = ()
) -> Merged:
    """Lay counters over a fact base.

    A counted fact replaces an inferred one of its name, which stays as `inferred.<name>`. Facts
    that the user gave (options, what-if) are not replaced: they say what shall hold. `threshold`
    is the relative difference, against the counter, from which two values disagree.
    """
    facts: list[Fact] = []
    disagreements: list[Disagreement] = []
    for fact in counted:
        known = base.facts.get(fact.name)
        if known is None or known.source.kind == "counter":
            facts.append(fact)
            continue
        found = _difference(known, fact, threshold)
        if found is not None:
            disagreements.append(found)
        if known.source.kind in ("option", "what-if"):
            facts.append(replace(fact, name=f"counted.{fact.name}"))
            continue
        facts += [fact, replace(known, name=INFERRED + known.name)]
    disagreements.sort(key=lambda entry: (-entry.difference_fraction, entry.name))
    gaps = [gap for gap in missing if gap.name not in base.facts]
    return Merged(base.with_facts(facts, gaps), tuple(disagreements))


def _difference(inferred: Fact, counted: Fact, threshold: float) -> Disagreement | None:
    values = (inferred.value, counted.value)
    if any(isinstance(value, (bool, str)) for value in values):
        return None
    left, right = float(inferred.value), float(counted.value)
    if left == right:
        return None
    size = abs(left - right) / abs(right) if right else float("inf")
    if size <= threshold:
        return None
    return Disagreement(counted.name, left, right, counted.unit, size)
