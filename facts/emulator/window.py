"""Two stretches of the log that may be iterations of a steady loop."""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np

from ...parsers.record import dataclass
from .trace import Log, Touch
from .turns import as_signed, change_of

SECTOR = 32


_GLOBAL = frozenset({"LDG", "STG", "LD", "ST", "LDGSTS", "ATOM", "ATOMG", "RED", "REDG"})


@dataclass(frozen=True)
class Window:
    """Two stretches of the log of the same length, [start, middle) and [middle, end)."""

    log: Log
    start: int
    middle: int
    end: int

    def repeats(self) -> bool:
        """Tell whether both ran the same blocks, with the same threads, equally often."""
        log, s, m, e = self.log, self.start, self.middle, self.end
        return (
            not (log.guesses and log.guesses[-1] >= s)  # trips that data decides
            and log.blocks[s:m] == log.blocks[m:e]
            and log.weights[s:m] == log.weights[m:e]
            and all(a is b for a, b in zip(log.lanes[s:m], log.lanes[m:e], strict=True))
            and len(self.touches()[0]) == len(self.touches()[1])
        )

    def touches(self) -> tuple[list[Touch], list[Touch]]:
        """Give the accesses of both."""
        log = self.log
        first = log.first_touch[self.start]
        middle = log.first_touch[self.middle]
        return log.touches[first:middle], log.touches[middle:]

    def steps_between(self) -> list[int]:
        """Give the bytes between each access and the same one a window later, 0 if not known."""
        found = []
        for before, after in zip(*self.touches(), strict=True):
            delta = _moved(before, after)
            one = 0 if delta is None else int(np.asarray(delta).reshape(-1)[0])
            found.append(abs(int(as_signed(one))))
        return found

    def steps(self) -> int:
        """Count the control steps evaluated in one of them."""
        return sum(map(len, self.log.results[self.middle : self.end]))

    def alignment(self) -> int:
        """Give the number of windows after which global addresses moved by whole sectors."""
        wanted = 1
        for before, after in zip(*self.touches(), strict=True):
            if after.instruction.opcode not in _GLOBAL:
                continue
            delta = _moved(before, after)
            if delta is None:
                continue
            step = int(delta if type(delta) is int else np.asarray(delta).reshape(-1)[0])
            wanted = max(wanted, SECTOR // gcd(step % SECTOR or SECTOR, SECTOR))
        return wanted


def _moved(before: Touch, after: Touch) -> Any:
    """Give the change of an address, without adding up the same offset on both sides."""
    if before.offset == after.offset:
        return change_of(before.base, after.base)
    return change_of(before.low, after.low)
