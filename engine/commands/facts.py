"""`kneck facts TARGET`: the extracted facts and where each one comes from, no judgement."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from .options import INPUT, LAUNCH, deliver, request_from, with_options

if TYPE_CHECKING:
    from ...facts.code import Code


@click.command(epilog="Example: kneck facts gemm.cubin --block 128")
@click.argument("target")
@with_options(INPUT, LAUNCH)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
@click.option("-o", "--output", metavar="FILE", help="Write here instead of the terminal.")
def command(target: str, format_: str, output: str | None, **options: Any) -> None:
    """Show the facts of one kernel with unit and source; nothing is judged."""
    from .. import numbers as n
    from ..knowledge import load_setting
    from ..session import gather
    from ..what_if_option import changes
    from ..whatif import what_if

    request = request_from(target, options)
    setting = load_setting(request)
    extraction = gather(request, setting)
    vocabulary = setting.knowledge.vocabulary
    changed = changes(request.what_if, vocabulary)
    facts = what_if(extraction.facts, changed, extraction.derivations, vocabulary)
    missing = [facts.missing[name] for name in sorted(facts.missing)]
    if format_ == "json":
        document = {
            "facts": [
                {
                    "name": f.name,
                    "value": f.value,
                    "unit": f.unit,
                    "source": {
                        "kind": f.source.kind,
                        "detail": f.source.detail,
                        "inputs": list(f.inputs),
                    },
                }
                for f in facts
            ],
            "missing": [{"name": gap.name, "because": gap.because} for gap in missing],
            "accesses": [asdict(access) for access in extraction.code.accesses],
            "bounds": [asdict(bound) for bound in extraction.code.bounds],
            "executed": dict(extraction.code.executed),
            "notes": list(extraction.code.notes),
        }
        deliver(json.dumps(document, indent=2, ensure_ascii=False) + "\n", output)
        return
    from tabulate import tabulate

    rows = [
        (f.name, n.anything(f.value), f.unit, f"{f.source.kind}: {f.source.detail}") for f in facts
    ]
    table = tabulate(rows, ["Fact", "Value", "Unit", "Source"], "simple", disable_numparse=True)
    gaps = [(gap.name, gap.because) for gap in missing]
    parts = [table, tabulate(gaps, ["Not known", "Because"], "simple"), *_work(extraction.code)]
    deliver("\n\n".join(parts) + "\n", output)


def _work(code: Code) -> list[str]:
    """Write accesses and bounds line by line, to be checked against the listing."""
    from tabulate import tabulate

    from .. import numbers as n

    accesses = [
        (
            f"0x{a.address:04x}",
            a.mnemonic,
            a.space,
            n.plain(a.executions),
            n.plain(a.sectors_per_request),
            n.plain(a.conflict_ways),
            n.plain(a.stride_bytes),
            n.percent(a.data_share),
        )
        for a in code.accesses
    ]
    heads = ["Address", "Access", "Space", "Executed", "Sectors", "Ways", "Stride B", "By data"]
    bounds = [
        (b.resource, b.side, b.time_ms, b.low_ms, b.high_ms, b.basis)
        for b in sorted(code.bounds, key=lambda b: -b.time_ms)
    ]
    ends = ["Resource", "Side", "Time ms", "Lowest", "Highest", "Basis"]
    tables = []
    if accesses:
        tables.append(tabulate(accesses, heads, "simple", disable_numparse=True))
    if bounds:
        tables.append(tabulate(bounds, ends, "simple", floatfmt=".4g"))
    return [*tables, *(f"note: {note}" for note in code.notes)]
