"""`kneck bench TARGET`: run a kernel on the GPU and time it with CUDA events."""

from __future__ import annotations

import json
from typing import Any

import click

from .options import INPUT, LAUNCH, deliver, request_from, with_options


@click.command(
    epilog="Example: kneck bench gemm.cubin --grid 32,32 --block 128 --problem "
    "gemm:M=4096,N=4096,K=4096 --args 'f16[M*K], f16[K*N], f32[M*N], i32 M, i32 N, i32 K'"
)
@click.argument("target")
@with_options(INPUT, LAUNCH)
@click.option(
    "--cache",
    type=click.Choice(["flush", "rotate", "warm"]),
    default="flush",
    show_default=True,
    help="Before each launch: flush L2, use the next set of buffers, or leave it warm.",
)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
@click.option("-o", "--output", metavar="FILE", help="Write here instead of the terminal.")
def command(target: str, cache: str, format_: str, output: str | None, **options: Any) -> None:
    """Time one kernel: warm-up until stable, then until the median is known within 1 %."""
    from ...facts.measure.bench_facts import bench_facts, require_steady
    from ...facts.option_facts import option_facts
    from .. import numbers as n
    from ..code import code_of
    from ..extraction import problem_of
    from ..knowledge import load_setting
    from ..measured import remarks_on, time_kernel
    from ..target import opened

    request = request_from(target, options)
    setting = load_setting(request)
    with opened(request, setting) as ready:
        problem = problem_of(ready.request, setting)
        code = code_of(ready, problem, setting)
        launch = {fact.name: fact for fact in option_facts(ready.request)[0]}
        result = require_steady(time_kernel(ready, code, problem, launch, cache))
    facts = bench_facts(result, "kneck bench")
    remarks = [text for _, text in remarks_on(result, code, setting)]
    if format_ == "json":
        document = {
            "kernel": code.name,
            "facts": [{"name": f.name, "value": f.value, "unit": f.unit} for f in facts],
            "remarks": remarks,
        }
        deliver(json.dumps(document, indent=2) + "\n", output)
        return
    series = result.timing.series
    lines = [
        f"{code.name}: {n.milliseconds(series.median)} on {result.device.name}, "
        f"median of {series.count} launches",
        "",
        *(f"  {f.name:<36}{n.anything(f.value)} {f.unit}".rstrip() for f in facts),
    ]
    deliver("\n".join([*lines, *(f"\nwarning: {text}" for text in remarks)]) + "\n", output)
