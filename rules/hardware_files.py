"""Files of the knowledge folders: found, read, and the sources that they cite checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..parsers.errors import KneckError, KnowledgeError, Place
from ..parsers.expression_tree import Expression
from ..parsers.suggest import suggestion
from .documents import Document, read_document, validate


def shipped_folder() -> Path:
    """Give the knowledge folder that comes with kneck."""
    return Path(str(files("kneck.kb")))


def label(folder: Path, path: Path) -> str:
    """Name a knowledge file as messages and sources do: `kb/...` for a shipped one."""
    inside = path.relative_to(folder).as_posix()
    return f"kb/{inside}" if folder == shipped_folder() else f"{folder.as_posix()}/{inside}"


def read_file(folder: Path, path: Path) -> Document:
    """Read one knowledge file; raises KnowledgeError when it cannot be read."""
    name = label(folder, path)
    try:
        return read_document(path.read_text(encoding="utf-8"), name)
    except UnicodeDecodeError:
        raise KnowledgeError("this is not UTF-8 text", Place(name), "save it as UTF-8") from None
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise KnowledgeError(reason.lower(), Place(name), "check the file") from None


def entries(folders: Sequence[Path], kind: str) -> dict[str, tuple[Path, Path]]:
    """Map the file names (without ending) of one kind to (folder, path); later folders win."""
    found: dict[str, tuple[Path, Path]] = {}
    for folder in folders:
        for path in sorted((folder / kind).glob("*.yaml")):
            found[path.stem] = (folder, path)
    return dict(sorted(found.items()))


def load_sources(folders: Sequence[Path]) -> dict[str, str]:
    """Map the key of each source to its citation."""
    from .hardware_schema import Citation

    found: dict[str, str] = {}
    for document in single_files(folders, "sources.yaml"):
        for key in mapping(document):
            citation = validate(document, Citation, key)
            where = f", {citation.where}" if citation.where else ""
            found[key] = f"{citation.title}{where}"
    return found


def check_sources(
    document: Document, keys: tuple[str, ...], sources: Mapping[str, str], *at: str | int
) -> None:
    """Refuse the key of a source that kb/sources.yaml does not have."""
    for key in keys:
        if key not in sources:
            raise document.error(f'unknown source "{key}"', *at, help=suggestion(key, set(sources)))


def check_name(document: Document, key: str, value: str, path: Path) -> None:
    """Refuse a file whose id differs from its name."""
    if path.stem != value:
        raise document.error(
            f'"{value}" stands in {path.name}', key, help=f"name the file {value}.yaml"
        )


def single_files(folders: Sequence[Path], name: str) -> Iterator[Document]:
    """Read the file of this name in each folder that has it."""
    for folder in folders:
        if (folder / name).is_file():
            yield read_file(folder, folder / name)


def formula(text: str, place: Place) -> Expression:
    """Parse a formula of a knowledge file; raises KnowledgeError with the column."""
    from ..parsers.expression import parse_expression

    try:
        return parse_expression(text, place)
    except KneckError as error:
        raise KnowledgeError(error.what, error.place, error.help) from None


def mapping(document: Document) -> dict[str, Any]:
    """Give the keys and values at the top of a document."""
    if document.data is None:
        return {}
    if not isinstance(document.data, dict):
        raise document.error("expected keys with values", help="write KEY: on a line of its own")
    return document.data
