"""`kneck explain [ID]`: why a strategy or pitfall was chosen, or why it was not."""

from __future__ import annotations

import json
from typing import Any

import click

from ...parsers.errors import KneckError
from .options import deliver


@click.command(epilog="Example: kneck explain cp-async-pipelining")
@click.argument("id_", required=False, metavar="[ID]")
@click.option("--from", "from_", metavar="FILE.json", help="A saved diagnosis, not the last one.")
@click.option("--what-if", multiple=True, metavar="NAME=VALUE", help="Change a fact; repeatable.")
@click.option("--kb", multiple=True, metavar="DIR", help="Further knowledge folder.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
@click.option("-o", "--output", metavar="FILE", help="Write here instead of the terminal.")
def command(
    id_: str | None,
    from_: str | None,
    what_if: tuple[str, ...],
    kb: tuple[str, ...],
    format_: str,
    output: str | None,
) -> None:
    """Explain a strategy or pitfall of the last diagnosis, down to addresses and citations.

    Without an ID: every strategy and pitfall with its state. With --what-if: what would change.
    """
    from ...parsers.suggest import suggestion
    from .. import explanation as e
    from ..last import recall
    from ..saved import reopen
    from ..what_if_option import changes

    reopened = reopen(recall(from_), kb)
    knowledge = reopened.inference.knowledge
    document: dict[str, Any]
    if what_if:
        document = e.changed_by(reopened, changes(what_if, knowledge.vocabulary))
        text = e.changes_text(document)
    elif id_ is None:
        document = e.overview(reopened)
        text = e.overview_text(document)
    else:
        rule = knowledge.by_id.get(id_)
        if rule is None:
            raise KneckError(f'no rule "{id_}"', help=suggestion(id_, knowledge.by_id))
        document = e.explain_rule(reopened, rule)
        text = e.rule_text(document)
    if format_ == "json":
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    deliver(text, output)
