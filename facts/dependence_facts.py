"""Stalls, chains and staging of the K-tile loop as facts."""

from __future__ import annotations

from .dependences import Dependences
from .mix import at_addresses
from .model import Fact, Missing
from .tile import TileLoop
from .tile_facts import NO_LOOP

NAMES = (
    "tile.cycles",
    "tile.critical_path_cycles",
    "tile.recurrence_cycles",
    "tile.stages_through_shared",
    "tile.loads_in_flight",
    "tile.stages_narrower",
)


def dependence_facts(
    found: Dependences | None, tile: TileLoop | None
) -> tuple[list[Fact], list[Missing]]:
    """Give what the dependences of the loop say; without a loop, all of it is missing."""
    if found is None or tile is None:
        return [], [Missing(name, NO_LOOP, applies=False) for name in NAMES]
    facts = [
        Fact(
            "tile.critical_path_cycles",
            found.critical.cycles,
            "cycles",
            at_addresses(found.critical.addresses),
        ),
        Fact(
            "tile.recurrence_cycles",
            found.carried.cycles,
            "cycles",
            at_addresses(found.carried.addresses),
        ),
        Fact(
            "tile.stages_through_shared",
            found.stages_global_through_shared,
            "",
            at_addresses(found.staged_stores),
        ),
        Fact(
            "tile.stages_narrower",
            found.stages_narrower,
            "",
            at_addresses(found.staged_stores),
        ),
        Fact(
            "tile.loads_in_flight",
            found.in_flight.loads,
            "loads",
            at_addresses([] if found.in_flight.address is None else [found.in_flight.address]),
        ),
    ]
    if found.rows is None or found.issue_cycles is None:
        return facts, [Missing("tile.cycles", "the listing has no encodings")]
    loop = at_addresses([tile.loop.first, tile.loop.last])
    facts.append(Fact("tile.cycles", found.issue_cycles, "cycles", loop))
    for opcode in sorted({row.opcode for row in found.rows}):
        rows = [row for row in found.rows if row.opcode == opcode]
        where = at_addresses([a for row in rows for a in row.reducible_addresses])
        cycles = sum(row.reducible_cycles for row in rows)
        facts.append(Fact(f"stalls.{opcode}.reducible_cycles", cycles, "cycles", where))
    return facts, []
