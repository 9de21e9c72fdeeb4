"""Keep the cycle collector out of work that makes very many records and no cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector: its walks over a million records took a third of the time.

    Measured on listings of 15,000 to 113,000 instructions.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
