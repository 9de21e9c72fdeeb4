"""Which pipes an instruction takes and for how long, and what the memory path can carry.

All figures come from kb/pipes through rules.pipes; nothing here holds one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from ..parsers.listing import Instruction
from ..parsers.record import dataclass
from .hardware import Architecture
from .instructions import InstructionTable


@dataclass(frozen=True, slots=True)
class ConstantLayout:
    """Where constant bank 0 keeps what; offsets in bytes, per architecture."""

    block: int
    grid: int
    stack: int
    parameters: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """An opcode, modifiers that must be present, and the beginning of an operand."""

    group: str
    opcode: str
    modifiers: frozenset[str] = frozenset()
    operand: str = ""

    def matches(self, instruction: Instruction) -> bool:
        """Tell whether an instruction is meant."""
        return (
            self.opcode == instruction.opcode
            and self.modifiers <= set(instruction.modifiers)
            and (
                not self.operand
                or any(o.text.startswith(self.operand) for o in instruction.operands)
            )
        )

    @property
    def parts(self) -> int:
        """How specific the pattern is."""
        return len(self.modifiers) + 2 * bool(self.operand)


@dataclass(frozen=True, slots=True)
class L2Path:
    """What one device's L2 does per nanosecond, and what requests cost there."""

    tags_per_ns: float
    read_sectors_per_ns: float
    write_slots_per_ns: float
    store_tags_per_line: float
    dram_tags_per_line: float
    dram_tags_per_written_line: float
    read_slots: float  # of the port into L2, per line that is read
    bulk_read_share: float  # sectors that L2 sends, of those that bulk copies ask for


@dataclass(frozen=True, slots=True)
class Clocks:
    """GHz as run: without tensor work, with mma.sync, with warpgroup products."""

    plain: float
    tensor: float
    warpgroup: float
    tensor_from_share: float


@dataclass(frozen=True, slots=True)
class Latencies:
    """Cycles until an idle unit has the result; `atomic_sector_ns`: per sector in one place."""

    l1: float
    l2: float
    dram: float
    shared: float
    shuffle: float
    special: float
    constant: float
    atomic: float
    barrier: float
    operands: float  # until operands are read, where a scoreboard tells
    other: float
    atomic_sector_ns: float


@dataclass(frozen=True)
class PipeTable:
    """Costs of one architecture, in cycles of a sub-partition per warp instruction.

    `costs` maps a group to its pipes; groups in `from_rate` are tensor work whose cycles follow
    from the rate of the architecture; `hot_groups` are the ones that lower the clock. What the file
    does not give for a device is absent.
    """

    arch: str
    patterns: Mapping[str, tuple[Pattern, ...]]
    costs: Mapping[str, Mapping[str, float]]
    from_rate: frozenset[str]
    hot_groups: frozenset[str]
    warpgroup_groups: frozenset[str]
    layout: ConstantLayout
    l1_bytes: int
    l1_usable_fraction: float
    wavefronts_per_clock: float
    l2: Mapping[str, L2Path]
    clocks: Mapping[str, Clocks]
    dram_gb_per_s: Mapping[str, float]
    status: str
    latencies: Latencies | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    _known: dict[tuple[str, str], Mapping[str, float] | None] = field(
        default_factory=dict, compare=False, repr=False
    )

    def group(self, instruction: Instruction) -> str | None:
        """Give the group of an instruction, None where no pattern names its opcode."""
        found: Pattern | None = None
        for pattern in self.patterns.get(instruction.opcode, ()):
            if pattern.matches(instruction) and (found is None or pattern.parts > found.parts):
                found = pattern
        return found.group if found else None

    def uses(
        self,
        instruction: Instruction,
        table: InstructionTable,
        architecture: Architecture,
        product_class: str | None,
    ) -> Mapping[str, float] | None:
        """Give cycles by pipe; None where the opcode, or a matrix product's rate, is unknown."""
        key = kind_of(instruction)
        if key not in self._known:
            self._known[key] = self._uses(instruction, table, architecture, product_class)
        return self._known[key]

    def _uses(
        self,
        instruction: Instruction,
        table: InstructionTable,
        architecture: Architecture,
        product_class: str | None,
    ) -> Mapping[str, float] | None:
        group = self.group(instruction)
        if group is None:
            return None
        if group in self.costs:
            return self.costs[group]
        if group not in self.from_rate:
            return {}
        info = table.info(instruction, self.arch, product_class)
        if info is None or info.flops_per_warp is None or info.precision is None:
            return None
        rate = architecture.tensor_rate(info.precision, product_class)
        if rate is None:
            return None
        share = rate / architecture.limits.sub_partitions
        return {"tensor": info.flops_per_warp / 2 / share}


def kind_of(instruction: Instruction) -> tuple[str, str]:
    """Give what the cost of an instruction depends on."""
    special = instruction.operands[-1].text if instruction.opcode in ("S2R", "S2UR") else ""
    return instruction.mnemonic, special


def pattern(group: str, text: str) -> Pattern:
    """Read a pattern as kb/pipes writes it.

    >>> pattern("address", "S2R@SR_TID").operand
    'SR_TID'
    """
    name, _, operand = text.partition("@")
    opcode, *modifiers = name.split(".")
    return Pattern(group, opcode, frozenset(modifiers), operand)


def by_opcode(patterns: Sequence[Pattern]) -> dict[str, tuple[Pattern, ...]]:
    """Sort patterns under their opcodes."""
    table: dict[str, list[Pattern]] = {}
    for one in patterns:
        table.setdefault(one.opcode, []).append(one)
    return {opcode: tuple(found) for opcode, found in table.items()}
