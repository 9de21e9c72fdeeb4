"""One unit of work from the disassembler to its rows; this runs in the processes of the pool."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from ...parsers.cubin import Cubin, read_cubin
from ...parsers.errors import KneckError
from ...parsers.listing import Function, ResourceRecord
from ...parsers.stream import stream_cubin
from .journal import Journal
from .kernel import Analyst
from .limit import bounded_time
from .memory import Remains
from .model import Row, ScanOptions, Unit, error_row
from .text import functions_of


class Worker:
    """Does units and leaves their rows in the journal."""

    def __init__(self, options: ScanOptions, journal: Journal) -> None:
        self.analyst = Analyst(options)
        self.journal = journal
        self.remains = Remains()
        self.options = options
        self.names_only = options.kernel is not None

    def do(self, unit: Unit) -> None:
        """Write the rows of a unit; whatever is wrong with the code is one of them."""
        self.journal.write(unit.key, self._rows(unit))

    def _rows(self, unit: Unit) -> Iterator[Row]:
        functions = instructions = kernels = 0
        archs: set[str] = set()
        lacking = dict.fromkeys(unit.names)
        place = {"file": unit.file, "cubin": unit.cubin}
        error: Row | None = None
        try:
            records = self._records(unit)
            for function in self._functions(unit):
                if self.names_only and unit.arch is not None and function.name not in lacking:
                    continue
                archs.add(function.arch)
                functions += 1
                instructions += len(function.instructions)
                record = records.get(function.name)
                lacking.pop(function.name, None)
                if (function.is_entry if record is None else record.is_entry) is False:
                    continue
                kernels += 1
                yield self._kernel(function, record, unit)
                self.remains.add(len(function.instructions))
        except KneckError as told:
            error = error_row(unit.file, unit.cubin, told.what, told.help)
        except OSError as told:
            reason = (told.strerror or str(told)).lower()
            error = error_row(unit.file, unit.cubin, f"cannot read it: {reason}", None)
        if error is None and lacking:
            what = "the disassembler printed nothing for it"
            for name in lacking:
                yield error_row(unit.file, unit.cubin, what, None, kernel=name)
        if error is not None:
            yield error
        counts = {"kernels": kernels, "functions": functions, "instructions": instructions}
        yield {"record": "part", **place, "arch": " ".join(sorted(archs)), **counts}

    def _functions(self, unit: Unit) -> Iterator[Function]:
        if unit.arch is None:
            return functions_of(unit.place, self.options)
        return stream_cubin(
            unit.place, unit.file, unit.arch, unit.symbols, unit.names, unit.is_quick
        )

    def _records(self, unit: Unit) -> dict[str, ResourceRecord]:
        if unit.arch is None:
            return {}
        reserve = tuple(sorted(self.analyst.setting.reserve_bytes.items()))
        return {record.name: record for record in _cubin(unit.place, unit.file, reserve).records}

    def _kernel(self, function: Function, record: ResourceRecord | None, unit: Unit) -> Row:
        place = {"file": unit.file, "cubin": unit.cubin}
        try:
            with bounded_time():
                return {"record": "kernel", **place, **self.analyst.kernel(function, record)}
        except KneckError as error:
            what, help = error.what, error.help
        except Exception as error:  # code that breaks kneck must not break the scan of the rest
            told = (str(error).splitlines() or ["no message"])[0]
            what = f"internal error, {type(error).__name__}: {told}"
            help = "this is a fault of kneck; report it with the cubin"
        return error_row(
            unit.file, unit.cubin, what, help, kernel=function.name,
            instructions=len(function.instructions),
        )  # fmt: skip


@lru_cache(maxsize=1)
def _cubin(place: str, shown: str, reserve: tuple[tuple[str, int], ...]) -> Cubin:
    """Parts of one cubin follow each other, so the last one read is kept."""
    return read_cubin(Path(place).read_bytes(), shown, dict(reserve))
