"""A scan from start to end: plan, do, write."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ... import __version__
from ...parsers.errors import KneckError, Place
from ...parsers.launch import DISASSEMBLER
from ...parsers.record import dataclass
from ...parsers.tools import find_tool
from ...rules.overlay import shipped_folder
from ..code import code_stamp
from .baseline import Baseline
from .journal import Journal
from .kernel import Analyst
from .model import SCHEMA, Remark, Row, ScanOptions, Twins, Unit, cubin_row
from .output import Output
from .plan import Item, Planner
from .pool import Pool
from .progress import Progress, Tally
from .sarif import Sarif
from .settings import FILE
from .twin_rows import twin_rows
from .walk import check_paths
from .writers import Csv, JsonLines, Text, Writer

FORMAT = 1  # raised when the rows change
JOURNAL = ".journal"


@dataclass(frozen=True)
class Scan:
    """What to scan, and how and where the result is written."""

    paths: tuple[str, ...]
    options: ScanOptions
    jobs: int
    format: str = "jsonl"
    output: str | None = None
    resume: bool = False
    baseline: str | None = None


def scan(what: Scan) -> Tally:
    """Scan and write; raises KneckError for wrong use, before anything is written."""
    check_paths(what.paths)
    find_tool(DISASSEMBLER)
    analyst = Analyst(what.options)
    baseline = Baseline(what.baseline, analyst.settings.baseline) if what.baseline else None
    writer = _writer(what.format, analyst)
    tally = Tally()
    try:
        with (
            _journal(what) as journal,
            Output(what.output) as output,
            Progress(tally) as progress,
        ):
            stamp, reserve = _stamp(what.options, analyst), analyst.setting.reserve_bytes
            planner = Planner(what.options, stamp, journal.work, reserve)
            output.write(writer.start())
            for row in _rows(what, planner, journal, progress):
                if baseline is not None and row["record"] == "kernel":
                    row["regressions"] = baseline.regressions(row)
                tally.add(row)
                output.write(writer.row(row))
                if row["record"] == "cubin":
                    output.flush()
            output.write(writer.end())
            tally.files = planner.files
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        reason = error.strerror or str(error)
        where = error.filename if isinstance(error.filename, str) else None
        help = "make room, or name another output with -o FILE"
        raise KneckError(
            f"the scan cannot go on: {reason}", Place(where) if where else None, help
        ) from None
    return tally


def _rows(what: Scan, planner: Planner, journal: Journal, progress: Progress) -> Iterator[Row]:
    """Give all rows in the order of the plan; after the parts of a cubin a row that sums up."""
    yield {"record": "scan", "schema": SCHEMA, "version": __version__}

    def planned() -> Iterator[Item]:
        for item in planner.items(what.paths):
            progress.planned()
            yield item

    total = _nothing()
    pool = Pool(what.options, journal, what.jobs)
    for item in pool.run(planned()):
        if isinstance(item, Remark):
            yield item.row
        else:
            unit = item if isinstance(item, Unit) else item.unit
            arch = unit.arch
            for row in _rows_of(item, journal, pool):
                if row["record"] == "part":
                    total = {name: total[name] + row[name] for name in total}
                    arch = unit.arch or row["arch"]
                else:
                    yield row
            if unit.is_last:
                yield cubin_row(unit.file, unit.cubin, arch, **total)
                total = _nothing()
            planner.release(unit)
        progress.done()


def _rows_of(item: Unit | Twins, journal: Journal, pool: Pool) -> Iterable[Row]:
    if isinstance(item, Unit):
        return journal.rows(item.key)
    rows = twin_rows(item, journal)
    if rows is None:
        pool.alone(item.unit)
        return journal.rows(item.unit.key)
    return rows


def _nothing() -> dict[str, int]:
    return {"kernels": 0, "functions": 0, "instructions": 0}


def _writer(format: str, analyst: Analyst) -> Writer:
    if format == "csv":
        return Csv(analyst.settings.facts)
    if format == "sarif":
        return Sarif(analyst.settings, analyst.setting.knowledge)
    return Text() if format == "text" else JsonLines()


@contextmanager
def _journal(what: Scan) -> Iterator[Journal]:
    """Keep finished parts beside the output until it is whole; without one they are temporary."""
    if what.output is None:
        with tempfile.TemporaryDirectory(prefix="kneck-") as folder:
            journal = Journal(folder)
            journal.open(keep=False)
            yield journal
        return
    journal = Journal(what.output + JOURNAL)
    journal.open(keep=what.resume)
    try:
        yield journal
    except BaseException:
        journal.leave()
        raise
    journal.remove()


def _stamp(options: ScanOptions, analyst: Analyst) -> str:
    """Name everything but the cubin that the rows of a unit depend on."""
    folders = [(folder.name, folder.hash) for folder in analyst.setting.knowledge.folders]
    settings = hashlib.sha256((shipped_folder().path / FILE).read_bytes()).hexdigest()
    tool = find_tool(DISASSEMBLER).identity
    known = (analyst.setting.hardware.key, folders, settings, tool, code_stamp())
    return repr((FORMAT, __version__, known, options))
