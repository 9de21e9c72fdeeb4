"""What holds up the K-tile loop: loose stalls, chains, scoreboard waits, loads in flight."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from ..parsers.collector import collector_paused
from .dep_chain import Chain, chains
from .dep_sequence import once, ordinary_sequence
from .dep_stalls import Stall, StallRow, loose_stalls, stall_rows, stalls
from .dep_steps import Step, Steps
from .dep_timing import Timing
from .dep_waits import InFlight, Wait, loads_in_flight, staged_stores, waits
from .loop_roles import Roles
from .loop_values import Values
from .tile import TileLoop

BLOCK_BARRIER = "BAR"

__all__ = ["Chain", "Dependences", "InFlight", "Stall", "StallRow", "Wait", "dependences"]


class Dependences:
    """Dependences of one iteration of a loop, in cycles of one warp; each is found when asked for.

    Stalls, rows, waits and the cycles of an iteration are None where the listing has no control
    words.
    """

    def __init__(self, values: Values, tile: TileLoop, timing: Timing, roles: Roles) -> None:
        self._flow = values.flow
        self._tile = tile
        self._roles = roles
        self._steps = Steps(values.flow, values.accesses, timing)
        self._sequence = ordinary_sequence(values.loops, tile.loop, tile.weights)

    @cached_property
    def _positions(self) -> list[int]:
        return list(once(self._sequence))

    @cached_property
    def _walked(self) -> list[Step]:
        return [self._steps.at(position) for position in self._positions]

    @cached_property
    def has_control(self) -> bool:
        """Tell whether every instruction of the iteration has a control word."""
        instructions = self._flow.function.instructions
        return bool(self._positions) and all(instructions[p].control for p in self._positions)

    def _executions(self, position: int) -> int:
        times = self._tile.weights.times.get(self._flow.block_of[position])
        if times is None:
            return 0
        return times.low if times.expected is None else times.expected

    @cached_property
    def issue_cycles(self) -> int | None:
        """Add up the stalls of an ordinary iteration: its time when the warp never waits."""
        if not self.has_control:
            return None
        return sum(self._steps.at(p).stall * self._executions(p) for p in self._positions)

    @cached_property
    def stalls(self) -> tuple[Stall, ...] | None:
        """Give the stall that each fixed-latency instruction has and needs."""
        return self._worked_out(stalls)

    @cached_property
    def loose(self) -> tuple[Stall, ...] | None:
        """Give those of the stalls that could be shorter, without working out the others."""
        return self._worked_out(loose_stalls)

    def _worked_out(
        self, find: Callable[[Steps, list[int]], list[Stall]]
    ) -> tuple[Stall, ...] | None:
        if not self.has_control:
            return None
        blocks = [self._flow.blocks[block] for block in self._tile.loop.blocks]
        inside = [p for span in blocks for p in range(span.first, span.end)]
        with collector_paused():
            return tuple(find(self._steps, inside))

    @cached_property
    def loose_rows(self) -> tuple[StallRow, ...] | None:
        """Group the stalls that could be shorter by mnemonic and count."""
        return self._grouped(self.loose)

    @cached_property
    def rows(self) -> tuple[StallRow, ...] | None:
        """Group the stalls by mnemonic and count."""
        return self._grouped(self.stalls)

    def _grouped(self, found: tuple[Stall, ...] | None) -> tuple[StallRow, ...] | None:
        if found is None:
            return None
        return tuple(stall_rows(found, self._flow.function.instructions, self._executions))

    @cached_property
    def _chains(self) -> tuple[Chain, Chain]:
        with collector_paused():
            return chains(self._sequence, self._steps)

    @property
    def critical(self) -> Chain:
        """Give the longest chain inside an iteration."""
        return self._chains[0]

    @property
    def carried(self) -> Chain:
        """Give the longest chain that leads into the next iteration."""
        return self._chains[1]

    @cached_property
    def waits(self) -> tuple[Wait, ...] | None:
        """Give the scoreboard waits of an iteration."""
        return tuple(waits(self._walked)) if self.has_control else None

    @cached_property
    def in_flight(self) -> InFlight:
        """Give the most global loads of a warp that are under way at one time."""
        return loads_in_flight(self._walked, self._roles)

    @cached_property
    def staged_stores(self) -> tuple[int, ...]:
        """Give the addresses of stores to shared memory of what a global load brought."""
        return staged_stores(self._walked, self._roles)

    @property
    def stages_global_through_shared(self) -> bool:
        """Tell whether tiles go through registers into shared memory."""
        copies = any(self._roles.of(step.instruction).is_async_copy for step in self._walked)
        return bool(self.staged_stores) and not copies

    @property
    def tiles(self) -> int:
        """Count the tiles of one iteration: spans between barriers that fill shared memory.

        A compiler that unrolls the loop puts several tiles into one iteration. What stands behind
        the last barrier belongs to what stands before the first. At least 1.
        """
        stores, fills = set(self.staged_stores), [False]
        for step in self._walked:
            role = self._roles.of(step.instruction)
            if step.instruction.opcode == BLOCK_BARRIER:
                fills.append(False)
            elif role.is_async_copy or role.is_bulk_copy or step.instruction.address in stores:
                fills[-1] = True
        if len(fills) > 1:
            fills[0] |= fills.pop()
        return max(1, sum(fills))

    @property
    def stages_narrower(self) -> bool:
        """Tell whether a value is stored in smaller pieces than it was loaded in.

        The narrowest store of loaded values is compared with the widest load of the loop.
        """
        from .accesses import width_of  # brings numpy, which a scan does without

        walked, addresses = self._walked, set(self.staged_stores)
        roles = self._roles
        loads = [width_of(s.instruction) for s in walked if roles.of(s.instruction).is_load]
        stores = [width_of(s.instruction) for s in walked if s.instruction.address in addresses]
        return bool(stores and loads) and min(stores) < max(loads)

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
    return Dependences(values, tile, timing, roles)
