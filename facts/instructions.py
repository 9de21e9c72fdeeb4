"""What each SASS instruction is, computes, moves and costs; everything from data.

Entries match an opcode token and modifier tokens, never substrings, and are laid over each other
from the general to the specific. Times come from the architecture's file by timing class.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from ..parsers.expression_tree import Expression, evaluate
from ..parsers.listing import Instruction
from ..parsers.record import dataclass
from .hardware import Architecture

if TYPE_CHECKING:
    from .issue_timing import IssueTiming

LatencyKind = Literal["fixed", "variable"]
BY_WIDTH = "width"
UNKNOWN = "unknown"
NONE = "none"
COMPUTE = "compute_"  # families whose operations are unknown, not zero, where nothing is said


@dataclass(frozen=True, slots=True)
class InstructionInfo:
    """One mnemonic on one architecture; None is unknown.

    `flops_per_warp` counts operations of all lanes (2 per multiply-add), sparse shapes as dense.
    `latency_cycles` goes from issue to the first issue of a reader on the same pipe,
    `issue_interval_cycles` is how long a sub-partition's pipe is taken, and
    `written_stall_cycles` what ptxas writes between independent instructions of the class.
    """

    opcode: str
    mnemonic: str
    family: str
    space: str | None
    precision: str | None
    flops_per_warp: int | None
    sparse: bool
    bytes_per_thread: int | None
    timing: str
    pipe: str
    latency_kind: LatencyKind | None
    latency_cycles: int | None
    issue_interval_cycles: float | None
    written_stall_cycles: int | None

    @property
    def sets_scoreboard(self) -> bool | None:
        """Tell whether a reader waits on a scoreboard; None where the latency kind is unknown."""
        return None if self.latency_kind is None else self.latency_kind == "variable"


@dataclass(frozen=True, slots=True)
class Entry:
    """One pattern of the table and what it says; None leaves the value to other entries."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[tuple[int, str], ...] = ()
    family: str | None = None
    space: str | None = None
    timing: str | None = None
    precision: str | None = None
    sparse: bool | None = None
    flops_per_warp: int | str | Expression | None = None
    bytes_per_thread: int | str | Expression | None = None

    def match(self, modifiers: Sequence[str]) -> dict[str, int] | None:
        """Give the numbers captured by the pattern, or None where it does not match."""
        captured: dict[str, int] = {}
        remaining = iter(modifiers)  # each search goes on behind the last hit: order counts
        for pattern in self.modifiers:
            if "{" not in pattern:
                if pattern not in remaining:
                    return None
                continue
            compiled = _capturing(pattern)
            found = next(filter(None, map(compiled.fullmatch, remaining)), None)
            if found is None:
                return None
            captured.update((name, int(text)) for name, text in found.groupdict().items())
        return captured


@dataclass(frozen=True, slots=True)
class TimingClass:
    """A pipe and the work of one warp instruction on it; see kb/instructions/classes.yaml."""

    pipe: str
    rate: str | None = None
    work: float | None = None
    cycles: float | None = None
    always_variable: bool = False


@dataclass(frozen=True)
class InstructionTable:
    """All entries by opcode; answers are kept, so asking again is a look-up."""

    entries: Mapping[str, tuple[Entry, ...]]
    classes: Mapping[str, TimingClass]
    widths: Mapping[str, int]
    default_bytes: int
    architectures: Mapping[str, Architecture]
    _known: dict[tuple[object, ...], InstructionInfo | None] = field(
        default_factory=dict, compare=False, repr=False
    )

    _asked: dict[str, tuple[int, ...]] = field(default_factory=dict, compare=False, repr=False)

    def info(
        self, instruction: Instruction | str, arch: str, product_class: str | None = None
    ) -> InstructionInfo | None:
        """Describe an instruction (or a bare mnemonic) on an architecture; None: opcode unknown.

        With a mnemonic alone, entries that ask for operands do not apply. Without the product
        class, a tensor rate that differs between classes leaves the issue interval unknown.
        """
        mnemonic = instruction if isinstance(instruction, str) else instruction.mnemonic
        opcode = mnemonic.partition(".")[0]
        positions = self._asked.get(opcode)
        if positions is None:
            candidates = self.entries.get(opcode)
            if candidates is None:
                return None
            asked = {position for entry in candidates for position, _ in entry.operands}
            positions = self._asked[opcode] = tuple(sorted(asked))
        operands = _asked_operands(positions, instruction) if positions else ()
        key = (mnemonic, operands, arch, product_class)
        if key not in self._known:
            said = self._said(self.entries[opcode], mnemonic.split(".")[1:], dict(operands))
            described = self._describe(said, mnemonic, arch, product_class) if said else None
            self._known[key] = described
        return self._known[key]

    def architecture(self, arch: str) -> Architecture | None:
        """Find the architecture; `sm_90a` is the hardware of `sm_90`."""
        found = self.architectures.get(arch)
        return found or self.architectures.get(re.sub(r"(?<=[0-9])[a-z]$", "", arch))

    def timing(self, arch: str) -> IssueTiming | None:
        """Give the distances between instructions on an architecture; None: no file, no timing."""
        from .issue_timing import IssueTiming

        found = self.architecture(arch)
        return IssueTiming(found.timing) if found and found.timing.fixed_latency else None

    def _said(
        self, candidates: Sequence[Entry], modifiers: Sequence[str], operands: Mapping[int, str]
    ) -> dict[str, object] | None:
        """Lay the matching entries over each other, the most specific on top."""
        said: dict[str, object] = {}
        for entry in candidates:
            captured = entry.match(modifiers)
            if captured is None or any(operands.get(at) != text for at, text in entry.operands):
                continue
            for name in ("family", "space", "timing", "precision", "sparse"):
                value = getattr(entry, name)
                if value is not None:
                    said[name] = value
            if entry.flops_per_warp is not None:
                said["flops"] = _number(entry.flops_per_warp, captured)
            if entry.bytes_per_thread == BY_WIDTH:
                said["bytes"] = self._width(modifiers)
            elif entry.bytes_per_thread is not None:
                said["bytes"] = _number(entry.bytes_per_thread, captured)
        return said if "family" in said and "timing" in said else None

    def _width(self, modifiers: Sequence[str]) -> int:
        widths = [self.widths[modifier] for modifier in modifiers if modifier in self.widths]
        return widths[-1] if widths else self.default_bytes

    def _describe(
        self,
        said: Mapping[str, object],
        mnemonic: str,
        arch: str,
        product_class: str | None,
    ) -> InstructionInfo:
        family, timing = str(said["family"]), str(said["timing"])
        precision = said.get("precision")
        known = None if precision in (None, NONE) else str(precision)
        flops = said.get("flops", None if family.startswith(COMPUTE) else 0)
        sparse = bool(said.get("sparse", False))
        space, moved = said.get("space"), said.get("bytes")
        architecture = self.architecture(arch)
        kind, cycles = self._latency(timing, architecture)
        work = flops // (4 if sparse else 2) if isinstance(flops, int) else None
        return InstructionInfo(
            opcode=mnemonic.split(".")[0],
            mnemonic=mnemonic,
            family=family,
            space=None if space is None else str(space),
            precision=known,
            flops_per_warp=flops if isinstance(flops, int) else None,
            sparse=sparse,
            bytes_per_thread=moved if isinstance(moved, int) else None,
            timing=timing,
            pipe=self.classes[timing].pipe,
            latency_kind=kind,
            latency_cycles=cycles,
            issue_interval_cycles=self._interval(timing, architecture, known, work, product_class),
            written_stall_cycles=None
            if architecture is None
            else architecture.timing.written_stall.get(timing),
        )

    def _latency(
        self, timing: str, architecture: Architecture | None
    ) -> tuple[LatencyKind | None, int | None]:
        if architecture is not None:
            cycles = architecture.timing.fixed_latency.get(timing)
            if cycles is not None:
                return "fixed", cycles
            if timing in architecture.timing.variable_latency:
                return "variable", None
        return ("variable", None) if self.classes[timing].always_variable else (None, None)

    def _interval(
        self,
        timing: str,
        architecture: Architecture | None,
        precision: str | None,
        macs: int | None,
        product_class: str | None,
    ) -> float | None:
        """Give work / (rate of a sub-partition), unless the architecture or the class say it."""
        declared = self.classes[timing]
        if architecture is None:
            return None
        stated = architecture.timing.issue_interval.get(timing, declared.cycles)
        if stated is not None:
            return stated
        if declared.rate == "tensor":
            rate, work = architecture.tensor_rate(precision or "", product_class), macs
        else:
            rate, work = architecture.rates.get(declared.rate or ""), _work(declared, architecture)
        if rate is None or not work:
            return None
        return work * architecture.limits.sub_partitions / rate


def _work(declared: TimingClass, architecture: Architecture) -> int:
    return int(declared.work or architecture.limits.threads_per_warp)


def _asked_operands(
    positions: Sequence[int], instruction: Instruction | str
) -> tuple[tuple[int, str], ...]:
    """Give the operands that some entry asks for, without signs and bars."""
    if isinstance(instruction, str):
        return ()
    return tuple(
        (position, instruction.operands[position].text.split(".")[0].strip("-~!|"))
        for position in positions
        if position < len(instruction.operands)
    )


def _number(value: int | str | Expression, captured: Mapping[str, int]) -> int | None:
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        return None
    result = evaluate(value, captured.get)
    return int(result) if isinstance(result, (int, float)) else None


def _capturing(pattern: str) -> re.Pattern[str]:
    """Turn `64x{n}x{k}` into a pattern with a named number for each brace (re keeps it)."""
    parts = re.split(r"\{(\w+)\}", pattern)
    text = "".join(
        f"(?P<{part}>[0-9]+)" if index % 2 else re.escape(part) for index, part in enumerate(parts)
    )
    return re.compile(text)
