"""Small readings of operands and constants that the tracing of values rests on."""

from __future__ import annotations

import struct

from ..parsers.listing import Instruction, Operand
from .loop_linear import Linear, Symbol


def symbol(kind: str, name: int | str, detail: int) -> Linear:
    found: Symbol = (kind, name, detail)
    return Linear(0, ((found, 1),))


def constant_address(operand: Operand) -> tuple[int, int] | None:
    if operand.bank is None or operand.offset is None or operand.registers or operand.uniforms:
        return None
    return operand.bank, operand.offset


def sources_of(instruction: Instruction) -> list[Operand]:
    """Give the operands behind the result, predicates left out."""
    plain = [o for o in instruction.operands if o.kind not in ("predicate", "uniform_predicate")]
    return plain[1:]


def is_shift(amount: Linear, upper: Linear) -> bool:
    return amount.is_constant and 0 <= amount.constant < 32 and upper == Linear()


def packed_constant(instruction: Instruction) -> Linear | None:
    """Read `HFMA2.MMA R5, -RZ, RZ, 0, 5.96e-08`, the compiler's way to write a constant."""
    halves = [
        float(o.value)
        for o in instruction.operands
        if o.kind == "immediate" and (o.value is not None)
    ]
    named = [o for o in instruction.operands[1:] if o.registers or o.uniforms]
    if len(halves) != 2 or named:
        return None
    high, low = (struct.unpack("<H", struct.pack("<e", half))[0] for half in halves)
    return Linear(signed(high << 16 | low))


def signed(value: int) -> int:
    """Read a 32-bit pattern as a signed integer."""
    return value - (1 << 32) if value >= 1 << 31 else value
