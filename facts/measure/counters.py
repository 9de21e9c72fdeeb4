"""What a profiler counted: launches with their metrics in base units.

Base units: byte, nanosecond, per second, percent as printed (0 to 100), everything else a count.
Names are Nsight Compute's own; which fact a metric supports is data (`kb/ncu_metrics.yaml`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from math import isfinite

from ...parsers.errors import KneckError, Place
from ...parsers.record import dataclass

PREFIXES = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "k": 1e3}
TIMES_NS = {
    "s": 1e9, "second": 1e9, "ms": 1e6, "msecond": 1e6, "us": 1e3, "usecond": 1e3, "ns": 1.0,
    "nsecond": 1.0, "sec": 1e9,
}  # fmt: skip
SIZE = re.compile(r"([KMGTk]?)(byte|hz|inst|sector|request|cycle|warp)s?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One instruction of the source page: what it did and where its warps waited.

    `offset` is in bytes from the start of the kernel; `stalls` counts samples by reason.
    """

    offset: int
    sass: str
    executed: int | None
    samples: int | None
    stalls: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class LaunchCounters:
    """One profiled launch; `opcodes` counts executed warp instructions."""

    kernel: str
    number: int
    place: Place
    grid: tuple[int, ...] | None = None
    block: tuple[int, ...] | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    opcodes: Mapping[str, int] = field(default_factory=dict)
    rows: tuple[SourceRow, ...] = ()


def in_base_unit(value: float, unit: str) -> float:
    """Convert a value from the unit that Nsight Compute printed; old and new spellings."""
    numerator, _, denominator = unit.partition("/")
    if numerator.lower() == "cycle" and denominator in TIMES_NS:  # a frequency, older versions
        return value * 1e9 / TIMES_NS[denominator]
    value *= _factor(numerator)
    if denominator in TIMES_NS:
        return value * 1e9 / TIMES_NS[denominator]
    return value / _factor(denominator)


def _factor(unit: str) -> float:
    if unit in TIMES_NS:
        return TIMES_NS[unit]
    match = SIZE.match(unit)
    return PREFIXES.get(match[1], 1.0) if match else 1.0


def number(text: str) -> float | None:
    """Read a printed number, thousands separators and all; None for what is no number."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if isfinite(value) else None  # nan: a metric that this launch does not have


def whole(text: str) -> int | None:
    """Read a launch's number; None for what is none."""
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None


def dimensions(text: str) -> tuple[int, ...] | None:
    """Read `(64, 64, 1)`."""
    found = re.fullmatch(r"\(\s*(\d{1,10}),\s*(\d{1,10}),\s*(\d{1,10})\)", text.strip())
    return tuple(map(int, found.groups())) if found else None


def opcodes_of(rows: Iterable[SourceRow]) -> dict[str, int]:
    """Add up the executed instructions of a source page by opcode."""
    counts: dict[str, int] = {}
    for row in rows:
        words = [word for word in row.sass.split() if not word.startswith("@")]
        if words and row.executed:
            opcode = words[0].split(".")[0].rstrip(";")
            counts[opcode] = counts.get(opcode, 0) + row.executed
    return counts


def kernel_base(name: str) -> str:
    """Give a demangled kernel name without return type, parameters and template arguments."""
    head = re.sub(r"<.*>", "", name.split("(")[0] if "(" in name else name)
    return head.split()[-1].split("::")[-1] if head.split() else name


def choose_launch(
    launches: Sequence[LaunchCounters], kernel: str | None, path: str
) -> tuple[LaunchCounters, int]:
    """Pick the launches of one kernel, and of these the one with the median duration.

    Gives it and how many there were. Raises KneckError, with the names, where several kernels
    were profiled and none or an unknown one is asked for.
    """
    if not launches:
        raise KneckError("the report holds no kernel", Place(path), "profile with --set full")
    names = sorted({launch.kernel for launch in launches})
    matching = _matching(names, kernel)
    if len(matching) != 1:
        listed = "".join(f"\n    {name}" for name in (matching or names))
        what = (
            f"the report has {len(names)} kernels:{listed}"
            if kernel is None or len(matching) > 1
            else f'the report has no kernel "{kernel}", only:{listed}'
        )
        raise KneckError(what, Place(path), "name one with --kernel")
    chosen = [launch for launch in launches if launch.kernel == matching[0]]
    timed = [launch for launch in chosen if DURATION in launch.metrics]
    ordered = sorted(timed, key=lambda launch: launch.metrics[DURATION]) or chosen
    return ordered[len(ordered) // 2], len(chosen)


DURATION = "gpu__time_duration.sum"


def _matching(names: Sequence[str], kernel: str | None) -> list[str]:
    if kernel is None:
        return list(names)
    for test in (
        lambda name: name == kernel,
        lambda name: kernel_base(name) == kernel_base(kernel),
        lambda name: kernel in name,
        lambda name: kernel_base(name) in kernel,  # a mangled name holds the plain one
    ):
        found = [name for name in names if test(name)]
        if found:
            return found
    return []
