"""What the dependence analysis asks of the instruction table.

Every answer may be None, "not known": the stalls that it would decide are then left as they are.
"""

from __future__ import annotations

from typing import Protocol

from ..parsers.listing import Instruction
from ..parsers.record import dataclass


@dataclass(frozen=True, slots=True)
class Traits:
    """The timing of one kind of instruction, in cycles of a sub-partition.

    `name` tells kinds apart. `is_fixed`: its result is ready after a fixed number of cycles.
    `interval` is the distance to the next instruction on the same pipe, `longest` the largest
    distance that a reader of its result can need, `result` the time until the result is there
    (of memory an ordinary one, for chains only).
    """

    name: str
    is_known: bool
    is_fixed: bool
    pipe: str | None
    interval: int | None
    longest: int
    result: int | None


class Timing(Protocol):
    """Latencies and issue intervals of one architecture."""

    @property
    def scoreboard_set_cycles(self) -> int | None:
        """Least distance of an instruction that sets a scoreboard to one that waits for it."""

    @property
    def reach(self) -> int:
        """Largest distance in the table: how far a dependence can reach."""

    def traits(self, instruction: Instruction) -> Traits:
        """Give the timing of an instruction."""

    def raw_cycles(self, producer: Traits, consumer: Traits) -> int | None:
        """Distance from a producer to a consumer that reads its result as an operand."""

    def guard_cycles(self, producer: Traits) -> int | None:
        """Distance from a producer of a predicate to an instruction that it guards."""

    def overwrite_cycles(self, reader: Traits, writer: Traits) -> int | None:
        """Distance from an instruction to one that overwrites one of its operands."""
