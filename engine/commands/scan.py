"""`kneck scan PATH...`: every kernel in libraries, objects and folders."""

from __future__ import annotations

import os
import signal
from types import FrameType

import click

from ...parsers.errors import KneckError


@click.command(
    epilog="Example: kneck scan build/ --fail-on 'loop.spill_accesses > 0' -o scan.jsonl"
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--kernel", metavar="NAME", help="Only kernels of this name, or a part of it.")
@click.option("--arch", metavar="sm_XX", help="Only code for this architecture.")
@click.option("--gpu", metavar="NAME", help="Judge by this device instead of the code's limits.")
@click.option("--block", metavar="X[,Y[,Z]]", help="Block size to assume for every kernel.")
@click.option("--kb", multiple=True, metavar="DIR", help="Further knowledge folder.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes [default: CPUs].")
@click.option("--fail-on", metavar="EXPR", help="Exit 1 when this holds for any kernel.")
@click.option("--baseline", metavar="FILE", help="An earlier scan (JSON Lines) to compare with.")
@click.option("--fail-on-regression", is_flag=True, help="Exit 1 when a kernel got worse.")
@click.option("--resume", is_flag=True, help="Go on with an interrupted scan of this output.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["jsonl", "csv", "sarif", "text"]),
    default="jsonl",
    show_default=True,
    help="Output format.",
)  # fmt: skip
@click.option("-o", "--output", metavar="FILE", help="Write here instead of the terminal.")
def command(
    paths: tuple[str, ...],
    kernel: str | None,
    arch: str | None,
    gpu: str | None,
    block: str | None,
    kb: tuple[str, ...],
    jobs: int | None,
    fail_on: str | None,
    baseline: str | None,
    fail_on_regression: bool,
    resume: bool,
    format_: str,
    output: str | None,
) -> int:
    """Report the static facts and findings of every kernel below the paths.

    PATH is a library, an object, a static library, a program, a fat binary, a cubin, SASS text, a
    wheel, or a folder that is searched for such files, told by their content.
    """
    if resume and output is None:
        raise KneckError("--resume needs the output to go on with", help="add -o FILE")
    if fail_on_regression and baseline is None:
        raise KneckError("--fail-on-regression needs --baseline", help="add --baseline FILE")
    from ..scan.model import ScanOptions
    from ..scan.session import Scan, scan

    options = ScanOptions(arch, kernel, gpu, block, fail_on, kb)
    what = Scan(paths, options, jobs or _processors(), format_, output, resume, baseline)
    before = signal.signal(signal.SIGTERM, _interrupted)
    try:
        tally = scan(what)
    finally:
        signal.signal(signal.SIGTERM, before)
    for line in tally.lines():
        click.echo(line, err=True)
    if not tally.cubins and not tally.skipped:
        return 2
    failed = tally.fails > 0 or (fail_on_regression and tally.regressions > 0)
    return 1 if failed else 0


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _interrupted(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
