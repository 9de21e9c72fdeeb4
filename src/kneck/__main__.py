"""The program `kneck`, and `python -m kneck`: whatever happens, an exit status of the contract.

Nothing but the interpreter's own modules is imported before interrupts are looked after.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # `typing` takes longer to import than an interrupt should have to wait
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

INTERRUPTED = 130  # 128 + SIGINT, as a shell says it
AGAIN_S = 0.01  # after which an interrupt that Python dropped is made again

_interrupted = False


def run() -> NoReturn:
    """Run the command line of this process and end it.

    Python's own end is left out: it costs a twentieth of a short run, and it turns an interrupt
    that fell into evaluated text (a dataclass being made) into death by the signal, even where the
    interrupt was caught.
    """
    signal.signal(signal.SIGINT, _interrupt)
    sys.unraisablehook = _unraisable
    try:
        status = _status()
    except KeyboardInterrupt:
        status = INTERRUPTED
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("error: interrupted", file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):  # the reader is gone, or nobody ever listened
            continue
    os._exit(status)


def _status() -> int:
    from kneck.parsers import launch

    try:
        if sys.argv[1:2] == ["infer"] and len(sys.argv) > 2:
            launch.begin(sys.argv[2])  # before anything slow is imported
        from kneck.engine.cli import main

        status = main()
    finally:
        launch.give_up()
    if _interrupted and status != INTERRUPTED:  # dropped by Python, and the run was at its end
        raise KeyboardInterrupt
    return status


def _interrupt(signum: int, frame: FrameType | None) -> None:
    """Stop in good order the first time, at once the second time."""
    global _interrupted
    if _interrupted:
        os._exit(INTERRUPTED)
    _interrupted = True
    raise KeyboardInterrupt


def _unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """Make an interrupt again that fell into a destructor, where Python can only drop it."""
    if unraisable.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(unraisable)
    elif hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)


if __name__ == "__main__":
    run()
