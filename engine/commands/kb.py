"""`kneck kb`: list, show and check the knowledge base."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...parsers.errors import KneckError
from ...parsers.suggest import suggestion
from .options import deliver

if TYPE_CHECKING:
    from ...rules.model import Knowledge, Rule

OVERLAYS = click.option("--kb", multiple=True, metavar="DIR", help="Further knowledge folder.")


@click.group(name="kb", epilog="Example: kneck kb show cp-async-pipelining")
def command() -> None:
    """List, show and check the knowledge base."""


def _knowledge(kb: tuple[str, ...]) -> Knowledge:
    from ...rules.cache import load_knowledge
    from ...rules.overlay import knowledge_folders

    return load_knowledge(knowledge_folders(kb))


@command.command("list")
@OVERLAYS
def list_(kb: tuple[str, ...]) -> None:
    """List every rule with its kind, status and title, then architectures and devices."""
    from tabulate import tabulate

    from ...rules.hardware import architecture_names, device_ids
    from ...rules.overlay import knowledge_folders

    kinds = ["strategy", "pitfall", "verdict", "limitation"]
    rules = sorted(_knowledge(kb).rules, key=lambda rule: (kinds.index(rule.kind), rule.id))
    rows = [(rule.kind, rule.id, rule.status, rule.title) for rule in rules]
    folders = [folder.path for folder in knowledge_folders(kb)]
    deliver(
        f"{tabulate(rows, ['Kind', 'Id', 'Status', 'Title'], 'simple')}\n\n"
        f"Architectures: {', '.join(architecture_names(folders))}\n"
        f"Devices: {', '.join(device_ids(folders))}\n",
        None,
    )


@command.command()
@click.argument("id_", metavar="ID")
@OVERLAYS
def show(id_: str, kb: tuple[str, ...]) -> None:
    """Show one rule as a document: what it says, when it fires, and what that rests on."""
    knowledge = _knowledge(kb)
    rule = knowledge.by_id.get(id_)
    if rule is None:
        raise KneckError(f'no rule "{id_}"', help=suggestion(id_, knowledge.by_id))
    deliver(document(rule), None)


def document(rule: Rule) -> str:
    """Write a rule under fixed headings; those without content are left out."""
    gain = rule.gain
    gains = []
    if gain is not None:
        parts = (("low", gain.low), ("high", gain.high), ("cap", gain.cap))
        gains = [f"{name}: {part.text}" for name, part in parts if part is not None]
        gains.append(f"basis: {gain.basis}")
    sections: list[tuple[str, list[str]]] = [
        ("Why", [rule.why.text]),
        ("Do", [rule.action.text] if rule.action else []),
        ("Fires when all hold", [condition.text for condition in rule.when]),
        ("Unless one holds", [condition.text for condition in rule.unless]),
        ("Sets", [f"{name}: {value.text}" for name, value in rule.sets.items()]),
        ("Gain", gains),
        ("Side effects", [f"{name}: {value.text}" for name, value in rule.side_effects.items()]),
        ("Edges", [f"{edge.kind} {edge.to}" for edge in rule.edges]),
        ("Isolating experiment", [rule.experiment.text] if rule.experiment else []),
        ("Wrong when", list(rule.wrong_when)),
        ("Evidence", list(rule.evidence)),
        ("Source", [rule.source]),
    ]
    head = f"{rule.id} ({rule.kind}, {rule.status})\n{rule.title}\n{rule.file}:{rule.line}\n"
    body = [
        "\n".join([f"\n## {title}", *(f"  {line}" for line in lines)])
        for title, lines in sections
        if lines
    ]
    return "\n".join([head, *body]) + "\n"


@command.command()
@click.argument("folder", required=False, metavar="[DIR]")
@OVERLAYS
def check(folder: str | None, kb: tuple[str, ...]) -> int:
    """Check the rule files: every fault with path, line, column and a suggestion.

    DIR is laid over the shipped knowledge base, as `--kb DIR` would.
    """
    from ...rules.load import check as faults_of
    from ...rules.overlay import knowledge_folders
    from ..selftest import failed_tests

    folders = knowledge_folders((*kb, *([folder] if folder else [])))
    faults = faults_of(folders) or [test.error for test in failed_tests(folders)]
    for fault in faults:
        click.echo(str(fault), err=True)
    if faults:
        click.echo(f"{len(faults)} fault{'s' if len(faults) > 1 else ''} found", err=True)
        return 1
    click.echo(f"{len(_knowledge((*kb, *([folder] if folder else []))).rules)} rules checked")
    return 0


@command.command()
@click.argument("kind", type=click.Choice(["rules", "vocabulary"]), default="rules")
@click.option("-o", "--output", metavar="FILE", help="Write to a file instead.")
def schema(kind: str, output: str | None) -> None:
    """Write the JSON Schema of rule files or of a vocabulary, for editors."""
    import json

    from ...rules.schema import json_schemas

    deliver(json.dumps(json_schemas()[kind], indent=2) + "\n", output)


@command.command("new")
@click.argument("kind", type=click.Choice(["arch", "device", "strategy"]))
@click.argument("name")
@click.option("--like", metavar="NAME", help="Copy this architecture or device.")
@click.option(
    "-o", "--output", default="kneck-kb", show_default=True, metavar="DIR",
    help="Knowledge folder to write into.",
)  # fmt: skip
@OVERLAYS
def new(kind: str, name: str, like: str | None, output: str, kb: tuple[str, ...]) -> None:
    """Write first files for an architecture, a device or a strategy; they pass `check`."""
    from pathlib import Path

    from ...parsers.errors import Place
    from ...parsers.files import write_atomically
    from ...rules.new import new_files
    from ...rules.overlay import knowledge_folders

    made = new_files(kind, name, knowledge_folders(kb), like)
    paths = {Path(output) / inside: text for inside, text in made.items()}
    for path in paths:
        if path.exists():
            help = "edit it, or choose another name"
            raise KneckError("this file exists", Place(str(path)), help)
    for path, text in paths.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason, place = (error.strerror or "cannot be made").lower(), Place(str(path.parent))
            raise KneckError(reason, place, "name another folder with -o") from None
        write_atomically(path, text)
        click.echo(path)
    click.echo(f"edit {'it' if len(paths) == 1 else 'them'}, then: kneck kb check {output}")


@command.command()
@click.argument("files", nargs=-1, metavar="[FILE]...")
@OVERLAYS
@click.option(
    "--truth", metavar="DIR", help="Set of measured kernels instead of the repository's own."
)
@click.option("--outcomes-only", is_flag=True, help="Leave the measured kernels out.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
@click.option("-o", "--output", metavar="FILE", help="Write to a file instead.")
def backtest(
    files: tuple[str, ...],
    kb: tuple[str, ...],
    truth: str | None,
    outcomes_only: bool,
    format_: str,
    output: str | None,
) -> int:
    """Replay what was measured: outcomes that were reported, and kernels with their counters.

    The outcomes are those of the knowledge base and of FILE, in the same form or as
    `kneck compare --record` writes them. The kernels are those of DIR, or of the repository.
    Exit 1 when an outcome does not come out as reported, or a figure is below what the set asks.
    """
    from ..backtest import run

    text, failed = run(files, kb, truth, outcomes_only, format_)
    deliver(text, output)
    return 1 if failed else 0
