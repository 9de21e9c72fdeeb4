"""Cubins in parts: which functions are read together, and which need not be read again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...parsers.carve import is_noted
from ...parsers.cubin import Cubin
from ...parsers.elf import Elf
from ...parsers.twins import Fingerprints
from .model import Twin

# A part of a cubin: a second of disassembly, whose start takes a quarter of one, and 120 MB.
PART_CODE_BYTES = 1 << 20
PART_FUNCTIONS = 2000  # their indices are one argument of the disassembler
Part = tuple[tuple[int, ...], tuple[str, ...], bool]  # symbols, names, whether it is quick to read


def can_be_cut(cubin: Cubin, names: Iterable[str], codes: Mapping[str, memoryview]) -> bool:
    """Tell whether the disassembler can be asked for each of these functions alone."""
    return all(name in cubin.symbol_of and name in codes for name in names)


def parts_of(cubin: Cubin, names: Sequence[str], codes: Mapping[str, memoryview]) -> Iterator[Part]:
    """Cut the named functions of a cubin into parts, in their order.

    In a large one those that need the disassembler's analysis are kept apart from the others.
    """
    if not names:
        return
    if not can_be_cut(cubin, names, codes):
        yield (), tuple(names), False  # all of it, also where no symbol can be asked for
        return
    noted = {name for name in names if is_noted(codes[name])}
    code_bytes = sum(len(codes[name]) for name in names)
    if code_bytes <= PART_CODE_BYTES and len(names) <= PART_FUNCTIONS:
        everything = len(names) == len(cubin.records)
        yield ((), tuple(names), not noted) if everything else _part(cubin, names, not noted)
        return
    waiting: dict[bool, tuple[list[str], int]] = {}
    for name in names:
        is_quick = name not in noted
        part, size = waiting.get(is_quick, ([], 0))
        size += len(codes[name])
        if part and (size > PART_CODE_BYTES or len(part) == PART_FUNCTIONS):
            yield _part(cubin, part, is_quick)
            part, size = [], len(codes[name])
        part.append(name)
        waiting[is_quick] = (part, size)
    for is_quick, (part, _) in waiting.items():
        yield _part(cubin, part, is_quick)


def _part(cubin: Cubin, names: Sequence[str], is_quick: bool) -> Part:
    return tuple(sorted(cubin.symbol_of[name] for name in names)), tuple(names), is_quick


class Originals:
    """The kernels that a scan has met, so that one of the same code is read once.

    Of each a fingerprint stays, with the unit that reads it and its name there.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[str, str]] = {}

    def divide(
        self, elf: Elf, cubin: Cubin, names: Sequence[str], codes: Mapping[str, memoryview]
    ) -> tuple[dict[str, bytes | None], dict[str, bytes]]:
        """Give the functions to read and the twins of others, in their order, with fingerprints."""
        own: dict[str, bytes | None] = dict.fromkeys(names)
        twins: dict[str, bytes] = {}
        if not can_be_cut(cubin, names, codes):
            return own, twins
        here = set()
        fingerprints = Fingerprints(elf)
        for record in cubin.records:
            if record.name not in own or not record.is_entry:
                continue
            mark = fingerprints.of(record, codes[record.name])
            if mark is not None and (mark in self._known or mark in here):
                twins[record.name] = mark
                del own[record.name]
            elif mark is not None:
                own[record.name] = mark
                here.add(mark)
        return own, twins

    def add(self, key: str, marks: Mapping[str, bytes | None], names: Sequence[str]) -> None:
        """Remember that the unit of a key reads these functions."""
        for name in names:
            mark = marks.get(name)
            if mark is not None:
                self._known.setdefault(mark, (key, name))

    def twin(self, name: str, mark: bytes) -> Twin:
        """Name the original of a twin; it was added before."""
        key, original = self._known[mark]
        return Twin(name, original, key)
