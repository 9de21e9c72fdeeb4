"""What one warp waits for, as facts: the largest part of the chain and the time that it takes."""

from __future__ import annotations

from .latency import Latency
from .mix import at_addresses
from .model import Fact, Missing, Source
from .warp_timeline import ISSUE

MOST_NAMED = 8  # instructions, in the source of a fact


def no_chain(because: str) -> list[Missing]:
    """Say why there is no chain; it names a cause and is asked for by nothing else."""
    names = ("chain.time_ms", "chain.cause", "chain.cause_ms", "chain.cause_share")
    return [Missing(name, because, applies=False) for name in names]


def latency_facts(chain: Latency | None, because: str) -> tuple[list[Fact], list[Missing]]:
    """Give `chain.*`; without a chain, `because` says why there is none."""
    part = next((p for p in chain.parts if p.cause != ISSUE), None) if chain is not None else None
    if chain is None or part is None:
        return [], no_chain(because)
    worst = sorted(part.addresses[:MOST_NAMED])
    where = Source(
        "emulated", f"{part.cause}, {at_addresses(worst).detail}" if worst else part.cause
    )
    text = "rounds of blocks x cycles of one warp / clock + launch"
    return [
        Fact("chain.time_ms", chain.time_ms, "ms", Source("emulated", text)),
        Fact("chain.cause", part.cause.replace(" ", "_"), "", where),
        Fact("chain.cause_ms", part.time_ms, "ms", where),
    ], []
