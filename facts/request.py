"""What the user asks and gives: the target and everything that is not in the compiled kernel."""

from __future__ import annotations

from dataclasses import field

from ..parsers.record import dataclass


@dataclass(frozen=True)
class Request:
    """One question to kneck, as options or keyword arguments gave it; nothing is checked yet.

    `what_if` holds `NAME=VALUE` texts, `kb` the overlay folders in the order given.
    """

    target: str
    kernel: str | None = None
    gpu: str | None = None
    arch: str | None = None
    build: str | None = None
    resources: str | None = None
    problem: str | None = None
    grid: str | None = None
    block: str | None = None
    dynamic_smem: int | None = None
    carveout: int | None = None
    time_ms: float | None = None
    bench: str | None = None
    bench_time: str | None = None
    args: str | None = None
    measure: bool = False
    ncu: str | None = None
    expect: float | None = None
    peaks: str | None = None
    what_if: tuple[str, ...] = ()
    kb: tuple[str, ...] = ()
    command: str = ""
    stdin: str | bytes | None = field(default=None, repr=False)
