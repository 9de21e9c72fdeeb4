"""The vocabulary of the knowledge folders, from their documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..facts.model import Fact
from ..parsers.expression_tree import FUNCTIONS
from ..parsers.suggest import suggestion
from .documents import Document, checked_or_faults
from .faults import Faults
from .files import METHOD, VOCABULARY, KnowledgeFile
from .model import KINDS_WITH_A_FACT, Kind
from .schema import EntryDocument, VocabularyDocument
from .typecheck import unit_of
from .values import typed_value
from .vocabulary import FIRED, Entry, Vocabulary

# Words of the expression language, and keys that durable_rules gives a message itself.
RESERVED = frozenset({"and", "or", "not", "true", "false", "id", "sid", *FUNCTIONS})


def read_vocabulary(
    documents: Sequence[tuple[KnowledgeFile, Document]],
    rules: Iterable[tuple[Kind, str]],
    method: Sequence[Fact],
    faults: Faults,
) -> Vocabulary:
    """Join the entries of all folders with the thresholds and with what says that a rule fires."""
    entries = {fact.name: _method_entry(fact) for fact in method}
    units: dict[str, str] = {}
    counts: dict[str, str] = {}
    for file, document in documents:
        if file.path != VOCABULARY or document.data is None:
            continue
        parsed = checked_or_faults(document, VocabularyDocument)
        if isinstance(parsed, list):
            faults.found.extend(parsed)
            continue
        units.update(parsed.units)
        counts.update(parsed.counts)
        known = Vocabulary({}, units, counts)
        for name, entry in parsed.facts.items():
            entries[name] = _entry(name, entry, known, document, faults)
    for kind, id in rules:
        if kind in KINDS_WITH_A_FACT:
            name = f"{kind}.{id}"
            meaning = f"the {kind} {id} fires"
            entries[name] = Entry(name, "bool", "", meaning, "", 0, default=False)
    return Vocabulary(entries, units, counts)


def _method_entry(fact: Fact) -> Entry:
    kind = "bool" if isinstance(fact.value, bool) else "text" if fact.unit == "text" else "num"
    kind = "text" if isinstance(fact.value, str) else kind
    meaning = "a threshold of the method"
    return Entry(fact.name, kind, fact.unit, meaning, METHOD, 0)  # type: ignore[arg-type]


def _entry(
    name: str, parsed: EntryDocument, known: Vocabulary, document: Document, faults: Faults
) -> Entry:
    at = ("facts", name)
    if name.startswith((*FIRED, "method.")):
        what = f'"{name.split(".")[0]}." is reserved: such facts come with the rules and figures'
        faults.add(what, document.key_place(*at), "remove it, or choose another name")
    elif name in RESERVED or not re.fullmatch(r"[A-Za-z_][\w*]*(\.[\w*]+)*", name):
        what = f'"{name}" cannot be the name of a fact'
        faults.add(what, document.key_place(*at), "write words with dots: tile.ratio")
    entry = Entry(
        name,
        parsed.type,
        parsed.unit or "",
        parsed.meaning,
        parsed.source or "",
        parsed.cost,
        tuple(parsed.values),
        headline=parsed.headline,
    )
    unknown = unit_of(entry.unit, known)[1]
    if unknown is not None:
        units = {*known.units, *known.counts}
        help = suggestion(unknown, units) if units else 'list it under "units"'
        faults.add(f'unknown unit "{unknown}"', document.place(*at, "unit"), help)
    if entry.type != "num" and entry.unit:
        faults.add(f"{name} is no number and has no unit", document.place(*at, "unit"))
    if entry.type != "text" and entry.values:
        faults.add("only a text lists its values", document.place(*at, "values"))
    if parsed.default is not None:
        with faults.caught():
            alone = Vocabulary({name: entry}, {}, {})
            place = document.text_place(*at, "default")
            return entry._replace(default=typed_value(name, parsed.default, alone, place))
    return entry
