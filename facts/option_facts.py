"""What the options say, checked and as facts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..parsers.errors import KneckError
from .launch_facts import axes
from .model import Fact, Missing, Source, Value
from .occupancy import LARGEST_BITS
from .request import Request


def option_facts(
    request: Request,
    most_threads: int | None = None,
    most_blocks: tuple[int, int, int] | None = None,
) -> tuple[list[Fact], list[Missing]]:
    """Give the facts of launch, time and expectation; raises KneckError for impossible values.

    `most_threads` is the largest block that the hardware takes, `most_blocks` the largest grid.
    """
    facts = [*_launch(request, most_threads, most_blocks), *_time(request)]
    if request.expect is not None:
        share = request.expect
        if not 0 < share <= 100:
            raise KneckError(
                f"--expect {share:g} is not a share in percent", help="give more than 0, up to 100"
            )
        facts.append(_option("baseline.expected_fraction", share / 100, "", "--expect", share))
    return facts, _missing(facts)


def _missing(facts: list[Fact]) -> list[Missing]:
    known = {fact.name for fact in facts}
    wanted = {
        "launch.grid": "--grid was not given",
        "launch.block": "--block was not given",
        "launch.dynamic_smem": "the launch was not given",
        "baseline.time_ms": "no time was given",
        "baseline.warmup_launches": "what ran before the measured launch is not known",
    }
    found = [Missing(name, text) for name, text in wanted.items() if name not in known]
    if "baseline.expected_fraction" not in known:  # nobody owes an expectation
        found.append(Missing("baseline.expected_fraction", "nothing is expected", applies=False))
    return found


def _launch(
    request: Request, most_threads: int | None, most_blocks: tuple[int, int, int] | None
) -> list[Fact]:
    facts = []
    for name, text in (("grid", request.grid), ("block", request.block)):
        if text is None:
            continue
        sizes = _axes(f"--{name}", text)
        if name == "block" and most_threads is not None and math.prod(sizes) > most_threads:
            raise KneckError(
                f"--block {text}: a block of {math.prod(sizes)} threads cannot be launched",
                help=f"give 1 to {most_threads} threads per block",
            )
        if name == "grid" and most_blocks is not None:
            _check_grid(text, sizes, most_blocks)
        facts.append(_option(f"launch.{name}", ",".join(map(str, sizes)), "", f"--{name}", text))
    if request.dynamic_smem is not None:
        smem = request.dynamic_smem
        if smem < 0:
            raise KneckError(f"--dynamic-smem {smem} is negative", help="give 0 or more bytes")
        if smem.bit_length() > LARGEST_BITS:
            what = f"--dynamic-smem: a number of {len(str(smem))} digits is no size"
            raise KneckError(what, help="give a size that hardware could have")
        facts.append(_option("launch.dynamic_smem", smem, "B", "--dynamic-smem", smem))
    elif request.block is not None:
        detail = "--dynamic-smem not given; a launch without it has none"
        facts.append(Fact("launch.dynamic_smem", 0, "B", Source("option", detail)))
    if request.carveout is not None:
        carveout = request.carveout
        if not 0 <= carveout <= 100:
            raise KneckError(f"--carveout {carveout} is not a percentage", help="give 0 to 100")
        facts.append(_option("occupancy.carveout", carveout, "", "--carveout", carveout))
    return facts


def _check_grid(text: str, sizes: Sequence[int], most: Sequence[int]) -> None:
    for axis, size, limit in zip("xyz", sizes, most, strict=False):
        if size > limit:
            raise KneckError(
                f"--grid {text}: a grid of {size:,} blocks in {axis} cannot be launched",
                help=f"give at most {limit:,} blocks in {axis}",
            )


def _axes(option: str, text: str) -> tuple[int, ...]:
    try:
        return axes(text)
    except (ValueError, OverflowError):
        raise KneckError(
            f"{option} {text}: not one to three sizes of at least 1", help=f"write {option} 32,32"
        ) from None


def _time(request: Request) -> list[Fact]:
    time = request.time_ms
    if time is None:
        return []
    if not (math.isfinite(time) and time > 0):
        raise KneckError(
            f"--time-ms {time:g} is not a time", help="give the kernel time in ms, more than 0"
        )
    return [
        _option("baseline.time_ms", time, "ms", "--time-ms", time),
        _option("baseline.time_source", "given", "", "--time-ms", time),
    ]


def _option(name: str, value: Value, unit: str, option: str, given: object) -> Fact:
    return Fact(name, value, unit, Source("option", f"{option} {given}"))
