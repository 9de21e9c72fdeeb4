"""The instruction table as one architecture and product see it."""

from __future__ import annotations

from ..parsers.listing import Instruction
from ..parsers.record import dataclass
from .instructions import InstructionInfo, InstructionTable


@dataclass(frozen=True)
class ArchTable:
    """Look-up by instruction alone; rates are those of the product class, where it is known."""

    table: InstructionTable
    arch: str
    product_class: str | None = None

    def info(self, instruction: Instruction) -> InstructionInfo | None:
        """Describe an instruction; None where the opcode is not known."""
        return self.table.info(instruction, self.arch, self.product_class)
