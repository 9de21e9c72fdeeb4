"""What holds up the K-tile loop: loose stalls, chains, scoreboard waits, loads in flight."""

from __future__ import annotations

from collections.abc import Sequence

from ..parsers.collector import collector_paused
from ..parsers.record import dataclass
from .accesses import width_of
from .dep_chain import Chain, chains
from .dep_sequence import once, ordinary_sequence
from .dep_stalls import Stall, StallRow, stall_rows, stalls
from .dep_steps import Step, Steps
from .dep_timing import Timing
from .dep_waits import InFlight, Wait, loads_in_flight, staged_stores, waits
from .loop_roles import Roles
from .loop_values import Values
from .loops import Loops
from .tile import TileLoop

__all__ = ["Chain", "Dependences", "InFlight", "Stall", "StallRow", "Wait", "dependences"]


@dataclass(frozen=True, slots=True)
class Dependences:
    """Dependences of one iteration of a loop, in cycles of one warp.

    `issue_cycles` is the sum of the stall counts of an ordinary iteration: the time a warp needs
    when it never waits. It and the stalls are None where the listing has no control words.
    """

    issue_cycles: int | None
    stalls: tuple[Stall, ...] | None
    rows: tuple[StallRow, ...] | None
    carried: Chain
    critical: Chain
    waits: tuple[Wait, ...] | None
    in_flight: InFlight
    staged_stores: tuple[int, ...]
    stages_global_through_shared: bool
    stages_narrower: bool  # a value is stored in smaller pieces than it was loaded in

    def reducible_cycles(self, opcode: str) -> int | None:
        """Give the cycles per iteration that could go on all instructions of an opcode."""
        if self.rows is None:
            return None
        return sum(row.reducible_cycles for row in self.rows if row.opcode == opcode)

    def largest_slack(self, opcode: str) -> int | None:
        """Give the most cycles that one instruction of an opcode waits for nothing."""
        if self.rows is None:
            return None
        return max((row.largest_slack for row in self.rows if row.opcode == opcode), default=0)


def dependences(values: Values, tile: TileLoop, timing: Timing, roles: Roles) -> Dependences:
    """Analyse the chosen loop; `values` are those that it was chosen with."""
    with collector_paused():
        return _dependences(values, tile, timing, roles)


def _dependences(values: Values, tile: TileLoop, timing: Timing, roles: Roles) -> Dependences:
    loops, flow = values.loops, values.flow
    instructions = flow.function.instructions
    steps = Steps(flow, values.accesses, timing)
    sequence = ordinary_sequence(loops, tile.loop, tile.weights)
    positions = list(once(sequence))
    walked = [steps.at(position) for position in positions]
    has_control = bool(walked) and all(step.instruction.control for step in walked)

    def executions(position: int) -> int:
        times = tile.weights.times.get(flow.block_of[position])
        if times is None:
            return 0
        return times.low if times.expected is None else times.expected

    inside = [p for block in tile.loop.blocks for p in _positions(loops, block)]
    found = tuple(stalls(steps, inside)) if has_control else None
    staged = staged_stores(walked, roles)
    copies = any(roles.of(step.instruction).is_async_copy for step in walked)
    critical, carried = chains(sequence, steps)
    cycles = sum(steps.at(p).stall * executions(p) for p in positions)
    return Dependences(
        issue_cycles=cycles if has_control else None,
        stalls=found,
        rows=None if found is None else tuple(stall_rows(found, instructions, executions)),
        carried=carried,
        critical=critical,
        waits=tuple(waits(walked)) if has_control else None,
        in_flight=loads_in_flight(walked, roles),
        staged_stores=staged,
        stages_global_through_shared=bool(staged) and not copies,
        stages_narrower=_narrower(walked, staged, roles),
    )


def _narrower(walked: Sequence[Step], staged: Sequence[int], roles: Roles) -> bool:
    """Compare the narrowest store of loaded values with the widest load of the loop."""
    loads = [width_of(step.instruction) for step in walked if roles.of(step.instruction).is_load]
    addresses = set(staged)
    stores = [width_of(s.instruction) for s in walked if s.instruction.address in addresses]
    return bool(stores and loads) and min(stores) < max(loads)


def _positions(loops: Loops, block: int) -> range:
    span = loops.flow.blocks[block]
    return range(span.first, span.end)
