"""The cubins of this folder are disassembled beside the tests, from the last one on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from threading import Event, Thread

import pytest

from kneck.parsers.disassembly import read_target

from .subjects import BY_ID, cubin


@pytest.fixture(scope="session", autouse=True)
def disassembled_ahead(own_folders: None) -> Iterator[None]:
    """Fill the cache from the other end, so that the disassembler has a processor of its own.

    Workers of a parallel run have a processor each, and nothing to spare.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        yield
        return
    stopped = Event()

    def work() -> None:
        for kernel in reversed(BY_ID):
            if stopped.is_set():
                return
            if "pair" in BY_ID[kernel]:
                for id in (kernel, BY_ID[kernel]["pair"]["base"]):
                    read_target(str(cubin(id, "sm_86")))

    thread = Thread(target=work, daemon=True)
    thread.start()
    yield
    stopped.set()
    thread.join()
