"""Stalls, chains and staging of the K-tile loop as facts."""

from __future__ import annotations

from collections.abc import Iterable

from .dependences import Chain, Dependences, StallRow
from .mix import at_addresses
from .model import EVERYTHING, Fact, Missing, Wanted
from .tile import TileLoop
from .tile_facts import NO_LOOP

NAMES = (
    "tile.cycles",
    "tile.critical_path_cycles",
    "tile.recurrence_cycles",
    "tile.stages_through_shared",
    "tile.loads_in_flight",
    "tile.stages_narrower",
    "tile.tiles",
)


def dependence_facts(
    found: Dependences | None, tile: TileLoop | None, wanted: Wanted = EVERYTHING
) -> tuple[list[Fact], list[Missing]]:
    """Give what the dependences of the loop say; without a loop, all of it is missing.

    What is not wanted is not worked out.
    """
    if found is None or tile is None:
        return [], [Missing(name, NO_LOOP, applies=False) for name in NAMES]
    facts = []
    if "tile.critical_path_cycles" in wanted:
        facts.append(_chain("tile.critical_path_cycles", found.critical))
    if "tile.recurrence_cycles" in wanted:
        facts.append(_chain("tile.recurrence_cycles", found.carried))
    if "tile.stages_through_shared" in wanted:
        staged = found.stages_global_through_shared
        at = at_addresses(found.staged_stores)
        facts.append(Fact("tile.stages_through_shared", staged, "", at))
    if "tile.stages_narrower" in wanted:
        at = at_addresses(found.staged_stores)
        facts.append(Fact("tile.stages_narrower", found.stages_narrower, "", at))
    if "tile.tiles" in wanted:
        loop = at_addresses([tile.loop.first, tile.loop.last])
        facts.append(Fact("tile.tiles", found.tiles, "", loop))
    if "tile.loads_in_flight" in wanted:
        most = found.in_flight
        at = at_addresses([] if most.address is None else [most.address])
        facts.append(Fact("tile.loads_in_flight", most.loads, "loads", at))
    if not found.has_control:
        return facts, [Missing("tile.cycles", "the listing has no encodings")]
    if "tile.cycles" in wanted and found.issue_cycles is not None:
        loop = at_addresses([tile.loop.first, tile.loop.last])
        facts.append(Fact("tile.cycles", found.issue_cycles, "cycles", loop))
    for opcode, rows in _by_opcode(found.rows or ()) if asks_for_stalls(wanted) else ():
        name = f"stalls.{opcode}.reducible_cycles"
        if name in wanted:
            where = at_addresses([a for row in rows for a in row.reducible_addresses])
            facts.append(Fact(name, sum(row.reducible_cycles for row in rows), "cycles", where))
    return facts, []


def asks_for_stalls(wanted: Wanted) -> bool:
    """Tell whether somebody asks for the stalls of an opcode by name, also where none is loose."""
    if not isinstance(wanted, frozenset):
        return "stalls" in wanted
    return any(name.startswith("stalls.") for name in wanted)


def _chain(name: str, chain: Chain) -> Fact:
    return Fact(name, chain.cycles, "cycles", at_addresses(chain.addresses))


def _by_opcode(rows: Iterable[StallRow]) -> list[tuple[str, list[StallRow]]]:
    found: dict[str, list[StallRow]] = {}
    for row in rows:
        found.setdefault(row.opcode, []).append(row)
    return sorted(found.items())
