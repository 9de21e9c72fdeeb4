"""What the dependence analysis asks of the instruction table.

Every answer may be None, "not known": the stalls that it would decide are then left as they are.
"""

from __future__ import annotations

from typing import Protocol

from ..parsers.listing import Instruction


class Timing(Protocol):
    """Latencies and issue intervals of one architecture, in cycles of a sub-partition."""

    @property
    def scoreboard_set_cycles(self) -> int | None:
        """Least distance of an instruction that sets a scoreboard to one that waits for it."""

    def longest_cycles(self, producer: Instruction | None) -> int:
        """Largest distance that any consumer of its result needs; of any producer for None."""

    def is_known(self, instruction: Instruction) -> bool:
        """Tell whether the opcode stands in the table."""

    def is_fixed(self, instruction: Instruction) -> bool:
        """Tell whether its result is ready after a fixed number of cycles."""

    def pipe(self, instruction: Instruction) -> str | None:
        """Name the pipe that executes it."""

    def raw_cycles(self, producer: Instruction, consumer: Instruction) -> int | None:
        """Distance from a producer to a consumer that reads its result as an operand."""

    def guard_cycles(self, producer: Instruction) -> int | None:
        """Distance from a producer of a predicate to an instruction that it guards."""

    def overwrite_cycles(self, reader: Instruction, writer: Instruction) -> int | None:
        """Distance from an instruction to one that overwrites one of its operands."""

    def issue_interval_cycles(self, instruction: Instruction) -> int | None:
        """Distance to the next instruction on the same pipe."""

    def result_cycles(self, instruction: Instruction) -> int | None:
        """Time until the result of an instruction is there; of memory, an ordinary one."""
