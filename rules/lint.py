"""Checks that need all rules of the knowledge folders; those of one rule are in `checks`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .checks import CHECKS
from .documents import Document
from .faults import Faults
from .files import VOCABULARY, KnowledgeFile
from .limits import colliding_names
from .loaded import Context, LoadedRule
from .model import Rule
from .vocabulary import Vocabulary


def lint_rules(
    loaded: Sequence[LoadedRule],
    vocabulary: Vocabulary,
    cycles: Iterable[tuple[str, ...]],
    faults: Faults,
) -> None:
    """Run every check on the rules."""
    context = Context({entry.rule.id: entry for entry in loaded}, vocabulary, faults)
    for entry in loaded:
        for check in CHECKS:
            check(entry, context)
    for cycle in cycles:
        first = context.rules[min(cycle)]
        what = f"rules depend on each other: {' -> '.join(cycle)}"
        faults.add(what, first.place("when"), "let one of them ask for a fact that no rule sets")
    for names in colliding_names(context.all):
        places = [e for e in loaded if set(names) & _names(e.rule)]
        what = f"durable_rules cannot tell the facts {' and '.join(names)} apart (equal hash)"
        faults.add(what, places[0].place("when"), "rename one of them")


def _names(rule: Rule) -> set[str]:
    return {n for c in (*rule.when, *rule.unless) for n in c.expression.names}


def lint_vocabulary(
    documents: Sequence[tuple[KnowledgeFile, Document]],
    loaded: Sequence[LoadedRule],
    vocabulary: Vocabulary,
    faults: Faults,
) -> None:
    """Facts say where they come from: from outside, or from rules."""
    set_by_rules = {name for entry in loaded for name in entry.rule.sets}
    for file, document in documents:
        if file.path != VOCABULARY:
            continue
        facts = document.data.get("facts") if isinstance(document.data, dict) else None
        for name in facts if isinstance(facts, dict) else ():
            entry = vocabulary.entries.get(name)
            if entry is None:
                continue
            matched = {n for n in set_by_rules if vocabulary.entry(n) == entry}
            if not entry.source and not matched:
                help = 'say how to obtain it with "from:"'
                what = f"no rule sets {name} and it has no source"
                faults.add(what, document.key_place("facts", name), help)
            if entry.default is not None and not matched:
                place = document.place("facts", name, "default")
                faults.add(f"{name} has a default, but no rule sets it", place, "remove it")
