"""Cycles that must pass between two instructions of one warp, from the architecture's file.

Distances are those that the vendor's assembler keeps; what no rule covers is None, and a caller
must then assume that nothing can be saved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..parsers.record import dataclass
from .hardware import Timing
from .instructions import InstructionInfo

ANY = "*"


@dataclass(frozen=True, slots=True)
class IssueTiming:
    """The rules of one architecture."""

    timing: Timing

    def raw_cycles(self, producer: InstructionInfo, reader: InstructionInfo) -> int | None:
        """Give the cycles from issuing a producer to issuing a reader of its result.

        None for a producer of variable or unknown latency. An override for the two decides; else
        the latency of the producer, more where the reader sits on another pipe.
        """
        between, latency = self.timing.between, producer.latency_cycles
        if latency is None:
            return None
        exact = _first(between, _pairs(producer, reader))
        if exact is not None:
            return exact
        other_pipe = producer.pipe != reader.pipe
        read_late = _first(between, (f"{ANY}>{end}" for end in (reader.timing, reader.pipe)))
        leaves = _first(between, (f"{end}>{ANY}" for end in (producer.timing, producer.pipe)))
        if other_pipe and leaves is not None:
            latency = leaves
        elif other_pipe and read_late is None:
            extra = self.timing.distances.get("cross_pipe_extra")
            return None if extra is None else latency + extra
        return max(latency, read_late or 0)

    def guard_cycles(self, producer: InstructionInfo) -> int | None:
        """Give the cycles from a producer of a predicate to an instruction guarded by it."""
        if producer.latency_kind != "fixed":
            return None
        uniform = producer.family == "uniform"
        name = "uniform_predicate_to_guard" if uniform else "predicate_to_guard"
        return self.timing.distances.get(name)

    def distance(self, name: str) -> int | None:
        """Give one of the general distances: scoreboard_to_wait, control_stall, ..."""
        return self.timing.distances.get(name)


def _pairs(producer: InstructionInfo, reader: InstructionInfo) -> Iterator[str]:
    for first in (producer.timing, producer.pipe):
        for second in (reader.timing, reader.pipe):
            yield f"{first}>{second}"


def _first(between: Mapping[str, int], names: Iterable[str]) -> int | None:
    return next((between[name] for name in names if name in between), None)
