"""`kneck sweep TARGET`: the same diagnosis over several problem sizes; where the verdict flips."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import click

from ...facts.request import Request
from ...parsers.errors import KneckError
from .options import INPUT, LAUNCH, deliver, request_from, with_options


@click.command(
    epilog="Example: kneck sweep gemm.cubin --problem 'gemm:M=1024..8192*2,N=M,K=M,dtype=f16' "
    "--grid 'N/128,M/128' --block 128 --times times.csv"
)
@click.argument("target")
@with_options(INPUT, LAUNCH)
@click.option("--times", metavar="FILE", help="Table of times: CSV with a header, or JSON.")
@click.option("--plot", metavar="FILE", help="Draw the roofline with one point per size.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
@click.option("-o", "--output", metavar="FILE", help="Write here instead of the terminal.")
def command(
    target: str,
    times: str | None,
    plot: str | None,
    format_: str,
    output: str | None,
    **options: Any,
) -> None:
    """Diagnose several sizes: verdict per size, where it flips, and what moved.

    A range in --problem reads START..END*FACTOR or START..END+STEP; --grid may be expressions in
    the problem's dimensions, such as N/128,M/128.
    """
    from ...facts.measure.flips import flips
    from ...facts.measure.sweep import expand
    from ..session import diagnose

    request = request_from(target, options)
    if request.problem is None:
        raise KneckError("a sweep needs --problem with a range", help="gemm:M=1024..8192*2,N=M,K=M")
    points = expand(request.problem)
    rows = _times(times)
    documents = []
    for point in points:
        one = replace(request, problem=point.problem, grid=_grid(request, point.problem))
        if rows is not None:
            one = replace(one, time_ms=_time(point, rows, times))
        documents.append(diagnose(one).diagnosis.to_dict())
    found = flips(points, documents)
    labels = [", ".join(f"{k}={v}" for k, v in point.varied.items()) for point in points]
    if plot is not None:
        _draw(labels, documents, target, plot)
    if format_ == "json":
        document = {
            "points": [
                {"problem": p.problem, "varied": dict(p.varied), "diagnosis": d}
                for p, d in zip(points, documents, strict=True)
            ],
            "flips": [_flip(flip) for flip in found],
        }
        deliver(json.dumps(document, indent=2) + "\n", output)
        return
    deliver(_text(labels, documents, [_flip(flip) for flip in found]), output)


def _times(path: str | None) -> list[dict[str, float]] | None:
    if path is None:
        return None
    from ...facts.measure.sweep_times import read_times
    from ...parsers.files import read_text

    return read_times(read_text(path), path)


def _time(point: Any, rows: list[dict[str, float]], path: str | None) -> float:
    from ...facts.measure.sweep_times import time_of

    return time_of(point, rows, path or "")


def _grid(request: Request, problem: str) -> str | None:
    """Evaluate a grid that is written in the problem's dimensions."""
    text = request.grid
    if text is None or not any(c.isalpha() for c in text):
        return text
    from math import ceil

    from ...parsers.expression import evaluate, parse_expression
    from ..extraction import problem_of
    from ..knowledge import load_setting

    parsed = problem_of(replace(request, problem=problem), load_setting(request))
    dimensions = dict(parsed.dimensions) if parsed is not None else {}
    sizes = []
    for part in text.split(","):
        value = evaluate(parse_expression(part.strip()), dimensions.get)
        if value is None or isinstance(value, (bool, str)) or value <= 0:
            raise KneckError(
                f'--grid: "{part.strip()}" is no size', help=f"use {', '.join(dimensions)}"
            )
        sizes.append(str(ceil(value)))
    return ",".join(sizes)


def _flip(flip: Any) -> dict[str, Any]:
    from dataclasses import asdict

    document: dict[str, Any] = asdict(flip)
    return document


def _text(labels: list[str], documents: list[dict[str, Any]], found: list[dict[str, Any]]) -> str:
    from tabulate import tabulate

    from .. import numbers as n

    rows = []
    for label, d in zip(labels, documents, strict=True):
        base, roof, first = d["baseline"], d["roofline"], d["strategies"][:1]
        rows.append(
            (
                label,
                n.milliseconds(base["time_ms"]),
                n.rate(base["gflops"]),
                n.percent(roof["attained_fraction"]),
                d["bound"],
                n.plain(d["launch"]["waves"]),
                first[0]["id"] if first else "-",
            )
        )
    headers = ["Size", "Time", "Rate", "Of its roof", "Bound", "Waves", "First"]
    lines = [tabulate(rows, headers, "simple", disable_numparse=True), ""]
    if not found:
        lines.append("The verdict holds over all sizes.")
    for flip in found:
        sizes = [_size(flip[end]["varied"]) for end in ("before", "after")]
        lines.append(f"The verdict flips between {sizes[0]} and {sizes[1]}:")
        lines += [
            f"  {verdict} at {size}" for verdict, size in zip(flip["verdicts"], sizes, strict=True)
        ]
        lines += [f"    {moved}" for moved in flip["because"]]
    return "\n".join(lines) + "\n"


def _size(varied: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in varied.items())


def _draw(labels: list[str], documents: list[dict[str, Any]], title: str, path: str) -> None:
    from pathlib import Path

    from ...facts.measure.plot import draw_roofline, points_of

    roof = documents[0]["roofline"]
    if roof["peak_gflops"] is None or roof["peak_gb_per_s"] is None:
        raise KneckError("no roof to draw: the device or its peaks are unknown", help="add --gpu")
    points = points_of(labels, documents)
    draw_roofline(points, roof["peak_gflops"], roof["peak_gb_per_s"], title, Path(path))
