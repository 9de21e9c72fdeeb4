"""The part an instruction plays in a tile, read from the instruction table."""

from __future__ import annotations

from ..parsers.listing import Instruction
from ..parsers.record import dataclass
from .instructions import InstructionTable

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

    @property
    def is_any(self) -> bool:
        return self.is_compute or self.is_load or self.is_bulk_copy


class Roles:
    """Roles by mnemonic on one architecture, each looked up once."""

    def __init__(self, table: InstructionTable, arch: str) -> None:
        self.table = table
        self.arch = arch
        self._by_mnemonic: dict[str, Role] = {}

    def of(self, instruction: Instruction) -> Role:
        """Give the role of an instruction."""
        role = self._by_mnemonic.get(instruction.mnemonic)
        if role is None:
            role = self._role(instruction)
            entries = self.table.entries.get(instruction.opcode, ())
            if not any(entry.operands for entry in entries):  # else operands have a say
                self._by_mnemonic[instruction.mnemonic] = role
        return role

    def _role(self, instruction: Instruction) -> Role:
        info = self.table.info(instruction, self.arch)
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
