"""Read kb/instructions: timing classes, widths and entries, checked against each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ..facts.hardware import Architecture
from ..facts.instructions import BY_WIDTH, UNKNOWN, Entry, InstructionTable, TimingClass
from ..parsers.errors import KnowledgeError, Place
from ..parsers.expression_tree import Expression
from ..parsers.suggest import suggestion
from .documents import Document, validate
from .hardware import load_architectures
from .hardware_files import check_sources, formula, load_sources, read_file
from .instruction_schema import ClassesFile, EntryFile, InstructionFile

FOLDER = "instructions"
CLASSES = "classes.yaml"
OTHERS = ("operands.yaml",)  # a file of its own shape, read by the dependence analysis
MODIFIER = re.compile(r"[A-Za-z0-9_]*(\{[a-z]\}[A-Za-z0-9_]*)*")


def read_instructions(folders: Sequence[Path]) -> InstructionTable:
    """Read all instruction files; an overlay's entries lie over the shipped ones.

    Raises KnowledgeError for an unknown timing class, source or formula, with its place.
    """
    sources = load_sources(folders)
    classes: dict[str, TimingClass] = {}
    widths: dict[str, int] = {}
    default_bytes = 0
    for document in _documents(folders, lambda name: name == CLASSES):
        parsed = validate(document, ClassesFile)
        check_sources(document, parsed.source, sources, "source")
        for name, declared in parsed.classes.items():
            classes[name] = TimingClass(
                declared.pipe,
                declared.rate,
                declared.work,
                declared.cycles,
                declared.latency == "variable",
            )
        widths.update(parsed.widths)
        default_bytes = parsed.default_bytes or default_bytes
    entries: dict[str, list[Entry]] = {}
    for document in _documents(folders, lambda name: name != CLASSES and name not in OTHERS):
        for entry in _entries(document, classes, sources):
            entries.setdefault(entry.opcode, []).append(entry)
    architectures = load_architectures(folders)
    _check_timing(architectures.values(), classes)
    return InstructionTable(
        {opcode: tuple(sorted(found, key=_specificity)) for opcode, found in entries.items()},
        classes,
        widths,
        default_bytes,
        architectures,
    )


def _documents(folders: Sequence[Path], wanted: object) -> Iterator[Document]:
    assert callable(wanted)
    for folder in folders:
        for path in sorted((folder / FOLDER).glob("*.yaml")):
            if wanted(path.name):
                yield read_file(folder, path)


def _specificity(entry: Entry) -> tuple[int, int]:
    """Order from general to specific; the sort is stable, so a later entry stays later."""
    return (len(entry.modifiers), len(entry.operands))


def _entries(
    document: Document, classes: Mapping[str, TimingClass], sources: Mapping[str, str]
) -> Iterator[Entry]:
    parsed = validate(document, InstructionFile)
    check_sources(document, parsed.source, sources, "source")
    for index, entry in enumerate(parsed.entries):
        if entry.timing is not None and entry.timing not in classes:
            raise document.error(
                f'unknown timing class "{entry.timing}"',
                "entries",
                index,
                "timing",
                help=suggestion(entry.timing, set(classes)),
            )
        for pattern in entry.match:
            yield _entry(document, index, entry, pattern)


def _entry(document: Document, index: int, entry: EntryFile, pattern: str) -> Entry:
    opcode, *modifiers = pattern.split(".")
    for token in modifiers:
        if not token or not MODIFIER.fullmatch(token):
            raise document.error(
                f'"{token}" is no modifier', "entries", index, "match", help="write OPCODE.MOD.MOD"
            )
    names = set(re.findall(r"\{([a-z])\}", pattern))
    return Entry(
        opcode=opcode,
        modifiers=tuple(modifiers),
        operands=tuple(sorted(entry.operands.items())),
        family=entry.family,
        space=entry.space,
        timing=entry.timing,
        precision=entry.precision,
        sparse=entry.sparse,
        flops_per_warp=_figure(document, index, "flops_per_warp", entry.flops_per_warp, names),
        bytes_per_thread=_figure(
            document, index, "bytes_per_thread", entry.bytes_per_thread, names
        ),
    )


def _figure(
    document: Document, index: int, key: str, text: str | None, names: set[str]
) -> int | str | Expression | None:
    """Read a count, "unknown", "width" (bytes only), or a formula over the captured numbers."""
    if text is None or text == UNKNOWN or (text == BY_WIDTH and key == "bytes_per_thread"):
        return text
    if text.isdecimal():
        return int(text)
    place = document.place("entries", index, key)
    parsed = formula(text, place)
    for name in parsed.names:
        if name not in names:
            raise KnowledgeError(
                f'the pattern captures no "{name}"', place, f"write {{{name}}} in match"
            )
    return parsed


def _check_timing(
    architectures: Iterable[Architecture], classes: Mapping[str, TimingClass]
) -> None:
    """Refuse a timing group that names a class or a pipe that no instruction has."""
    pipes = {declared.pipe for declared in classes.values()}
    for architecture in architectures:
        timing = architecture.timing
        named = {*timing.fixed_latency, *timing.variable_latency, *timing.issue_interval}
        _check_names(architecture, {*named, *timing.written_stall}, set(classes))
        ends = {end for pair in timing.between for end in pair.split(">")}
        _check_names(architecture, ends, {*classes, *pipes, "*"})


def _check_names(architecture: Architecture, names: set[str], known: set[str]) -> None:
    for name in sorted(names - known):
        raise KnowledgeError(
            f'timing: unknown class "{name}"',
            Place(architecture.path),
            suggestion(name, known),
        )
