"""The part an instruction plays in a tile, read from the instruction table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..parsers.listing import Instruction


class InstructionInfo(Protocol):
    """What the instruction table says of one instruction; see facts/instructions.py."""

    @property
    def family(self) -> str: ...
    @property
    def flops_per_warp(self) -> int | None: ...
    @property
    def bytes_per_thread(self) -> int | None: ...


class InstructionTable(Protocol):
    """Look-up by instruction, None where the opcode is not known."""

    def info(self, instruction: Instruction) -> InstructionInfo | None: ...


COMPUTE_PREFIX = "compute"  # compute_fma, compute_tensor, ...
GLOBAL_LOADS = frozenset({"load_global", "load_generic", "async_copy"})
ASYNC_COPY = "async_copy"
BULK_LOAD = "bulk_load"
SHARED_STORE = "store_shared"
_RETRIED_MODIFIERS = frozenset({"CAS", "CAST", "PHASECHK", "TRYWAIT"})
_STRONG = "STRONG"


@dataclass(frozen=True, slots=True)
class Role:
    """`flops` of a warp and `load_bytes` of a thread are None where the mnemonic hides them."""

    is_known: bool
    is_compute: bool
    flops: int | None
    is_load: bool
    load_bytes: int | None
    is_bulk_copy: bool
    is_async_copy: bool
    is_shared_store: bool
    is_retried: bool


class Roles:
    """Roles by mnemonic, each looked up once."""

    def __init__(self, table: InstructionTable) -> None:
        self.table = table
        self._found: dict[str, Role] = {}

    def of(self, instruction: Instruction) -> Role:
        """Give the role of an instruction."""
        role = self._found.get(instruction.mnemonic)
        if role is None:
            role = self._found[instruction.mnemonic] = self._role(instruction)
        return role

    def _role(self, instruction: Instruction) -> Role:
        info = self.table.info(instruction)
        family = "" if info is None else info.family
        is_load = family in GLOBAL_LOADS
        modifiers = set(instruction.modifiers)
        return Role(
            is_known=info is not None,
            is_compute=family.startswith(COMPUTE_PREFIX),
            flops=None if info is None else info.flops_per_warp,
            is_load=is_load,
            load_bytes=info.bytes_per_thread if info is not None and is_load else None,
            is_bulk_copy=family == BULK_LOAD,
            is_async_copy=family == ASYNC_COPY,
            is_shared_store=family == SHARED_STORE,
            is_retried=not _RETRIED_MODIFIERS.isdisjoint(modifiers)
            or (is_load and _STRONG in modifiers),
        )
