"""What an instruction leaves open for the next ones: results, operands, scoreboards, its pipe.

A walk along one path closes these one after another and says at each instruction how far it must
stand from the first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..parsers.listing import Instruction
from .dep_operands import PREDICATE, Access
from .dep_timing import Timing
from .flow_branches import TRANSFERS

Reason = Literal["result", "guard", "overwrite", "operand", "scoreboard", "pipe", "order"]
Need = tuple[int | None, Reason]  # cycles from the first instruction; None keeps the present ones

# Instructions that order the threads of a warp or block. What stands just before one keeps its
# stall, and the next load or store its distance: what they need is published nowhere.
ORDERING = TRANSFERS | frozenset(
    "BAR BSSY BSYNC BREAK WARPSYNC YIELD NANOSLEEP DEPBAR LDGDEPBAR MEMBAR FENCE ERRBAR BPT BMOV "
    "WARPGROUP ARRIVES SYNCS ELECT CCTL UCGABAR_ARV UCGABAR_WAIT ENDCOLLECTIVE USETMAXREG NOP "
    "ACQBULK PREEXIT UTMACMDFLUSH".split()
)


def scoreboards(instruction: Instruction) -> set[int]:
    """Give the scoreboards that an instruction sets."""
    control = instruction.control
    if control is None:
        return set()
    return {b for b in (control.write_barrier, control.read_barrier) if b is not None}


def waited_scoreboards(instruction: Instruction) -> set[int]:
    """Give the scoreboards that must be clear before an instruction issues."""
    control = instruction.control
    mask = 0 if control is None else control.wait_mask
    waited = {number for number in range(mask.bit_length()) if mask >> number & 1}
    if instruction.opcode == "DEPBAR":
        waited |= {
            o.value
            for o in instruction.operands
            if o.kind == "barrier" and isinstance(o.value, int)
        }
    return waited


@dataclass(slots=True)
class Window:
    """What is still open of one instruction, the first of a path."""

    producer: Instruction
    timing: Timing
    is_fixed: bool
    results: set[int]
    operands: set[int]  # that may still be read, late where the latency is variable
    barriers: set[int]
    pipe: str | None
    interval: int | None
    reach: int  # cycles behind which nothing depends on the producer
    orders: bool  # it is an ordering instruction and no load or store followed yet
    is_first: bool = True  # nothing of the path was met yet

    @classmethod
    def open(cls, producer: Instruction, access: Access, timing: Timing) -> Window:
        """Start behind an instruction."""
        is_fixed = timing.is_fixed(producer)
        interval = timing.issue_interval_cycles(producer)
        return cls(
            producer=producer,
            timing=timing,
            is_fixed=is_fixed,
            results=set(access.writes),
            operands=set(access.reads),
            barriers=scoreboards(producer),
            pipe=None if interval is None else timing.pipe(producer),
            interval=interval,
            reach=max(timing.longest_cycles(producer if is_fixed else None), interval or 0),
            orders=producer.opcode in ORDERING - TRANSFERS,
        )

    def copy(self) -> Window:
        """Give an independent copy, for another path."""
        return Window(
            self.producer,
            self.timing,
            self.is_fixed,
            set(self.results),
            set(self.operands),
            set(self.barriers),
            self.pipe,
            self.interval,
            self.reach,
            self.orders,
            self.is_first,
        )

    @property
    def is_closed(self) -> bool:
        """Tell whether nothing can depend on the producer any more."""
        return not (self.results or self.operands or self.barriers or self.pipe or self.orders)

    def meet(self, consumer: Instruction, access: Access) -> Iterator[Need]:
        """Say what the next instruction of the path needs, and close what it ends."""
        if self.is_first and self._is_opaque(consumer):
            yield None, "order"
        elif self.orders and not self.timing.is_fixed(consumer):
            yield None, "order"
            self.orders = False
        if self.operands and not self.operands.isdisjoint(access.writes):
            yield from self._read_late(consumer)
        self.is_first = False
        waited = waited_scoreboards(consumer) & self.barriers
        if waited:
            yield self.timing.scoreboard_set_cycles, "scoreboard"
            self._clear(waited, consumer)
        if self.results:
            yield from self._read(consumer, access)
            yield from self._written(consumer, access)
        if self.pipe is not None and self.timing.pipe(consumer) == self.pipe:
            yield self.interval, "pipe"
            self.pipe = None

    def _is_opaque(self, consumer: Instruction) -> bool:
        return consumer.opcode in ORDERING or not self.timing.is_known(consumer)

    def _read_late(self, consumer: Instruction) -> Iterator[Need]:
        """Keep a register until it has been read, late where the latency is variable."""
        if self.is_fixed:
            yield self.timing.overwrite_cycles(self.producer, consumer), "operand"
        elif self.barriers.isdisjoint(waited_scoreboards(consumer)):
            yield None, "operand"

    def _clear(self, waited: set[int], consumer: Instruction) -> None:
        """Close what a wait guarantees; DEPBAR may leave the youngest ones open."""
        if consumer.opcode == "DEPBAR" or self.producer.control is None:
            return
        self.barriers -= waited
        self.operands.clear()
        if self.producer.control.write_barrier in waited and not self.is_fixed:
            self.results.clear()

    def _read(self, consumer: Instruction, access: Access) -> Iterator[Need]:
        is_guard = access.guard in self.results
        read = self.results.intersection(access.reads)
        if consumer.opcode in TRANSFERS and any(register >= PREDICATE for register in read):
            is_guard = True
        if not self.is_fixed and (is_guard or read):
            yield None, "result"
            return
        if is_guard:
            yield self.timing.guard_cycles(self.producer), "guard"
        if read:
            yield self.timing.raw_cycles(self.producer, consumer), "result"

    def _written(self, consumer: Instruction, access: Access) -> Iterator[Need]:
        again = self.results.intersection(access.writes)
        if not again:
            return
        first = self.timing.result_cycles(self.producer) if self.is_fixed else None
        if first is None:
            yield None, "overwrite"
        elif self.timing.is_fixed(consumer):
            second = self.timing.result_cycles(consumer)
            yield None if second is None else max(1, first - second + 1), "overwrite"
        else:
            yield first, "overwrite"
        if access.guard is None:
            self.results -= again
