"""A measured pair: is the strategy recommended for its base, and does its range hold the gain?"""

from __future__ import annotations

from collections.abc import Sequence

from ...facts.problem import parse_problem
from ...parsers.record import dataclass
from ..diagnosis import Diagnosis, Strategy
from ..knowledge import Setting
from .judge import half
from .load import TruthSet
from .schema import KernelEntry, PairEntry

UNPROVEN = ("contested", "refuted", "hypothesis")


@dataclass(frozen=True)
class PairRow:
    """One pair; gains in percent. `rank` is None where the strategy is not recommended.

    doubted: it has a conflict, or is marked as contested. basis: where the range comes from.
    is_evidence: the range was made with this outcome.
    """

    base: str
    variant: str
    strategy: str
    half: str
    gain: float
    rank: int | None
    first: tuple[str, ...]
    low: float | None
    high: float | None
    basis: str | None
    doubted: bool
    is_evidence: bool = False

    @property
    def inside(self) -> bool:
        """Tell whether the range holds the gain."""
        return self.low is not None and self.high is not None and self.low <= self.gain <= self.high

    @property
    def error(self) -> float | None:
        """Give |predicted / measured - 1| of the speed-up in the middle of the range."""
        if self.low is None or self.high is None:
            return None
        predicted = 1 + (self.low + self.high) / 200
        return abs(predicted / (1 + self.gain / 100) - 1)

    @property
    def holds(self) -> bool | None:
        """Tell whether a ceiling is one; None where the range promises something."""
        if self.basis != "ceiling" or self.high is None:
            return None
        return self.gain <= self.high

    def misleads(self, noise: float) -> bool:
        """Tell whether a change that made it slower stood first without any doubt."""
        return self.gain < -100 * noise and self.rank == 1 and not self.doubted


def measured_gain(pair: PairEntry, truth: TruthSet, setting: Setting) -> float:
    """Give the speed-up of a pair in percent, per operation (or byte) where sizes differ."""
    before, after = truth.measured[pair.base].time_ms, truth.measured[pair.variant].time_ms
    scale = 1.0
    if pair.other_size:
        scale = _work(truth.kernel(pair.variant), setting) / _work(truth.kernel(pair.base), setting)
    return 100 * (before * scale / after - 1)


def _work(entry: KernelEntry, setting: Setting) -> float:
    problem = parse_problem(entry.problem, setting.hardware.problems)
    return float(problem.flops or problem.bytes or 1.0)


def pair_row(
    pair: PairEntry, truth: TruthSet, diagnosis: Diagnosis, setting: Setting, first: int
) -> PairRow:
    """Hold what is recommended for the base against what the variant brought."""
    found: Sequence[Strategy] = diagnosis.strategies
    own = next((each for each in found if each.id == pair.strategy), None)
    return PairRow(
        base=pair.base,
        variant=pair.variant,
        strategy=pair.strategy,
        half=half(truth.kernel(pair.base).family),
        gain=measured_gain(pair, truth, setting),
        rank=own.rank if own is not None else None,
        first=tuple(each.id for each in found[:first]),
        low=own.gain.low if own is not None else None,
        high=own.gain.high if own is not None else None,
        basis=own.gain.basis if own is not None else None,
        doubted=own is not None and bool(own.conflicts or own.status in UNPROVEN),
        is_evidence=pair.is_evidence,
    )
