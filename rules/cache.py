"""The checked knowledge base as JSON in the user's cache folder, so that nothing is parsed twice.

The key is a hash of every file, the folders' names and the version of kneck. With a warm cache
neither yaml nor lark nor pydantic is imported. Whatever is wrong with the cache is ignored: the
folders are read again. What a build checked of the shipped folder lies beside it, in the same form.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from importlib.util import source_hash
from typing import Any

from .. import __version__
from .files import KnowledgeFile, read_files
from .freeze import knowledge_from_json, knowledge_to_json
from .model import Knowledge
from .overlay import CHECKED, KnowledgeFolder

FORMAT = 3  # of the JSON; raised when the records change
PREFIX = "knowledge-"
OFF = "off"  # KNECK_CACHE_DIR=off switches every cache off
MOST_KEPT = 8  # files; one for each set of folders in use


def load_knowledge(
    folders: Sequence[KnowledgeFolder], environ: Mapping[str, str] = os.environ
) -> Knowledge:
    """Give the checked knowledge base; raises the first fault as KnowledgeError."""
    files = read_files(folders)
    folder = cache_folder(environ)
    name = f"{PREFIX}{_key(folders, files)}.json"
    for place in (folder, CHECKED):
        kept = None if place is None else _read(os.path.join(place, name))
        if kept is not None:
            return kept
    from .load import load

    knowledge = load(folders)
    if folder is not None:
        _write(os.path.join(folder, name), knowledge)
    return knowledge


def cache_folder(environ: Mapping[str, str] = os.environ) -> str | None:
    """Give the folder for the cache; None where the user has no home or switched it off."""
    chosen = environ.get("KNECK_CACHE_DIR")
    if chosen is not None:
        return None if chosen in ("", OFF) else os.path.abspath(chosen)
    base = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME", ""), ".cache")
    return os.path.join(base, "kneck") if os.path.isabs(base) else None


def _key(folders: Sequence[KnowledgeFolder], files: Sequence[KnowledgeFile]) -> str:
    parts = [f"{FORMAT} {__version__}", *(folder.name for folder in folders)]
    content = ["\0".join(parts).encode()]
    for file in files:
        content += [f"\0{file.folder}\0{file.path}\0{len(file.content)}\0".encode(), file.content]
    # The hash by which Python itself knows source files; hashlib takes longer to import.
    return source_hash(b"".join(content)).hex()


def _read(path: str) -> Knowledge | None:
    try:
        with open(path, encoding="utf-8") as file:
            data: Any = json.load(file)
        return knowledge_from_json(data)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None  # no cache yet, or not what this version wrote


def _write(path: str, knowledge: Knowledge) -> None:
    """Write beside and rename, so that a reader sees the whole file or none."""
    beside = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(beside, "w", encoding="utf-8") as file:
            file.write(json.dumps(knowledge_to_json(knowledge), separators=(",", ":")))
        os.replace(beside, path)
        _prune(os.path.dirname(path))
    except OSError:
        _remove(beside)  # a full disk or a read-only home: the next run reads the folders again


def _prune(folder: str) -> None:
    """Remove what older knowledge bases left behind."""
    with os.scandir(folder) as found:
        kept = [(e.stat().st_mtime, e.path) for e in found if e.name.startswith(PREFIX)]
    for _, path in sorted(kept)[:-MOST_KEPT]:
        _remove(path)


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        return
