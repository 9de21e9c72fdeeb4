"""The files of the knowledge folders that hold rules, as bytes; nothing is parsed here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..parsers.errors import KnowledgeError, Place
from .model import KIND_OF_FOLDER
from .overlay import KnowledgeFolder

VOCABULARY = "vocabulary.yaml"
METHOD = "method.yaml"
SINGLE_FILES = (VOCABULARY, METHOD, "sources.yaml")


class KnowledgeFile(NamedTuple):
    """One file: the folder's name, the path inside it with slashes, the content."""

    folder: str
    path: str
    content: bytes

    @property
    def shown(self) -> str:
        return f"{self.folder}/{self.path}"


def read_files(folders: Sequence[KnowledgeFolder]) -> list[KnowledgeFile]:
    """Read what rules are made of, sorted; raises KnowledgeError when a file cannot be read."""
    return [
        KnowledgeFile(folder.name, path, _content(folder, path))
        for folder in folders
        for path in _paths(folder)
    ]


def _paths(folder: KnowledgeFolder) -> Iterator[str]:
    root = folder.root
    for name in SINGLE_FILES:
        if os.path.isfile(os.path.join(root, name)):
            yield name
    for kind in KIND_OF_FOLDER:
        yield from sorted(_yaml_files(os.path.join(root, kind), kind))


def _yaml_files(path: str, inside: str) -> Iterator[str]:
    """Walk a folder without following links to folders, so that no loop is possible."""
    if not os.path.isdir(path):
        return
    with os.scandir(path) as found:
        for entry in found:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _yaml_files(entry.path, f"{inside}/{entry.name}")
            elif entry.name.endswith((".yaml", ".yml")):
                yield f"{inside}/{entry.name}"


def _content(folder: KnowledgeFolder, path: str) -> bytes:
    try:
        with open(os.path.join(folder.root, path), "rb") as file:
            return file.read()
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise KnowledgeError(reason, Place(f"{folder.name}/{path}"), "check the file") from None
