"""A cubin cut down to some of its functions, so that a disassembler need not load the others.

nvdisasm takes time and memory for every section that it opens, also for functions that it is not
asked to print: 0.4 s and 100 MB for one of 19 MB. What is left out keeps its place in the tables of
sections and symbols, without contents, so that the numbers of both still hold.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from .elf import HEADER, NO_BITS, SECTION, SYMBOL, Elf
from .generations import noted_encodings
from .sass_headers import INSTRUCTION_BYTES

CODE = ".text."
OPCODE_MASK = 0xFFF  # of the first word of an instruction
_OF_FUNCTION = re.compile(r"\.(?:nv\.(?:info|constant\d+|capmerc\.text|merc\.[\w.]+?))\.(.+)", re.S)
_NULL, _SYMTAB, _RELA, _REL = 0, 2, 4, 9
_LEFT_OUT = (".debug_", ".nv_debug")  # of the whole file, and large
_ALIGNMENT = 16


def codes_of(elf: Elf) -> dict[str, memoryview]:
    """Give the code of each function by its name; nothing where two have one name."""
    found = [section for section in elf.sections if section.name.startswith(CODE)]
    codes = {section.name.removeprefix(CODE): section.data for section in found}
    return codes if len(codes) == len(found) else {}


def has_debugging(elf: Elf) -> bool:
    """Tell whether it carries lines or variables of its source, often most of a cubin."""
    return any(section.name.startswith(_LEFT_OUT) for section in elf.sections)


def is_noted(code: memoryview) -> bool:
    """Tell whether an instruction is among those that the disassembler notes targets on."""
    words = code[: len(code) // INSTRUCTION_BYTES * INSTRUCTION_BYTES].cast("H")
    firsts = set(words[:: INSTRUCTION_BYTES // words.itemsize])
    return not noted_encodings().isdisjoint(word & OPCODE_MASK for word in firsts)


def carved(data: memoryview, elf: Elf, names: Collection[str]) -> bytes:
    """Give a cubin with these functions only; `elf` is what `read_elf` gave for the data."""
    header = list(HEADER.unpack_from(data, 0))
    rows = [
        list(SECTION.unpack_from(data, header[6] + index * SECTION.size))
        for index in range(len(elf.sections))
    ]
    wanted = set(names)
    dropped = set()
    for index, section in enumerate(elf.sections):
        if section.name.startswith(CODE):
            if section.name.removeprefix(CODE) not in wanted:
                dropped.add(index)
        elif section.name.startswith(_LEFT_OUT):
            dropped.add(index)
        else:
            found = _OF_FUNCTION.fullmatch(section.name)
            if found is not None and CODE + found[1] in elf.by_name and found[1] not in wanted:
                dropped.add(index)
    dropped |= {
        index for index, row in enumerate(rows) if row[1] in (_RELA, _REL) and row[7] in dropped
    }
    out = bytearray(HEADER.size)
    for index, (row, section) in enumerate(zip(rows, elf.sections, strict=True)):
        out += bytes(-len(out) % _ALIGNMENT)
        row[4] = len(out)
        if index in dropped:
            row[5] = 0
            if row[1] == _RELA:
                row[1] = _NULL
        elif row[1] == _SYMTAB:
            out += _without_places(section.data, dropped)
        elif row[1] not in (_NULL, NO_BITS):
            out += section.data
    out += bytes(-len(out) % _ALIGNMENT)
    header[5], header[6], header[10] = 0, len(out), 0  # no program headers; sections at the end
    for row in rows:
        out += SECTION.pack(*row)
    HEADER.pack_into(out, 0, *header)
    return bytes(out)


def _without_places(symbols: memoryview, dropped: Collection[int]) -> bytearray:
    """Let symbols of sections that are left out have no place and no size."""
    table = bytearray(symbols)
    for at in range(0, len(table) - SYMBOL.size + 1, SYMBOL.size):
        name, info, other, section, _, _ = SYMBOL.unpack_from(table, at)
        if section in dropped:
            SYMBOL.pack_into(table, at, name, info, other, section, 0, 0)
    return table
