"""Reads knowledge folders: vocabulary, thresholds and rules, laid over each other and checked.

`check` gives all faults; `load` raises the first. Use `cache.load_knowledge` to load quickly.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..facts.model import Fact
from ..parsers.errors import KnowledgeError, Place
from ..parsers.expression_tree import FUNCTIONS
from ..parsers.suggest import suggestion
from .compile import RuleCompiler, typed_value
from .documents import Document, checked_or_faults, read_document
from .faults import Faults
from .files import METHOD, VOCABULARY, KnowledgeFile, read_files
from .lint import LoadedRule, lint_rules, lint_vocabulary
from .model import KIND_OF_FOLDER, KINDS_WITH_A_FACT, Folder, Kind, Knowledge
from .overlay import KnowledgeFolder
from .schema import EntryDocument, RuleDocument, VocabularyDocument
from .strata import stratify
from .typecheck import unit_of
from .vocabulary import FIRED, Entry, Vocabulary

# Words of the expression language, and keys that durable_rules gives a message itself.
RESERVED = frozenset({"and", "or", "not", "true", "false", "id", "sid", *FUNCTIONS})


def load(folders: Sequence[KnowledgeFolder]) -> Knowledge:
    """Read and check the folders; raises the first fault as KnowledgeError."""
    knowledge, faults = _read(folders)
    if faults:
        raise faults[0]
    return knowledge


def check(folders: Sequence[KnowledgeFolder]) -> list[KnowledgeError]:
    """Give every fault of the folders, by file, line and column; the rules' tests are not run."""
    return _read(folders)[1]


def _read(folders: Sequence[KnowledgeFolder]) -> tuple[Knowledge, list[KnowledgeError]]:
    faults = Faults()
    files = read_files(folders)
    documents = _parse(files, faults)
    drafts = _drafts(documents, faults)
    method = _method(folders, faults)
    vocabulary = _vocabulary(documents, drafts, method, faults)
    loaded = [draft.compiled(vocabulary, faults) for draft in drafts.values()]
    strata = stratify([entry.rule for entry in loaded])
    for entry in loaded:
        entry.rule = entry.rule._replace(stratum=strata.levels.get(entry.rule.id, 0))
    lint_rules(loaded, vocabulary, strata.cycles, faults)
    lint_vocabulary(documents, loaded, vocabulary, faults)
    rules = sorted((entry.rule for entry in loaded), key=lambda r: (r.stratum, r.id))
    knowledge = Knowledge(vocabulary, tuple(rules), method, folder_hashes(folders, files))
    return knowledge, faults.sorted()


def folder_hashes(
    folders: Sequence[KnowledgeFolder], files: Sequence[KnowledgeFile]
) -> tuple[Folder, ...]:
    """Hash the files of each folder, for the report."""
    found = []
    for folder in folders:
        digest = hashlib.sha256()
        for file in files:
            if file.folder == folder.name:
                digest.update(f"{file.path}\0{len(file.content)}\0".encode())
                digest.update(file.content)
        found.append(Folder(folder.name, digest.hexdigest()))
    return tuple(found)


def _parse(files: Sequence[KnowledgeFile], faults: Faults) -> list[tuple[KnowledgeFile, Document]]:
    found = []
    for file in files:
        if file.path.endswith(".yml"):
            help = f"rename it to {file.path.removesuffix('.yml').rsplit('/', 1)[-1]}.yaml"
            faults.add("a knowledge file ends in .yaml", Place(file.shown), help)
            continue
        with faults.caught():
            try:
                text = file.content.decode("utf-8")
            except UnicodeDecodeError as error:
                line = file.content.count(b"\n", 0, error.start) + 1
                what, place = "this is not UTF-8 text", Place(file.shown, line)
                raise KnowledgeError(what, place, "save it as UTF-8") from None
            found.append((file, read_document(text, file.shown)))
    return found


# Rules: first the shape of each document, so that all ids are known, then the expressions


@dataclass
class _Draft:
    """A rule whose shape is right and whose expressions are not looked at yet."""

    kind: Kind
    parsed: RuleDocument
    document: Document
    index: int
    file: KnowledgeFile

    def compiled(self, vocabulary: Vocabulary, faults: Faults) -> LoadedRule:
        compiler = RuleCompiler(self.document, self.file.folder, self.file.path, vocabulary, faults)
        rule = compiler.compile(self.kind, self.parsed, self.index)
        return LoadedRule(rule, self.document, self.index)


def _drafts(
    documents: Sequence[tuple[KnowledgeFile, Document]], faults: Faults
) -> dict[str, _Draft]:
    """Collect the rules by id; one in a later folder replaces the one before it."""
    found: dict[str, _Draft] = {}
    for file, document in documents:
        kind = KIND_OF_FOLDER.get(file.path.split("/")[0])
        if kind is None or document.data is None:
            continue
        if not isinstance(document.data, list):
            faults.found.append(
                document.error("a rule file is a list of rules", help='begin a rule with "- id:"')
            )
            continue
        for index in range(len(document.data)):
            parsed = checked_or_faults(document, RuleDocument, index)
            if isinstance(parsed, list):
                faults.found.extend(parsed)
                continue
            draft = _Draft(kind, parsed, document, index, file)
            _check_id(draft, found.get(parsed.id), faults)
            found[parsed.id] = draft
    return found


def _check_id(draft: _Draft, earlier: _Draft | None, faults: Faults) -> None:
    if earlier is None:
        return
    place = draft.document.place(draft.index, "id")
    first = earlier.document.place(earlier.index, "id")
    if earlier.file.folder == draft.file.folder:
        what = f'duplicate rule id "{draft.parsed.id}"'
        faults.add(what, place, f"the first one is at {first}")
    elif earlier.kind != draft.kind:
        what = f'"{draft.parsed.id}" is a {draft.kind} here and a {earlier.kind} at {first}'
        faults.add(what, place, "an overlay replaces a rule by one of its kind")


# Vocabulary and thresholds


def _method(folders: Sequence[KnowledgeFolder], faults: Faults) -> tuple[Fact, ...]:
    from .hardware import load_method

    with faults.caught():
        facts = load_method([folder.path for folder in folders])
        return tuple(fact for fact in facts if isinstance(fact.value, (bool, int, float, str)))
    return ()


def _vocabulary(
    documents: Sequence[tuple[KnowledgeFile, Document]],
    drafts: Mapping[str, _Draft],
    method: Sequence[Fact],
    faults: Faults,
) -> Vocabulary:
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
    for draft in drafts.values():
        if draft.kind in KINDS_WITH_A_FACT:
            name = f"{draft.kind}.{draft.parsed.id}"
            meaning = f"the {draft.kind} {draft.parsed.id} fires"
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
