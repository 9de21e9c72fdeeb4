"""`kneck compare A B`: two builds of a kernel: what changed in the facts and in the verdict."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from ...parsers.errors import KneckError
from .options import INPUT, LAUNCH, deliver, request_from, with_options

GROUPS = {  # what the text tells, in the order of the report
    "Time": ("baseline.", "headroom.", "roofline."),
    "Occupancy": ("launch.", "occupancy.", "smem."),
    "Loop": ("tile.", "loop."),
    "Instructions": ("mix.", "stalls."),
    "Accesses": ("access.", "atomics."),
    "Bounds": ("bounds.",),
}
ENDS = ("_low_ms", "_high_ms")  # of intervals: the figure between them is told


@click.command(epilog="Example: kneck compare before.json after.json --record outcomes.yaml")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@with_options(INPUT, LAUNCH)
@click.option("--times-ms", metavar="A,B", help="Kernel times, where A and B are builds.")
@click.option("--record", metavar="FILE", help="Append the outcome to an evidence file.")
@click.option("--fail-on-regression", is_flag=True, help="Exit 1 when B is slower than A.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
@click.option("-o", "--output", metavar="FILE", help="Write here instead of the terminal.")
def command(
    before: str,
    after: str,
    times_ms: str | None,
    record: str | None,
    fail_on_regression: bool,
    format_: str,
    output: str | None,
    **options: Any,
) -> int:
    """Compare two saved diagnoses (JSON), or two builds with the same launch and problem."""
    from ...facts.measure.comparison import compare
    from ..measurement import measurement_settings, signatures

    times = _times(times_ms)
    documents = [
        _document(target, time, options)
        for target, time in zip((before, after), times, strict=True)
    ]
    settings = measurement_settings()
    found = compare(documents[0], documents[1], signatures(), settings.change_fraction)
    if record is not None:
        import datetime

        from ...facts.measure.record import append, outcome

        entry = outcome(documents[0], documents[1], found, datetime.date.today())
        append(entry, Path(record))
    if format_ == "json":
        text = json.dumps(asdict(found), indent=2) + "\n"
    else:
        text = _text(found)
    deliver(text, output)
    slower = found.is_regression(settings.regression_fraction)
    return 1 if fail_on_regression and slower else 0


def _times(text: str | None) -> tuple[float | None, float | None]:
    if text is None:
        return None, None
    try:
        one, two = (float(part) for part in text.split(","))
    except ValueError:
        raise KneckError(f"--times-ms {text}: not two times", help="write A,B in ms") from None
    return one, two


def _document(target: str, time: float | None, options: dict[str, Any]) -> dict[str, Any]:
    """Read a saved diagnosis, or diagnose the build."""
    if target.endswith(".json"):
        from ..last import recall

        return recall(target)
    from ..session import diagnose

    request = request_from(target, options)
    if time is not None:
        request = replace(request, time_ms=time)
    return diagnose(request).diagnosis.to_dict()


def _text(found: Any) -> str:
    from .. import numbers as n

    one, two = found.verdicts
    lines = [f"Verdict     {one}" if one == two else f"Verdict     {one} -> {two}"]
    lines.append(f"Speed-up    {found.speed_up}" if found.speed_up else "Speed-up    not known")
    named = ", ".join(found.strategies) or "none that the facts tell"
    lines += [f"Strategy    {named}", ""]
    told = 0
    for title, prefixes in GROUPS.items():
        rows = [
            c for c in found.changes if c.name.startswith(prefixes) and not c.name.endswith(ENDS)
        ]
        if not rows:
            continue
        told += len(rows)
        width = max(len(change.name) for change in rows)
        lines.append(title)
        for change in rows:
            values = f"{n.anything(change.before)} -> {n.anything(change.after)} {change.unit}"
            lines.append(f"  {change.name:<{width}}  {values}".rstrip())
        lines.append("")
    rest = len(found.changes) - told
    if rest:
        lines.append(f"and {rest} more facts (--format json)")
    if not found.changes:
        lines.append("no fact differs")
    return "\n".join(lines).rstrip() + "\n"
