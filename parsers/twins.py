"""Functions that are the same but for their names: templates that several sources instantiate.

Whoever knows one of them knows the other: a quarter of the code of one public library, a seventh
of others.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import replace

from .carve import CODE, is_noted
from .elf import Elf
from .listing import ResourceRecord

_RELA, _REL = (".rela", struct.Struct("<QIIq")), (".rel", struct.Struct("<QII"))


def fingerprint(elf: Elf, record: ResourceRecord, code: memoryview) -> bytes | None:
    """Give what two functions share when the same text and resources are read of both.

    `code` are its instructions. These, what the linker puts into them and all that the record
    states are the same then, but not the names of the function and its file. None where the text
    depends on more: targets of indirect branches come from other sections.
    """
    if is_noted(code):
        return None
    stated = replace(record, name="", path="", line=0)
    found = hashlib.sha256(repr((stated, _relocations(elf, record.name))).encode())
    found.update(code)
    return found.digest()


def _relocations(elf: Elf, name: str) -> list[tuple[object, ...]]:
    """List where addresses of what are put in, the function itself without its name."""
    found: list[tuple[object, ...]] = []
    for prefix, entry in (_RELA, _REL):
        section = elf.by_name.get(f"{prefix}{CODE}{name}")
        data = b"" if section is None else section.data
        for offset, kind, symbol, *addend in entry.iter_unpack(
            data[: len(data) // entry.size * entry.size]
        ):
            target = elf.symbols[symbol].name if symbol < len(elf.symbols) else symbol
            found.append((offset, kind, "" if target == name else target, *addend))
    return found
