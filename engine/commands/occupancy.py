"""`kneck occupancy`: blocks and warps per SM of a launch, from figures alone."""

from __future__ import annotations

import click

from .. import numbers as n
from .options import deliver


@click.command(epilog="Example: kneck occupancy --arch sm_86 --registers 64 --block 256")
@click.option("--arch", required=True, metavar="sm_XX", help="Architecture.")
@click.option("--registers", type=int, required=True, metavar="N", help="Per thread.")
@click.option("--block", type=int, required=True, metavar="N", help="Threads per block.")
@click.option("--smem", type=int, default=0, metavar="BYTES", help="Static shared memory.")
@click.option("--dynamic-smem", type=int, default=0, metavar="BYTES", help="Dynamic.")
@click.option("--carveout", type=int, metavar="PCT", help="Shared-memory carve-out.")
@click.option("--barriers", type=int, default=1, metavar="N", help="Named barriers per block.")
@click.option("--kb", multiple=True, metavar="DIR", help="Further knowledge folder.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
@click.option("-o", "--output", metavar="FILE", help="Write here instead of the terminal.")
def command(
    arch: str,
    registers: int,
    block: int,
    smem: int,
    dynamic_smem: int,
    carveout: int | None,
    barriers: int,
    kb: tuple[str, ...],
    format_: str,
    output: str | None,
) -> None:
    """Compute the blocks and warps that one SM holds, and what limits them."""
    from ..api import architecture, occupancy

    found = occupancy(
        arch,
        registers=registers,
        threads=block,
        static_smem=smem,
        dynamic_smem=dynamic_smem,
        carveout=carveout,
        barriers=barriers,
        kb=kb,
    )
    if format_ == "json":
        import json
        from dataclasses import asdict

        deliver(json.dumps(asdict(found), indent=2) + "\n", output)
        return
    from tabulate import tabulate

    from ...facts.cliffs import smem_cliffs

    limits = architecture(arch, kb).limits
    used = {
        "registers": f"{registers}/thread, {n.plain(found.registers_per_block)}/block",
        "smem": f"{n.size(smem + dynamic_smem)}, {n.size(found.smem_bytes_per_block)} allocated",
        "warps": f"{found.warps_per_block}/block",
        "blocks": "1",
        "barriers": f"{barriers}/block",
    }
    rows = [
        (name, used.get(name, ""), "no limit" if limit is None else limit)
        for name, limit in found.block_limits.items()
    ]
    lines = [
        f"{arch}: {found.blocks_per_sm} blocks/SM, {found.active_warps} warps, "
        f"theoretical occupancy {n.percent(found.theoretical_occupancy)}, "
        f"limited by {' and '.join(found.limiters)}",
        "",
        tabulate(rows, ["Resource", "Used", "Blocks/SM"], "simple"),
    ]
    if found.reason:
        lines[0] = f"{arch}: does not launch, {found.reason}"
    cliffs = [(count, f"{n.plain(size)} B") for count, size in smem_cliffs(limits).items()]
    if cliffs:
        lines += ["", tabulate(cliffs, ["Blocks/SM", "Largest shared memory per block"], "simple")]
    deliver("\n".join(lines) + "\n", output)
