"""The container of device code: ELF header, sections and symbols of a cubin.

Nothing here knows attributes of kernels; see `cubin.py`. Every offset is checked against the size
of the data, so that a truncated or damaged file ends in one named error.
"""

from __future__ import annotations

import struct

from .errors import KneckError, Place
from .record import dataclass

MAGIC = b"\x7fELF"
MACHINE_CUDA = 190  # EM_CUDA
HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
NO_BITS = 8  # SHT_NOBITS: a size without contents
_RELOCATABLE = 1  # ET_REL
_MOST_SECTIONS = 1 << 20
_MOST_OVERLAP = 2  # sound files have none
_MOST_SHARED = 16  # names may end in the same bytes; together they are far shorter than the file


@dataclass(frozen=True, slots=True)
class Section:
    """One section; `data` is empty where the file holds none (shared memory)."""

    name: str
    kind: int
    flags: int
    size: int
    info: int
    data: memoryview


@dataclass(frozen=True, slots=True)
class Symbol:
    """One symbol of the symbol table."""

    name: str
    section: int
    value: int
    other: int
    is_function: bool


@dataclass(frozen=True, slots=True)
class Elf:
    """What a cubin holds, before anything is made of it."""

    flags: int
    abi_version: int
    is_relocatable: bool
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    by_name: dict[str, Section]


def is_elf(data: bytes) -> bool:
    """Tell an ELF file by its first bytes."""
    return data[:4] == MAGIC


def is_cubin(data: bytes) -> bool:
    """Tell device code from host code by the machine in the ELF header."""
    return is_elf(data) and len(data) >= 20 and data[18] | data[19] << 8 == MACHINE_CUDA


def read_elf(data: bytes | memoryview, path: str) -> Elf:
    """Read the header, all sections and the symbol table.

    Raises KneckError where the file ends before what its header promises.
    """
    try:
        return _read(memoryview(data), path)
    except (struct.error, IndexError, OverflowError) as error:
        raise _damaged(path, f"its tables do not fit into its {len(data)} bytes") from error


def _read(data: memoryview, path: str) -> Elf:
    header = HEADER.unpack_from(data, 0)
    ident, kind, machine, flags = header[0], header[1], header[2], header[7]
    offset, entry_size, count, name_index = header[6], header[11], header[12], header[13]
    if ident[:4] != MAGIC or ident[4] != 2 or machine != MACHINE_CUDA:
        raise _damaged(path, "no 64-bit ELF file for CUDA")
    if entry_size != SECTION.size or not offset:
        raise _damaged(path, "no section table")
    if count == 0:  # more sections than the header can count
        count = SECTION.unpack_from(data, offset)[5]
    if count > _MOST_SECTIONS:
        raise _damaged(path, f"{count} sections")
    rows = [SECTION.unpack_from(data, offset + i * entry_size) for i in range(count)]
    names = _Names(_contents(data, rows[name_index], path), _MOST_SHARED * len(data), path)
    sections = tuple(
        Section(names.at(row[0]), row[1], row[2], row[5], row[7], _contents(data, row, path))
        for row in rows
    )
    if sum(len(section.data) for section in sections) > _MOST_OVERLAP * len(data):
        raise _damaged(path, "its sections overlap")  # reading each would take time without end
    by_name = {section.name: section for section in reversed(sections)}  # the first one wins
    symbols = _symbols(sections, rows, names.left, path)
    return Elf(flags, ident[8], kind == _RELOCATABLE, sections, symbols, by_name)


def _symbols(
    sections: tuple[Section, ...], rows: list[tuple[int, ...]], longest: int, path: str
) -> tuple[Symbol, ...]:
    """Read the symbols; their names together are no longer than `longest`."""
    found = []
    for section, row in zip(sections, rows, strict=True):
        if section.name != ".symtab":
            continue
        names = _Names(sections[row[6]].data, longest, path)
        for at in range(0, len(section.data) - SYMBOL.size + 1, SYMBOL.size):
            start, info, other, index, value, _ = SYMBOL.unpack_from(section.data, at)
            found.append(Symbol(names.at(start), index, value, other, info & 15 == 2))
        longest = names.left
    return tuple(found)


def _contents(data: memoryview, row: tuple[int, ...], path: str) -> memoryview:
    kind, start, size = row[1], row[4], row[5]
    if kind in (0, NO_BITS):
        return data[:0]
    if start + size > len(data):
        raise _damaged(path, f"a section ends at byte {start + size} of {len(data)}")
    return data[start : start + size]


class _Names:
    """Reads names from a table of them, `left` bytes at most in all."""

    def __init__(self, table: memoryview, left: int, path: str) -> None:
        self.table = bytes(table)
        self.left = left
        self.path = path

    def at(self, start: int) -> str:
        end = self.table.find(b"\0", start)
        name = self.table[start : end if end >= 0 else len(self.table)]
        self.left -= len(name)
        if self.left < 0:
            raise _damaged(self.path, "its names overlap")
        return name.decode("utf-8", "replace")


def _damaged(path: str, why: str) -> KneckError:
    return KneckError(
        f"the cubin is damaged or cut off ({why})",
        Place(path),
        "build it again, or copy it again in binary mode",
    )
