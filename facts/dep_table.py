"""The instruction table as the dependence analysis asks it: one architecture, answers kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..parsers.listing import Instruction
from .dep_timing import Traits
from .instructions import InstructionInfo, InstructionTable

TENSOR = "tensor"
_UNKNOWN = Traits("", False, False, None, None, 0, None)


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
        self.reach = self._reach()  # largest distance in the table: how far a dependence can reach
        self._by_mnemonic: dict[str, Traits] = {}
        self._by_name: dict[str, Traits] = {_UNKNOWN.name: _UNKNOWN}
        self._infos: dict[str, InstructionInfo] = {}
        self._raw: dict[tuple[str, str], int | None] = {}

    @property
    def scoreboard_set_cycles(self) -> int | None:
        """Least distance of an instruction that sets a scoreboard to one that waits for it."""
        return self._distance("scoreboard_to_wait")

    def _reach(self) -> int:
        if self.rules is None:
            return 0
        timing = self.rules.timing
        groups = (timing.fixed_latency, timing.between, timing.distances)
        return max((cycles for group in groups for cycles in group.values()), default=0)

    def traits(self, instruction: Instruction) -> Traits:
        """Give the timing of an instruction."""
        found = self._by_mnemonic.get(instruction.mnemonic)
        if found is not None:
            return found
        info = self.table.info(instruction, self.arch, self.product_class)
        found = _UNKNOWN if info is None else self._traits(info)
        entries = self.table.entries.get(instruction.opcode, ())
        if not any(entry.operands for entry in entries):
            self._by_mnemonic[instruction.mnemonic] = found
        return found

    def raw_cycles(self, producer: Traits, consumer: Traits) -> int | None:
        """Distance from a producer to a consumer that reads its result as an operand."""
        key = (producer.name, consumer.name)
        if key not in self._raw:
            known = producer.is_known and consumer.is_known and self.rules is not None
            self._raw[key] = self._looked_up(*key) if known else None
        return self._raw[key]

    def guard_cycles(self, producer: Traits) -> int | None:
        """Distance from a producer of a predicate to an instruction that it guards."""
        info = self._infos.get(producer.name)
        return None if info is None or self.rules is None else self.rules.guard_cycles(info)

    def overwrite_cycles(self, reader: Traits, writer: Traits) -> int | None:
        """Distance from an instruction to one that overwrites one of its operands.

        Most operands are read at issue; a load may overtake that by a cycle, and matrix
        instructions read theirs over several.
        """
        needed = 1
        if reader.pipe == TENSOR:
            reading = self._distance("tensor_operand_to_write")
            if reading is None:
                return None
            needed = reading
        if writer.is_fixed:
            return needed
        loading = self._distance("operand_to_load")
        return None if loading is None else max(needed, loading)

    def _looked_up(self, producer: str, consumer: str) -> int | None:
        if self.rules is None:
            return None
        return self.rules.raw_cycles(self._infos[producer], self._infos[consumer])

    def _traits(self, info: InstructionInfo) -> Traits:
        cycles = (info.issue_interval_cycles, info.written_stall_cycles)
        parts = (info.timing, info.family, info.space, info.pipe, info.latency_kind)
        name = "/".join(map(str, (*parts, info.latency_cycles, *cycles)))  # all that tells it apart
        found = self._by_name.get(name)
        if found is None:
            self._infos[name] = info
            is_fixed = info.latency_kind == "fixed" and self.rules is not None
            known = [count for count in cycles if count is not None]
            found = self._by_name[name] = Traits(
                name=name,
                is_known=True,
                is_fixed=is_fixed,
                pipe=info.pipe,
                interval=math.ceil(max(known)) if known else None,
                longest=self._longest(info) if is_fixed else self.reach,
                result=info.latency_cycles if is_fixed else self._memory(info),
            )
        return found

    def _memory(self, info: InstructionInfo) -> int | None:
        return None if info.space is None else self.memory_cycles.get(info.space)

    def _longest(self, producer: InstructionInfo) -> int:
        """Ask for every kind of reader; one that is not known makes it the largest of all."""
        if self.rules is None:
            return 0
        found = [self.rules.raw_cycles(producer, reader) for reader in self._readers(producer)]
        known = [cycles for cycles in found if cycles is not None]
        return max(known) if len(known) == len(found) else self.reach

    def _readers(self, producer: InstructionInfo) -> Iterable[InstructionInfo]:
        for name, declared in self.table.classes.items():
            yield replace(producer, timing=name, pipe=declared.pipe)

    def _distance(self, name: str) -> int | None:
        return None if self.rules is None else self.rules.distance(name)
