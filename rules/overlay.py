"""Knowledge folders, laid over each other: shipped, KNECK_KB, the user's, --kb; later ones win."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..parsers.errors import KnowledgeError, Place

SHIPPED = "kb"  # the shipped folder's name in reports; an overlay called so is shown as ./kb


@dataclass(frozen=True, slots=True)
class KnowledgeFolder:
    """A folder and its name in reports: "kb" for the shipped one, else the path as given."""

    name: str
    path: Path


def shipped_folder() -> KnowledgeFolder:
    """Give the folder that is installed with kneck."""
    from importlib.resources import files

    return KnowledgeFolder(SHIPPED, Path(str(files("kneck.kb"))))


def knowledge_folders(
    given: Iterable[str] = (), environ: Mapping[str, str] = os.environ
) -> tuple[KnowledgeFolder, ...]:
    """List the folders to read, the shipped one first; a named one that is missing is refused."""
    named = [*_listed(environ.get("KNECK_KB", "")), *_personal(environ), *given]
    return (shipped_folder(), *(_existing(name) for name in named))


def _listed(variable: str) -> Iterator[str]:
    return (name for name in variable.split(os.pathsep) if name)


def _personal(environ: Mapping[str, str]) -> Iterator[str]:
    """Give ~/.config/kneck/kb where it exists; XDG_CONFIG_HOME moves it."""
    home = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", ""), ".config")
    folder = os.path.join(home, "kneck", "kb")
    if os.path.isabs(folder) and os.path.isdir(folder):
        yield folder


def _existing(name: str) -> KnowledgeFolder:
    path = Path(name)
    if not path.is_dir():
        what = "is not a folder" if path.exists() else "does not exist"
        raise KnowledgeError(
            f'the knowledge folder "{name}" {what}', Place(name), "give a folder of rule files"
        )
    shown = name.rstrip("/") or name
    return KnowledgeFolder(f"./{shown}" if shown == SHIPPED else shown, path)
