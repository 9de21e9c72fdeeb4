"""Memory that a large function leaves behind, given back to the system."""

from __future__ import annotations

import ctypes
import gc
import sys

OFTEN_ENOUGH = 40_000  # instructions; giving back takes as long as analysing a thousand of them
THOROUGH = 10  # rounds between those that look at old objects too, which take ten times as long


class Remains:
    """Counts what was read, and gives memory back after every few large functions.

    The C library keeps what was freed between blocks that stay: without this a process that had
    read a function of 47,000 instructions held on to a hundred megabytes.
    """

    def __init__(self) -> None:
        self.instructions = 0
        self.rounds = 0
        self._trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if _has_glibc() else None

    def add(self, instructions: int) -> None:
        """Count a function that is read and left."""
        self.instructions += instructions
        if self.instructions >= OFTEN_ENOUGH:
            self.instructions = 0
            self.rounds += 1
            gc.collect(2 if self.rounds % THOROUGH == 0 else 0)
            if self._trim is not None:
                self._trim(0)


def _has_glibc() -> bool:
    return sys.platform == "linux"
