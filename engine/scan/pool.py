"""A pool of processes that does units in any order and gives them back in the order of the plan."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from multiprocessing.synchronize import Lock

from ...parsers.record import dataclass
from .journal import Journal
from .model import Remark, ScanOptions, Unit, error_row
from .plan import Item
from .work import Worker

AHEAD = 8  # units per process that may wait for an earlier one; their rows are on the disk

_worker: Worker | None = None


def start_process(
    options: ScanOptions, journal: Journal, stop: connection.Connection, turn: Lock
) -> None:
    """Make a process of the pool ready: it ends, with its disassembler, when the scan does."""
    global _worker
    if hasattr(os, "setsid"):
        os.setsid()  # an interrupt from the terminal is for the scan, which then closes `stop`
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(stop,), daemon=True).start()
    gc.disable()  # `Remains` collects after every few functions
    _worker = Worker(options, journal, turn)
    gc.freeze()  # the knowledge base stays for good; no collection need walk over it


def _end_with(stop: connection.Connection) -> None:
    connection.wait([stop])
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def do_unit(unit: Unit) -> None:
    """Do a unit in a process of the pool."""
    assert _worker is not None
    _worker.do(unit)


@dataclass
class _Waiting:
    item: Item
    future: Future[None] | None


class Pool:
    """Runs units; with one job everything stays in this process."""

    def __init__(self, options: ScanOptions, journal: Journal, jobs: int) -> None:
        self.options = options
        self.journal = journal
        self.jobs = jobs
        self._here: Worker | None = None
        self._executor: ProcessPoolExecutor | None = None
        self._stop: connection.Connection | None = None

    def run(self, items: Iterator[Item]) -> Iterator[Item]:
        """Give each item back when it is done and everything before it is."""
        waiting: deque[_Waiting] = deque()
        try:
            for item in items:
                waiting.append(_Waiting(item, self._start(item)))
                while waiting and (self._is_done(waiting[0]) or self._is_full(waiting)):
                    yield self._finished(waiting)
            while waiting:
                yield self._finished(waiting)
        finally:
            self._end()

    def _start(self, item: Item) -> Future[None] | None:
        if isinstance(item, Remark) or self.journal.has(item.key):
            return None
        if self.jobs == 1:
            if self._here is None:
                self._here = Worker(self.options, self.journal)
            self._here.do(item)
            return None
        if self._executor is None:
            self._executor = self._open(self.jobs)
        return self._executor.submit(do_unit, item)

    def _is_done(self, first: _Waiting) -> bool:
        return first.future is None or first.future.done()

    def _is_full(self, waiting: deque[_Waiting]) -> bool:
        return sum(each.future is not None for each in waiting) >= AHEAD * self.jobs

    def _finished(self, waiting: deque[_Waiting]) -> Item:
        first = waiting[0]
        if first.future is not None:
            try:
                first.future.result()
            except BrokenProcessPool:
                self._after_crash(waiting)
        return waiting.popleft().item

    def _after_crash(self, waiting: deque[_Waiting]) -> None:
        """A process died and took the pool with it: find the unit that kills, one by one."""
        self._end()
        for each in waiting:
            unit = each.item
            each.future = None
            if isinstance(unit, Remark) or self.journal.has(unit.key):
                continue
            alone = self._open(1)
            try:
                alone.submit(do_unit, unit).result()
            except BrokenProcessPool:
                what = "the process that read it was ended, by the system or by a crash"
                help = "scan with --jobs 1, or with more memory"
                self.journal.write(unit.key, [error_row(unit.file, unit.cubin, what, help)])
            finally:
                self._end(alone)

    def _open(self, jobs: int) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        reader, self._stop = context.Pipe(duplex=False)
        arguments = (self.options, self.journal, reader, context.Lock())
        return ProcessPoolExecutor(jobs, context, start_process, arguments)

    def _end(self, executor: ProcessPoolExecutor | None = None) -> None:
        """End the processes now; what they have not finished is not in the journal."""
        executor = executor or self._executor
        if self._stop is not None:
            self._stop.close()
            self._stop = None
        if executor is not None:
            executor.shutdown(wait=True, cancel_futures=True)
        self._executor = None
