"""The options that several commands share, in the groups Input, Launch and Output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import click

from ...facts.request import Request
from ...parsers.errors import KneckError

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

INPUT: list[Decorator] = [
    click.option("--kernel", metavar="NAME", help="Mangled or demangled name, or a part of it."),
    click.option("--gpu", metavar="NAME", help="A device of the knowledge base, or `local`."),
    click.option("--arch", metavar="sm_XX", help="Which code of a fat binary."),
    click.option("--build", metavar="CMD", help="Build command of a .cu, run without a shell."),
    click.option("--resources", metavar="FILE", help="Resource log, when there is only text."),
    click.option("--problem", metavar="SPEC", help="gemm:M=4096,N=4096,K=4096,dtype=f16 ..."),
    click.option("--args", metavar="SPEC", help="The kernel's arguments: f16[M*K], i32 M, ..."),
    click.option("--time-ms", type=float, metavar="T", help="Kernel time from CUDA events."),
    click.option("--bench", metavar="CMD", help="Benchmark harness, run without a shell."),
    click.option("--bench-time", metavar="REGEX", help="Where the harness prints the time."),
    click.option("--measure", is_flag=True, help="Time the kernel here, as `kneck bench` does."),
    click.option("--ncu", metavar="FILE", help="Nsight Compute report or its CSV."),
    click.option("--expect", type=float, metavar="PCT", help="Expected share of the peak."),
    click.option(
        "--peaks",
        type=click.Choice(["dense", "published", "measured"]),
        help="Which peaks to judge against.",
    ),  # fmt: skip
    click.option(
        "--what-if", multiple=True, metavar="NAME=VALUE", help="Infer with a fact changed."
    ),
    click.option("--kb", multiple=True, metavar="DIR", help="Further knowledge folder."),
]

LAUNCH: list[Decorator] = [
    click.option("--grid", metavar="X[,Y[,Z]]", help="Blocks of the launch."),
    click.option("--block", metavar="X[,Y[,Z]]", help="Threads per block."),
    click.option("--dynamic-smem", type=int, metavar="BYTES", help="Dynamic shared memory."),
    click.option("--carveout", type=int, metavar="PCT", help="Shared-memory carve-out."),
]

OUTPUT: list[Decorator] = [
    click.option(
        "--format",
        "format_",
        type=click.Choice(["text", "markdown", "json", "html"]),
        default="text",
        show_default=True,
        help="Output format.",
    ),  # fmt: skip
    click.option("-o", "--output", metavar="FILE", help="Write here instead of the terminal."),
]


def with_options(*groups: list[Decorator]) -> Decorator:
    """Add the groups of options to a command, in the order given."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed([option for group in groups for option in group]):
            function = option(function)
        return function

    return decorate


def request_from(target: str, options: dict[str, Any]) -> Request:
    """Make the request of the options that belong to it; text for `-` is read here."""
    known = {field.name for field in fields(Request)}
    given = {name: value for name, value in options.items() if name in known}
    stdin = _standard_input() if target == "-" else None
    return Request(target=target, command=command_line(), stdin=stdin, **given)


def _standard_input() -> str | bytes:
    """Read all of standard input as bytes, since its encoding is judged as a file's is."""
    if sys.stdin is None:  # closed
        return b""
    content: str | bytes = getattr(sys.stdin, "buffer", sys.stdin).read()
    return content


def command_line() -> str:
    """Write the command as the user typed it."""
    import shlex

    return shlex.join(["kneck", *sys.argv[1:]])


def deliver(text: str, output: str | None) -> None:
    """Print a report, or write it to a file that is replaced in one step or not at all."""
    from ...parsers.files import encodable, write_atomically

    if output is not None:
        write_atomically(output, text)
        return
    try:
        click.echo(encodable(text, getattr(sys.stdout, "encoding", None) or "utf-8"), nl=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` for one, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        what = f"cannot write the output: {error.strerror or error}"
        raise KneckError(what, help="write to a file that has room, with -o FILE") from None
