"""What a SASS listing says: functions, instructions, operands, control words.

Plain frozen records without behaviour beyond look-ups. The grammar that fills them is
`sass.lark`; the bits of the control word are decoded in `control.py`.
"""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from typing import Literal

from .record import dataclass

OperandKind = Literal[
    "register",  # R12, R12.64, RZ; value is the base register number, None for RZ
    "uniform",  # UR4, URZ
    "predicate",  # P0, !P1, PT
    "uniform_predicate",  # UP0, UPT
    "constant",  # c[0x0][0x160], cx[UR4][0x10]
    "memory",  # [R2.64+UR4+0x10], desc[UR4][R2.64]
    "immediate",  # 0x10, 1.5, -INF
    "label",  # `(.L_x_3)
    "special",  # SR_TID.X
    "barrier",  # B0, SB2
    "other",  # kept as text: what the grammar knows no kind for
]


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand as printed, with what the analysis needs from it."""

    text: str
    kind: OperandKind
    registers: tuple[int, ...] = ()  # general registers named (base numbers), RZ left out
    uniforms: tuple[int, ...] = ()  # uniform registers named, URZ left out
    predicates: tuple[int, ...] = ()  # predicate registers named, PT left out
    uniform_predicates: tuple[int, ...] = ()
    suffixes: tuple[str, ...] = ()  # ("64",) for R2.64, ("reuse",) for R2.reuse, ("X4",) ...
    negated: bool = False  # leading -, ! or ~
    offset: int | None = None  # signed byte offset of a memory or constant operand; branch target
    value: float | int | None = None  # immediate value
    label: str | None = None  # branch target label, without decoration
    absolute: bool = False  # |R2|
    bank: int | None = None  # first index of a constant operand, c[BANK][...]
    space: str | None = None  # word before the bracket: "desc", "gdesc", "tmem", "c", "cx"


@dataclass(frozen=True, slots=True)
class Control:
    """The 21 control bits (105-125) of a 128-bit instruction.

    `yield_` is the raw bit 109; 7 as a scoreboard number means none, given here as None.
    Source: reference table of control words, sm_70 and later.
    """

    stall: int
    yield_: int
    write_barrier: int | None
    read_barrier: int | None
    wait_mask: int
    reuse: int


@lru_cache(maxsize=1 << 14)
def _split_mnemonic(mnemonic: str) -> tuple[str, tuple[str, ...]]:
    opcode, *modifiers = mnemonic.split(".")
    return opcode, tuple(modifiers)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One SASS instruction.

    `opcode` is the first token ("HMMA"), `mnemonic` the whole dotted name ("HMMA.16816.F32"),
    `predicate` the guard as printed without the at sign ("!P0"), or None.
    `address` is the byte offset in the function, `line` the line of the text it came from.
    """

    address: int
    predicate: str | None
    mnemonic: str
    operands: tuple[Operand, ...]
    control: Control | None
    line: int = 0
    text: str = ""
    annotations: tuple[str, ...] = ()  # branch targets and the like that the disassembler added
    opcode: str = field(init=False)
    modifiers: tuple[str, ...] = field(init=False)
    never_executes: bool = field(init=False)  # `@!PT`, as on filler instructions

    def __post_init__(self) -> None:
        self.opcode, self.modifiers = _split_mnemonic(self.mnemonic)  # type: ignore[misc]
        self.never_executes = self.predicate in ("!PT", "!UPT")  # type: ignore[misc]


@dataclass(frozen=True, slots=True)
class Function:
    """One function of a listing: a kernel, or a device function beside it."""

    name: str
    arch: str
    instructions: tuple[Instruction, ...]
    labels: dict[str, int] = field(default_factory=dict)  # label -> address
    is_entry: bool | None = None  # None where the text does not say
    line: int = 0
    header: dict[str, str] = field(default_factory=dict)  # ".headerflags", "registers", ...

    @property
    def has_control(self) -> bool:
        """Tell whether the listing carried encodings for this function."""
        return any(i.control is not None for i in self.instructions)


@dataclass(frozen=True, slots=True)
class Listing:
    """All functions of one listing, in the order of the text."""

    functions: tuple[Function, ...]
    path: str = "<text>"
    unknown_lines: tuple[tuple[int, str], ...] = ()  # lines with an address that did not parse
    refused: tuple[tuple[int, str], ...] = ()  # (line, architecture) of code that kneck cannot read


@dataclass(frozen=True, slots=True)
class ResourceRecord:
    """What a build log, `cuobjdump -res-usage` or the cubin itself says of one function.

    Bytes for every memory size; None where the artifact does not say. `static_smem` is what the
    program declares: the 1 KB that the driver reserves is taken off where the tool adds it
    (`smem_includes_reserve` tells that it was).
    """

    name: str
    arch: str | None
    is_entry: bool | None
    registers: int | None
    static_smem: int | None
    stack: int | None
    spill_stores: int | None
    spill_loads: int | None
    barriers: int | None
    constant: int | None  # bytes of bank 0, which holds the parameters
    local: int | None = None
    max_threads: int | None = None  # .maxntid, EIATTR_MAX_THREADS
    smem_includes_reserve: bool = False
    parameters: tuple[tuple[int, int], ...] | None = None  # (offset, size) in bytes, by ordinal
    constant_banks: tuple[tuple[int, int], ...] | None = None  # (bank, bytes); `constant` is bank 0
    path: str = "<text>"
    line: int = 0
    required_block: tuple[int, int, int] | None = None  # .reqntid
    parameter_base: int | None = None  # offset of the first parameter in constant bank 0
    cluster: tuple[int, int, int] | None = None  # blocks per cluster that the code states
