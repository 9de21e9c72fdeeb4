"""The instruction table as one architecture and product see it."""

from __future__ import annotations

from dataclasses import field

from ..parsers.listing import Instruction
from ..parsers.record import dataclass
from .instructions import InstructionInfo, InstructionTable


@dataclass(frozen=True)
class ArchTable:
    """Look-up by instruction alone; rates are those of the product class, where it is known."""

    table: InstructionTable
    arch: str
    product_class: str | None = None
    _by_mnemonic: dict[str, InstructionInfo | None] = field(
        default_factory=dict, compare=False, repr=False
    )

    def info(self, instruction: Instruction) -> InstructionInfo | None:
        """Describe an instruction; None where the opcode is not known."""
        try:
            return self._by_mnemonic[instruction.mnemonic]
        except KeyError:
            found = self.table.info(instruction, self.arch, self.product_class)
            entries = self.table.entries.get(instruction.opcode, ())
            if not any(entry.operands for entry in entries):  # else operands have a say
                self._by_mnemonic[instruction.mnemonic] = found
            return found
