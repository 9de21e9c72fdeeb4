"""What an instruction leaves open for the next ones: results, operands, scoreboards, its pipe.

A walk along one path closes these one after another and says at each instruction how far it must
stand from the first one.
"""

from __future__ import annotations

from typing import Literal

from .dep_operands import PREDICATE
from .dep_steps import BARRIERS, PARTIAL_WAIT, Step
from .dep_timing import Timing, Traits
from .flow_branches import TRANSFERS

Reason = Literal["result", "guard", "overwrite", "operand", "scoreboard", "pipe", "order"]
Need = tuple[int | None, Reason]  # cycles from the first instruction; None keeps the present ones


class Window:
    """What is still open of one instruction, the first of a path."""

    __slots__ = (
        "barriers", "is_first", "operands", "orders", "pipe", "producer", "results", "timing",
    )  # fmt: skip

    def __init__(self, producer: Step, timing: Timing) -> None:
        self.producer = producer
        self.timing = timing
        self.results = producer.writes
        self.operands = producer.reads
        self.barriers = producer.sets
        self.pipe = producer.traits.pipe if producer.holds_pipe else None
        self.orders = producer.instruction.opcode in BARRIERS
        self.is_first = True  # nothing of the path was met yet

    def copy(self) -> Window:
        """Give an independent copy, for another path."""
        other = Window.__new__(Window)
        for name in Window.__slots__:
            setattr(other, name, getattr(self, name))
        return other

    @property
    def is_closed(self) -> bool:
        """Tell whether nothing can depend on the producer any more."""
        return not (
            self.results or self.operands or self.barriers or self.pipe is not None or self.orders
        )

    @property
    def open(self) -> tuple[frozenset[int], frozenset[int], int, str | None, bool]:
        """Give what the next instruction may need or close.

        Results, operands, scoreboards, the pipe, and whether every next instruction must be met.
        The walk asks this itself, since most instructions concern nothing of it.
        """
        always = self.is_first or self.orders
        return self.results, self.operands, self.barriers, self.pipe, always

    def meet(self, consumer: Step) -> list[Need]:
        """Say what the next instruction of the path needs, and close what it ends."""
        found: list[Need] = []
        if self.is_first and consumer.is_opaque:
            found.append((None, "order"))
        elif self.orders and not consumer.traits.is_fixed:
            found.append((None, "order"))
            self.orders = False
        self.is_first = False
        if self.operands and not self.operands.isdisjoint(consumer.writes):
            self._read_late(consumer, found)
        if self.barriers & consumer.waited:
            found.append((self.timing.scoreboard_set_cycles, "scoreboard"))
            self._clear(consumer)
        if not self.results.isdisjoint(consumer.touched):
            self._read(consumer, found)
            if not self.results.isdisjoint(consumer.writes):
                self._written(consumer, found)
        if self.pipe is not None and consumer.traits.pipe == self.pipe:
            found.append((self.producer.traits.interval, "pipe"))
            self.pipe = None
        return found

    def _read_late(self, consumer: Step, found: list[Need]) -> None:
        """Keep a register until it has been read, late where the latency is variable."""
        if self.producer.traits.is_fixed:
            needed = self.timing.overwrite_cycles(self.producer.traits, consumer.traits)
            found.append((needed, "operand"))
        elif not self.barriers & consumer.waited:
            found.append((None, "operand"))

    def _clear(self, consumer: Step) -> None:
        """Close what a wait guarantees; DEPBAR may leave the youngest ones open."""
        control = self.producer.instruction.control
        if consumer.instruction.opcode == PARTIAL_WAIT or control is None:
            return
        waited = consumer.waited
        self.barriers &= ~waited
        self.operands = frozenset()
        if control.write_barrier is not None and waited >> control.write_barrier & 1:
            if not self.producer.traits.is_fixed:
                self.results = frozenset()

    def _read(self, consumer: Step, found: list[Need]) -> None:
        is_guard = consumer.access.guard in self.results
        is_read = not self.results.isdisjoint(consumer.reads)
        if is_read and consumer.instruction.opcode in TRANSFERS:
            is_guard |= any(register >= PREDICATE for register in self.results & consumer.reads)
        producer = self.producer.traits
        if not producer.is_fixed:
            if is_guard or is_read:
                found.append((None, "result"))
            return
        if is_guard:
            found.append((self.timing.guard_cycles(producer), "guard"))
        if is_read:
            found.append((self.timing.raw_cycles(producer, consumer.traits), "result"))

    def _written(self, consumer: Step, found: list[Need]) -> None:
        again = self.results & consumer.writes
        if not again:
            return
        if consumer.access.guard is not None and self.producer.traits.is_fixed:
            # Some lanes keep the old value; ptxas keeps the distance of a reader there.
            needed = self.timing.raw_cycles(self.producer.traits, consumer.traits)
            found.append((needed, "overwrite"))
        else:
            needed = overwrite_need(self.producer.traits, consumer.traits)
            found.append((needed, "overwrite"))
        if consumer.access.replaces:
            self.results = self.results - again


def overwrite_need(first: Traits, second: Traits) -> int | None:
    """Give the distance between two writers of a register: the second result must come later."""
    if not first.is_fixed or first.result is None:
        return None
    if not second.is_fixed:
        return first.result
    return None if second.result is None else max(1, first.result - second.result + 1)
