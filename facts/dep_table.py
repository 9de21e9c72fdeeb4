"""The instruction table as the dependence analysis asks it: one architecture, answers kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..parsers.listing import Instruction
from .instructions import InstructionInfo, InstructionTable

TENSOR = "tensor"


class TableTiming:
    """Distances of one architecture; fulfils `dep_timing.Timing`.

    `memory_cycles` gives an ordinary latency by memory space ("global", "shared", ...), for chains
    only: no stall is judged by it.
    """

    def __init__(
        self,
        table: InstructionTable,
        arch: str,
        product_class: str | None = None,
        memory_cycles: Mapping[str, int] | None = None,
    ) -> None:
        self.table = table
        self.arch = arch
        self.product_class = product_class
        self.memory_cycles = memory_cycles or {}
        self.rules = table.timing(arch)
        self._longest: dict[tuple[str, bool], int] = {}
        self._raw: dict[tuple[str, str], int | None] = {}

    @property
    def scoreboard_set_cycles(self) -> int | None:
        """Least distance of an instruction that sets a scoreboard to one that waits for it."""
        return self._distance("scoreboard_to_wait")

    def is_known(self, instruction: Instruction) -> bool:
        """Tell whether the opcode stands in the table."""
        return self._info(instruction) is not None

    def is_fixed(self, instruction: Instruction) -> bool:
        """Tell whether its result is ready after a fixed number of cycles."""
        info = self._info(instruction)
        return info is not None and info.latency_kind == "fixed" and self.rules is not None

    def pipe(self, instruction: Instruction) -> str | None:
        """Name the pipe that executes it."""
        info = self._info(instruction)
        return None if info is None else info.pipe

    def raw_cycles(self, producer: Instruction, consumer: Instruction) -> int | None:
        """Distance from a producer to a consumer that reads its result as an operand."""
        first, second = self._info(producer), self._info(consumer)
        if first is None or second is None or self.rules is None:
            return None
        key = (first.timing, second.timing)
        if key not in self._raw:
            self._raw[key] = self.rules.raw_cycles(first, second)
        return self._raw[key]

    def guard_cycles(self, producer: Instruction) -> int | None:
        """Distance from a producer of a predicate to an instruction that it guards."""
        info = self._info(producer)
        return None if info is None or self.rules is None else self.rules.guard_cycles(info)

    def overwrite_cycles(self, reader: Instruction, writer: Instruction) -> int | None:
        """Distance from an instruction to one that overwrites one of its operands.

        Most operands are read at issue; a load may overtake that by a cycle, and matrix
        instructions read theirs over several.
        """
        needed = 1
        if self.pipe(reader) == TENSOR:
            reading = self._distance("tensor_operand_to_write")
            if reading is None:
                return None
            needed = reading
        if self.is_fixed(writer):
            return needed
        loading = self._distance("operand_to_load")
        return None if loading is None else max(needed, loading)

    def longest_cycles(self, producer: Instruction | None) -> int:
        """Largest distance that any consumer of its result needs; of any producer for None."""
        if self.rules is None:
            return 0
        timing = self.rules.timing
        every = (*timing.fixed_latency.values(), *timing.between.values())
        info = None if producer is None else self._info(producer)
        if producer is None or info is None or info.latency_cycles is None:
            return max((*every, *timing.distances.values()), default=0)
        guards = any(o.kind in ("predicate", "uniform_predicate") for o in producer.operands[:2])
        key = (info.timing, guards)
        if key not in self._longest:
            distances = [self.rules.raw_cycles(info, reader) for reader in self._readers(info)]
            if guards:
                distances.append(self.rules.guard_cycles(info))
            known = [cycles for cycles in distances if cycles is not None]
            is_complete = len(known) == len(distances)
            self._longest[key] = max(known) if is_complete else max(every)
        return self._longest[key]

    def issue_interval_cycles(self, instruction: Instruction) -> int | None:
        """Distance to the next instruction on the same pipe, by the hardware and by ptxas."""
        info = self._info(instruction)
        if info is None:
            return None
        known = [
            c for c in (info.issue_interval_cycles, info.written_stall_cycles) if c is not None
        ]
        return math.ceil(max(known)) if known else None

    def result_cycles(self, instruction: Instruction) -> int | None:
        """Time until the result of an instruction is there; of memory, an ordinary one."""
        info = self._info(instruction)
        if info is None:
            return None
        if info.latency_kind == "fixed":
            return info.latency_cycles
        return None if info.space is None else self.memory_cycles.get(info.space)

    def _readers(self, producer: InstructionInfo) -> Iterable[InstructionInfo]:
        """Give a reader of every timing class."""
        for name, declared in self.table.classes.items():
            yield replace(producer, timing=name, pipe=declared.pipe)

    def _info(self, instruction: Instruction) -> InstructionInfo | None:
        return self.table.info(instruction, self.arch, self.product_class)

    def _distance(self, name: str) -> int | None:
        return None if self.rules is None else self.rules.distance(name)
