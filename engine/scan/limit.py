"""A bound on the time that one function may take, so that adversarial code cannot stop a scan."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LONGEST_FUNCTION_S = 120  # processor time; the slowest function met so far took 1 s


class TooLong(Exception):
    """The time is over."""


@contextmanager
def bounded_time(seconds: float = LONGEST_FUNCTION_S) -> Iterator[None]:
    """Raise TooLong in the block when it has used so much processor time, where the system can."""
    can = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not can:
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong(f"the analysis took more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
