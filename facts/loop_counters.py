"""Registers that an instruction sequence defines or moves on by a constant."""

from __future__ import annotations

from collections.abc import Iterable

from ..parsers.listing import Instruction

Register = tuple[str, int]  # ("R" | "UR", number)

_ADDITIONS = frozenset({"IADD3", "IADD", "VIADD", "UIADD3", "UVIADD"})


def defined_registers(instructions: Iterable[Instruction]) -> set[Register]:
    """Give the registers named as first operand; of a wider result only the first one."""
    found: set[Register] = set()
    for instruction in instructions:
        for operand in instruction.operands[:1]:
            if operand.kind in ("register", "uniform"):
                found |= _registers(operand.registers, operand.uniforms)
    return found


def advancing_registers(instructions: Iterable[Instruction]) -> set[Register]:
    """Give the registers that an addition of a constant changes in place (`R4 = R4 + 0x10`)."""
    found: set[Register] = set()
    for instruction in instructions:
        if instruction.opcode not in _ADDITIONS or not instruction.operands:
            continue
        target, *sources = instruction.operands
        if any(source.kind == "immediate" for source in sources):
            before = {r for s in sources for r in _registers(s.registers, s.uniforms)}
            found |= _registers(target.registers, target.uniforms) & before
    return found


def _registers(general: Iterable[int], uniform: Iterable[int]) -> set[Register]:
    return {("R", number) for number in general} | {("UR", number) for number in uniform}
