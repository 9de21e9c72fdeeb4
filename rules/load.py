"""Reads knowledge folders: vocabulary, thresholds and rules, laid over each other and checked.

`check` gives all faults; `load` raises the first. Use `cache.load_knowledge` to load quickly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from ..facts.model import Fact
from ..parsers.errors import KnowledgeError, Place
from ..parsers.record import dataclass
from .compile import RuleCompiler
from .documents import Document, checked_or_faults, read_document
from .faults import Faults
from .files import KnowledgeFile, read_files
from .lint import lint_rules, lint_vocabulary
from .load_vocabulary import read_vocabulary
from .loaded import LoadedRule
from .model import KIND_OF_FOLDER, Folder, Kind, Knowledge
from .overlay import KnowledgeFolder
from .schema import RuleDocument
from .strata import stratify
from .vocabulary import Vocabulary


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
    ids = [(draft.kind, id) for id, draft in drafts.items()]
    vocabulary = read_vocabulary(documents, ids, method, faults)
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


def _method(folders: Sequence[KnowledgeFolder], faults: Faults) -> tuple[Fact, ...]:
    from .hardware import load_method

    with faults.caught():
        facts = load_method([folder.path for folder in folders])
        return tuple(fact for fact in facts if isinstance(fact.value, (bool, int, float, str)))
    return ()
