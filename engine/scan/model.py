"""What the parts of a scan hand to each other; everything here can be sent to another process."""

from __future__ import annotations

from typing import Any

from ...parsers.record import dataclass

Row = dict[str, Any]  # one line of the output; the key "record" tells its kind
SCHEMA = "kneck.scan/1"


@dataclass(frozen=True)
class ScanOptions:
    """What the user asked for, as far as it shapes the result of a kernel."""

    arch: str | None = None
    kernel: str | None = None
    gpu: str | None = None
    block: str | None = None
    fail_on: str | None = None
    kb: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unit:
    """A piece of work: functions of one cubin, so many that reading them takes seconds.

    `place` is where the cubin lies now, `file` what the user called its file, `cubin` its name in
    the file (None where the file is the cubin). `symbols` are the indices of the functions in the
    symbol table, empty for all of them; `names` those that must turn up. A unit of SASS text has no
    architecture. `code_bytes` is the size of its functions where that is known. `is_large` tells
    that reading it takes much memory, `is_quick` that the disassembler needs no data-flow analysis.
    `key` changes with whatever could change the result.
    """

    key: str
    file: str
    place: str
    cubin: str | None
    arch: str | None
    symbols: tuple[int, ...]
    names: tuple[str, ...]
    is_last: bool
    code_bytes: int = 0
    is_large: bool = False
    is_quick: bool = False


@dataclass(frozen=True)
class Twin:
    """A kernel `name` whose code is that of `original`, which the unit of the key reads."""

    name: str
    original: str
    key: str


@dataclass(frozen=True)
class Twins:
    """Kernels of one cubin that earlier units of the scan read under other names or places.

    `unit` reads them themselves, for the case that one of the others could not be read.
    """

    twins: tuple[Twin, ...]
    unit: Unit


@dataclass(frozen=True)
class Remark:
    """Something that is written as it is: a file that cannot be read, code that is passed over."""

    row: Row


def error_row(file: str, cubin: str | None, what: str, help: str | None, **more: Any) -> Row:
    """Give the row of something that could not be read."""
    return {"record": "error", "file": file, "cubin": cubin, **more, "what": what, "help": help}


def skipped_row(file: str, cubin: str | None, what: str) -> Row:
    """Give the row of code that kneck does not read, which is no fault of the file."""
    return {"record": "skipped", "file": file, "cubin": cubin, "what": what}


def cubin_row(
    file: str,
    cubin: str | None,
    arch: str | None,
    kernels: int = 0,
    functions: int = 0,
    instructions: int = 0,
) -> Row:
    """Give the row that sums up a cubin."""
    place = {"record": "cubin", "file": file, "cubin": cubin, "arch": arch}
    return {**place, "kernels": kernels, "functions": functions, "instructions": instructions}
