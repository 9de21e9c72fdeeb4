"""What the largest bound becomes by a remedy: `after.*`; see `remedy_gains` for what follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .bounds import Bound, Work
from .launch_work import LaunchWork
from .model import Fact, Missing, Source
from .remedies import remade
from .remedy_draft import Figures, unchanged
from .remedy_gains import REMEDY_NAMES

BoundsOf = Callable[[Work], Sequence[Bound]]


def remedy_facts(
    found: LaunchWork, bounds_of: BoundsOf, figures: Figures
) -> tuple[list[Fact], list[Missing]]:
    """Give `after.R.fraction` and `after.R.resource` of every remedy: largest bound over now's."""
    before = _largest(bounds_of(unchanged(found).finished()))
    if before is None or not found.scale_known:
        return [], []
    facts: list[Fact] = []
    changed = remade(found, figures)
    for name, work in changed.items():
        after = _largest(bounds_of(work))
        if after is None:
            continue
        share = min(1.0, after.time_ms.value / before.time_ms.value)
        source = Source("emulated", f"largest bound after / before; then {after.basis}")
        facts.append(Fact(f"after.{name}.fraction", share, "", source))
        facts.append(Fact(f"after.{name}.resource", after.resource, "", source))
    gaps = [
        Missing(f"after.{name}.{key}", "there is nothing to change", applies=False)
        for name in REMEDY_NAMES
        if name not in changed
        for key in ("fraction", "resource")
    ]
    return facts, gaps


def _largest(bounds: Sequence[Bound]) -> Bound | None:
    return max(bounds, key=lambda bound: bound.time_ms.value, default=None)
