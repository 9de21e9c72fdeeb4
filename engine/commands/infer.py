"""`kneck infer TARGET`: diagnose one kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .options import INPUT, LAUNCH, OUTPUT, deliver, request_from, with_options

if TYPE_CHECKING:
    from ..diagnosis import Diagnosis


@click.command(
    epilog="Example: kneck infer gemm.cubin --gpu rtx-3070-ti --grid 32,32 --block 128 "
    "--problem gemm:M=4096,N=4096,K=4096,dtype=f16 --time-ms 3.9"
)
@click.argument("target")
@with_options(INPUT, LAUNCH, OUTPUT)
@click.option("--graph", metavar="FILE", help="Write the conflict graph (svg, dot, mmd, graphml).")
@click.option("--fail-on", metavar="EXPR", help="Exit 1 when this holds on the facts.")
def command(target: str, format_: str, output: str | None, **options: Any) -> int:
    """Diagnose one kernel: verdict, ranked strategies, conflicts, and what is not known.

    TARGET is a .cu, .cubin, .fatbin, .o, .so, an executable, SASS text, - for text on standard
    input, or example:NAME.
    """
    from ...parsers.launch import start_early

    early = start_early(target)  # the disassembler runs while everything below is imported
    from ..last import remember
    from ..session import diagnose

    result = diagnose(request_from(target, options), early)
    diagnosis = result.diagnosis
    failed = False
    if options["fail_on"]:
        from ..fail_on import holds

        failed = holds(options["fail_on"], result.facts)
    if options["graph"]:
        from ..graph import write_graph

        write_graph(options["graph"], diagnosis)
    deliver(render(diagnosis, format_), output)
    remember(diagnosis)
    return 1 if failed else 0


def render(diagnosis: Diagnosis, format_: str) -> str:
    """Write a diagnosis in one of the output formats."""
    writers = {
        "json": diagnosis.to_json,
        "markdown": diagnosis.to_markdown,
        "html": diagnosis.to_html,
        "text": diagnosis.to_text,
    }
    return writers[format_]()
