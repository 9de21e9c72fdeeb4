"""Constants that the compiler stored in a cubin: literals and jump tables of constant bank 2."""

from __future__ import annotations

from ..parsers.elf import is_cubin, read_elf

COMPILER_BANK = 2  # bank 3 holds __constant__ variables, which the program may overwrite


def compiler_constants(data: bytes, kernel: str, path: str = "<cubin>") -> dict[int, bytes]:
    """Give the bytes of bank 2 for a kernel; empty where the cubin has none."""
    if not is_cubin(data):
        return {}
    section = read_elf(data, path).by_name.get(f".nv.constant{COMPILER_BANK}.{kernel}")
    return {COMPILER_BANK: bytes(section.data)} if section is not None else {}
