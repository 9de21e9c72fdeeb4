"""A pool of processes that does units in any order and gives them back in the order of the plan."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection

from ...parsers.record import dataclass
from .journal import Journal
from .model import ScanOptions, Unit, error_row
from .plan import Item
from .work import Worker

AHEAD = 32  # items per process that may wait for an earlier one; their rows are on the disk
QUEUED = 2  # units per process: the one that it does, and the next

_worker: Worker | None = None


def start_process(options: ScanOptions, journal: Journal, stop: connection.Connection) -> None:
    """Make a process of the pool ready: it ends, with its disassembler, when the scan does."""
    global _worker
    if hasattr(os, "setsid"):
        os.setsid()  # an interrupt from the terminal is for the scan, which then closes `stop`
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(stop,), daemon=True).start()
    gc.disable()  # `Remains` collects after every few functions
    _worker = Worker(options, journal)
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


class _Processes:
    """Processes that do units; `end` ends them now, and what they have not finished is lost."""

    def __init__(self, options: ScanOptions, journal: Journal, jobs: int) -> None:
        context = multiprocessing.get_context("spawn")
        reader, self._stop = context.Pipe(duplex=False)
        arguments = (options, journal, reader)
        self._executor = ProcessPoolExecutor(jobs, context, start_process, arguments)

    def start(self, unit: Unit) -> Future[None]:
        return self._executor.submit(do_unit, unit)

    def end(self) -> None:
        self._stop.close()
        self._executor.shutdown(wait=True, cancel_futures=True)


@dataclass
class _Waiting:
    item: Item
    unit: Unit | None = None  # what is to be done, until a process has been given it
    future: Future[None] | None = None

    @property
    def is_done(self) -> bool:
        return self.unit is None and (self.future is None or self.future.done())

    @property
    def is_running(self) -> bool:
        return self.future is not None and not self.future.done()

    @property
    def is_large(self) -> bool:
        return isinstance(self.item, Unit) and self.item.is_large

    @property
    def code_bytes(self) -> int:
        return self.item.code_bytes if isinstance(self.item, Unit) else 0


class Pool:
    """Runs units; with one job everything stays in this process.

    One large unit runs at a time, and starts as soon as none does: the other processes go on with
    those behind it. When all are known the longest start first, so that no process is left alone
    with one at the end.
    """

    def __init__(self, options: ScanOptions, journal: Journal, jobs: int) -> None:
        self.options = options
        self.journal = journal
        self.jobs = jobs
        self._here: Worker | None = None
        self._processes: _Processes | None = None
        self._all_known = False

    def run(self, items: Iterator[Item]) -> Iterator[Item]:
        """Give each item back when it is done and everything before it is."""
        waiting: deque[_Waiting] = deque()
        try:
            for item in items:
                waiting.append(self._planned(item))
                self._start(waiting)
                while waiting and (waiting[0].is_done or len(waiting) >= AHEAD * self.jobs):
                    yield self._finished(waiting)
            self._all_known = True
            while waiting:
                yield self._finished(waiting)
        finally:
            self._end()

    def _planned(self, item: Item) -> _Waiting:
        if not isinstance(item, Unit) or self.journal.has(item.key):
            return _Waiting(item)
        if self.jobs > 1:
            return _Waiting(item, item)
        self._do_here(item)
        return _Waiting(item)

    def _do_here(self, unit: Unit) -> None:
        if self._here is None:
            self._here = Worker(self.options, self.journal)
        self._here.do(unit)

    def _start(self, waiting: deque[_Waiting]) -> None:
        """Give the processes as much as they can do, and a unit each to go on with."""
        try:
            self._submit(waiting)
        except BrokenProcessPool:
            self._after_crash(waiting)

    def _submit(self, waiting: deque[_Waiting]) -> None:
        running = [each for each in waiting if each.is_running]
        count, has_large = len(running), any(each.is_large for each in running)
        opened = [each for each in waiting if each.unit is not None]
        # A large one must not wait behind others when its turn comes.
        most = self.jobs if any(each.is_large for each in opened) else QUEUED * self.jobs
        for each in sorted(opened, key=self._urgency):
            if each.unit is None or (has_large and each.is_large):
                continue
            if count >= most:
                return
            if self._processes is None:
                self._processes = _Processes(self.options, self.journal, self.jobs)
            each.future = self._processes.start(each.unit)
            each.unit = None
            count, has_large = count + 1, has_large or each.is_large

    def _urgency(self, waiting: _Waiting) -> tuple[bool, int]:
        return not waiting.is_large, -waiting.code_bytes if self._all_known else 0

    def _finished(self, waiting: deque[_Waiting]) -> Item:
        """Wait for the first item; what becomes free meanwhile goes on with others."""
        first = waiting[0]
        while not first.is_done:
            self._start(waiting)
            running = [e.future for e in waiting if e.future is not None and e.is_running]
            wait(running, return_when=FIRST_COMPLETED)
        self._start(waiting)
        try:
            if first.future is not None:
                first.future.result()
        except BrokenProcessPool:
            self._after_crash(waiting)
        return waiting.popleft().item

    def alone(self, unit: Unit) -> None:
        """Do a unit now, apart from all others: it may end its process."""
        if self.journal.has(unit.key):
            return
        if self.jobs == 1:
            self._do_here(unit)
            return
        processes = _Processes(self.options, self.journal, 1)
        try:
            processes.start(unit).result()
        except BrokenProcessPool:
            what = "the process that read it was ended, by the system or by a crash"
            help = "scan with --jobs 1, or with more memory"
            self.journal.write(unit.key, [error_row(unit.file, unit.cubin, what, help)])
        finally:
            processes.end()

    def _after_crash(self, waiting: deque[_Waiting]) -> None:
        """A process died and took the pool with it: find the unit that kills, one by one."""
        self._end()
        for each in waiting:
            if each.unit is None and isinstance(each.item, Unit):
                each.future = None
                self.alone(each.item)

    def _end(self) -> None:
        if self._processes is not None:
            self._processes.end()
            self._processes = None
