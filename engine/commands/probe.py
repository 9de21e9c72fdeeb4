"""`kneck probe`: measure this GPU's ceilings and write a device file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ...facts.measure.probe_types import ProbeReport

Step = Callable[[int, int, str], None]  # done, total, what

SOURCE = "K4"  # of kb/sources.yaml: what `kneck probe` measures


@click.command(epilog="Example: kneck probe -o my-kb, then kneck infer ... --gpu local --kb my-kb")
@click.option(
    "-o",
    "--output",
    default="kneck-kb",
    show_default=True,
    metavar="DIR",
    help="Knowledge folder to write devices/ID.yaml into.",
)
@click.option("--kb", multiple=True, metavar="DIR", help="Further knowledge folder.")
def command(output: str, kb: tuple[str, ...]) -> None:
    """Measure DRAM, L2, shared memory, every pipe and latency of this machine's GPU.

    Takes under three minutes. The datasheet figures of a known device stay in the file beside what
    was measured.
    """
    from ...parsers.errors import KneckError, Place
    from ...parsers.files import write_atomically
    from ...rules.bundle import load_hardware
    from ...rules.overlay import knowledge_folders
    from ..measuring import probe, probe_file

    folders = knowledge_folders(kb)
    hardware = load_hardware(folders)
    known = {id: (device.name, device.arch) for id, device in hardware.devices.items()}

    def text_of(id: str) -> str:
        paths = [folder.path / "devices" / f"{id}.yaml" for folder in folders]
        return next(path for path in reversed(paths) if path.is_file()).read_text("utf-8")

    report = _with_bar(probe)
    device_id, text = probe_file(report, known, text_of, "kneck probe", SOURCE)
    path = Path(output, "devices", f"{device_id}.yaml")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or "cannot be made"
        raise KneckError(reason.lower(), Place(str(path.parent)), "name another with -o") from None
    write_atomically(path, text)
    unstable = [figure.name for figure in report.measured if not figure.stable]
    click.echo(f"{len(report.measured)} figures written to {path}; use them with --kb {output}")
    if unstable:
        click.echo(f"unstable, marked so in the file: {', '.join(unstable)}")
    for name, reason in sorted(report.skipped.items()):
        click.echo(f"not measured: {name}, {reason}")


def _with_bar(probe: Callable[[Step], ProbeReport]) -> ProbeReport:
    """Show a progress bar on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<28}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting")

        def step(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=name or "done")

        return probe(step)
