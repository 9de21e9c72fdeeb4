"""A cubin's own statements about its kernels: registers, shared memory, stack, bounds, parameters.

What ptxas states of a function stands in `.nv.info` (all functions) and `.nv.info.NAME` (one
function), in the sizes of the sections that bear its name, and in the flags of the file.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from math import prod

from .cubin_attributes import (
    CTA_PER_CLUSTER,
    FRAME_SIZE,
    MAX_THREADS,
    MIN_STACK_SIZE,
    NUM_BARRIERS,
    REGCOUNT,
    REQNTID,
    Own,
    attributes,
    own_attributes,
    parameter_base,
    parameters,
    triple,
)
from .elf import Elf, Section, read_elf
from .generations import family
from .listing import ResourceRecord
from .record import dataclass

_MOST_SYMBOLS = 10_000  # that fit into one argument of a command
_BANKS = 18  # constant banks that the instructions can name
_ENTRY_FLAG = 0x10  # STO_CUDA_ENTRY in st_other
_NEW_ABI = 8  # from this ABI version on the flags hold the architecture in bits 8 to 15
_ACCELERATED_FLAG = 0x800  # EF_CUDA_ACCELERATORS, before the new ABI
_COMPAT_ACCELERATED = 9  # attribute of .nv.compat that says the same since
_RESERVED_SECTION = ".nv.shared.reserved.0"  # there where .nv.shared.NAME counts the reserve
_RESERVED_SYMBOL = ".nv.reservedSmem.cap"


@dataclass(frozen=True, slots=True)
class Cubin:
    """What a cubin says without a disassembler."""

    arch: str
    is_relocatable: bool
    records: tuple[ResourceRecord, ...]
    code_bytes: int
    symbol_of: dict[str, int]  # index of the symbol of each function that has a section

    @property
    def family(self) -> str:
        """Give the architecture without the letter of code for one chip."""
        return family(self.arch)

    def needed_for(self, kernel: str) -> list[int]:
        """Give the symbols of a kernel and of every device function, which it may call."""
        others = set(self.kernels) - {kernel}
        found = sorted(index for name, index in self.symbol_of.items() if name not in others)
        return found if len(found) <= _MOST_SYMBOLS else [self.symbol_of[kernel]]

    @property
    def kernels(self) -> tuple[str, ...]:
        """Name the entries."""
        return tuple(record.name for record in self.records if record.is_entry)


def read_cubin(data: bytes, path: str, reserve_bytes: Mapping[str, int] | None = None) -> Cubin:
    """Read architecture and one record per code section.

    `reserve_bytes` as for `parse_resources`. Raises KneckError for damaged files.
    """
    return cubin_of(read_elf(data, path), path, reserve_bytes)


def cubin_of(elf: Elf, path: str, reserve_bytes: Mapping[str, int] | None = None) -> Cubin:
    """Do the same with what `read_elf` gave."""
    arch = architecture(elf)
    common = _by_symbol(elf)
    reserve = _reserve(elf, arch, reserve_bytes or {})
    entries = {s.name for s in elf.symbols if s.is_function and s.other & _ENTRY_FLAG}
    reader = _Reader(elf, arch, path, common, reserve, entries)
    records = tuple(
        reader.record(section.name.removeprefix(".text."), section)
        for section in elf.sections
        if section.name.startswith(".text.") and section.size
    )
    code_bytes = sum(s.size for s in elf.sections if s.name.startswith(".text."))
    named = {record.name for record in records}
    symbol_of = {s.name: i for i, s in enumerate(elf.symbols) if s.is_function and s.name in named}
    return Cubin(arch, elf.is_relocatable, records, code_bytes, symbol_of)


def architecture(elf: Elf) -> str:
    """Name the architecture from the ELF flags, with the `a` of code for one chip only."""
    if elf.abi_version >= _NEW_ABI:
        compat = elf.by_name.get(".nv.compat")
        pairs = dict(attributes(compat.data)) if compat else {}
        accelerated = pairs.get(_COMPAT_ACCELERATED, b"\0")[:1] == b"\x01"
        return f"sm_{elf.flags >> 8 & 0xFF}{'a' if accelerated else ''}"
    return f"sm_{elf.flags & 0xFF}{'a' if elf.flags & _ACCELERATED_FLAG else ''}"


def _by_symbol(elf: Elf) -> dict[tuple[int, str], int]:
    """Collect the attributes of `.nv.info`, which name their function by its symbol."""
    section = elf.by_name.get(".nv.info")
    found: dict[tuple[int, str], int] = {}
    for attribute, value in attributes(section.data) if section else ():
        if len(value) == 8:
            index, number = struct.unpack("<II", value)
            if index < len(elf.symbols):
                found[attribute, elf.symbols[index].name] = number
    return found


def _reserve(elf: Elf, arch: str, reserve_bytes: Mapping[str, int]) -> int | None:
    """Give what the shared sections count for the driver; None where that is not known."""
    if _RESERVED_SECTION not in elf.by_name:
        return 0
    for name in (arch, family(arch)):
        if name in reserve_bytes:
            return reserve_bytes[name]
    return next((s.value for s in elf.symbols if s.name == _RESERVED_SYMBOL), None)


@dataclass(frozen=True, slots=True)
class _Reader:
    elf: Elf
    arch: str
    path: str
    common: dict[tuple[int, str], int]
    reserve: int | None
    entries: set[str]

    def record(self, name: str, code: Section) -> ResourceRecord:
        """Put the record of one function together."""
        info = self.elf.by_name.get(f".nv.info.{name}")
        own = own_attributes(info.data) if info else {}
        is_entry = name in self.entries
        smem, included = self.static_smem(name) if is_entry else (None, False)
        threads, required = triple(own, MAX_THREADS), triple(own, REQNTID)
        banks = self.banks(name)
        bounds = required or threads
        stack = self.common.get((MIN_STACK_SIZE, name))
        return ResourceRecord(
            name=name,
            arch=self.arch,
            is_entry=is_entry,
            # before the new ABI the register count stands in the section header as well
            registers=self.common.get((REGCOUNT, name)) or code.info >> 24 or None,
            static_smem=smem,
            stack=self.common.get((FRAME_SIZE, name)) if stack is None else stack,
            spill_stores=None,  # a cubin does not say
            spill_loads=None,
            barriers=self.barriers(own, code) if is_entry else None,
            constant=dict(banks).get(0),
            max_threads=prod(bounds) if bounds else None,
            smem_includes_reserve=included,
            parameters=parameters(own) if is_entry else None,
            constant_banks=banks or None,
            path=self.path,
            required_block=required,
            parameter_base=parameter_base(own),
            cluster=triple(own, CTA_PER_CLUSTER),
        )

    def static_smem(self, name: str) -> tuple[int | None, bool]:
        """Give the bytes the kernel declares, and whether the reserve was taken off them."""
        if self.elf.is_relocatable:
            return None, False  # the linker decides
        section = self.elf.by_name.get(f".nv.shared.{name}")
        if section is None:
            return 0, False
        if self.reserve is None:
            return None, True
        if self.reserve and section.size >= self.reserve:
            return section.size - self.reserve, True
        return section.size, False

    def barriers(self, own: Own, code: Section) -> int | None:
        """Give the named barriers; where there are none, ptxas leaves the attribute out.

        Before the new ABI the section header counts them (bits 20 to 26 of the flags, as
        CuAssembler documents it).
        """
        if NUM_BARRIERS in own:
            return own[NUM_BARRIERS][0][0]
        if self.elf.abi_version < _NEW_ABI:
            return code.flags >> 20 & 0x7F
        return 0 if own else None

    def banks(self, name: str) -> tuple[tuple[int, int], ...]:
        """Give the sizes of the constant banks that belong to this function alone."""
        found = {bank: self.elf.by_name.get(f".nv.constant{bank}.{name}") for bank in range(_BANKS)}
        return tuple((bank, section.size) for bank, section in found.items() if section)
