"""The work of a launch while a remedy changes it: what it touches, and how often it runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from ..parsers.record import dataclass
from .accesses import Access, repeated
from .anchor import loop_regions
from .bounds import Work
from .emulator.emulate import Emulation
from .executed import Executed
from .l1_cache import Hits
from .launch_work import LaunchWork
from .spans import Span


@dataclass(frozen=True)
class Figures:
    """Figures of kb/method.yaml that remedies rest on.

    `ops_per_load`: what register tiles reach. `loads_of_row`: loads per product when a thread
    computes a row of outputs, over those of one output. `traffic_of_larger_tile`: bytes per product
    of a tile with one side doubled, over those of a square one. `random_ways`: wavefronts of a
    shared atomic whose 32 lanes fall anywhere. `filled`: part of the bytes of the sectors touched
    from which lanes fill them; edges of arrays leave some empty.
    """

    ops_per_load: float
    loads_of_row: float
    traffic_of_larger_tile: float
    random_ways: float
    filled: float


@dataclass
class Draft:
    """Work that is being changed: accesses by address, and factors of the executions."""

    found: LaunchWork
    accesses: dict[int, Access]
    hits: dict[int, Hits]
    counts: dict[int, Span]
    most_dram_bytes: float = math.inf

    def scale(self, address: int, factor: float) -> None:
        """Let an instruction run that often, and touch as much less."""
        if address in self.counts:
            self.counts[address] = self.counts[address].times(factor)
        access = self.accesses.get(address)
        if access is not None:
            self.accesses[address] = repeated(access, factor)

    def drop(self, address: int) -> None:
        """Take an instruction away."""
        self.counts.pop(address, None)
        self.accesses.pop(address, None)

    def finished(self) -> Work:
        """Give the work, with the traffic that its accesses cause."""
        work = self.found.work
        accesses = tuple(self.accesses.values())
        executed = Executed(self.counts, work.executed.basis, work.executed.doubts)
        flow = self.found.flow(accesses, self.hits)
        if flow is not None and flow.dram_bytes.value > self.most_dram_bytes:
            moved = flow.dram_bytes.times(self.most_dram_bytes / flow.dram_bytes.value)
            flow = replace(flow, dram_bytes=moved)
        return replace(work, executed=executed, accesses=accesses, traffic=flow)


def unchanged(found: LaunchWork) -> Draft:
    """Start from the work as it is."""
    work = found.work
    accesses = {access.address: access for access in work.accesses}
    return Draft(found, accesses, dict(found.hits), dict(work.executed.counts))


def looping(emulation: Emulation) -> Callable[[int], bool]:
    """Tell what stands in a loop; without loops, everything does."""
    regions = loop_regions(emulation)
    return lambda address: not regions or any(a <= address <= b for a, b in regions)
