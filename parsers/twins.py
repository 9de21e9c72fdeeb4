"""Functions that are the same but for their names: templates that several sources instantiate.

Whoever knows one of them knows the other: a quarter of the code of one public library, a seventh
of others.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import replace

from .carve import CODE, is_noted
from .elf import Elf, Section, Symbol
from .listing import ResourceRecord

_ENTRIES = {4: struct.Struct("<QIIq"), 9: struct.Struct("<QII")}  # SHT_RELA, SHT_REL


class Fingerprints:
    """Tells what the functions of one cubin share with others of which the same is read."""

    def __init__(self, elf: Elf) -> None:
        self.elf = elf
        self._index = {
            section.name.removeprefix(CODE): index
            for index, section in enumerate(elf.sections)
            if section.name.startswith(CODE)
        }
        self._symbols: dict[int, list[Symbol]] = {}
        for symbol in elf.symbols:
            self._symbols.setdefault(symbol.section, []).append(symbol)
        self._relocations: dict[int, list[Section]] = {}
        for section in elf.sections:
            if section.kind in _ENTRIES:
                self._relocations.setdefault(section.info, []).append(section)

    def of(self, record: ResourceRecord, code: memoryview) -> bytes | None:
        """Give what two functions share when the same text and resources are read of both.

        `code` are the instructions. These, what the linker puts into them, the names of places
        inside of them and all that the record states are the same then, but not the names of the
        function and its file. None where the text depends on more: targets of indirect branches
        come from other sections.
        """
        index = self._index.get(record.name)
        if index is None or is_noted(code):
            return None
        stated = replace(record, name="", path="", line=0)
        found = hashlib.sha256(repr((stated, self.elf.abi_version, self.elf.flags)).encode())
        numbers: dict[str | int | None, int] = {}
        for entry in (*self._places(record.name, index), *self._put_in(record.name, index)):
            name, *rest = entry
            if name not in numbers:
                numbers[name] = len(numbers)
                text = repr(name).encode("utf-8", "surrogatepass")
                found.update(b"%d:%s" % (len(text), text))
            found.update(repr((numbers[name], rest)).encode())
        found.update(code)
        return found.digest()

    def _places(self, function: str, index: int) -> Iterator[tuple[str | int | None, ...]]:
        """Give the symbols inside of a function: helper routines keep their names there."""
        for symbol in self._symbols.get(index, ()):
            name = None if symbol.name == function else symbol.name.replace(function, "\0")
            yield name, symbol.value, symbol.other, symbol.is_function

    def _put_in(self, function: str, index: int) -> Iterator[tuple[str | int | None, ...]]:
        """Give where an address is put in, and of what; the function itself is None."""
        symbols = self.elf.symbols
        for section in self._relocations.get(index, ()):
            entry = _ENTRIES[section.kind]
            data = section.data[: len(section.data) // entry.size * entry.size]
            for offset, kind, symbol, *addend in entry.iter_unpack(data):
                target = symbols[symbol].name if symbol < len(symbols) else symbol
                yield None if target == function else target, offset, kind, *addend
