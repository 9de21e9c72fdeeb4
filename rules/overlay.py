"""Knowledge folders, laid over each other: shipped, KNECK_KB, the user's, --kb; later ones win."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from ..parsers.errors import KnowledgeError, Place

if TYPE_CHECKING:
    from pathlib import Path

# The shipped folder as the build checked it (hatch_build.py), for who has nothing in the cache yet.
CHECKED = os.path.join(os.path.dirname(os.path.dirname(__file__)), "kb", "checked")
SHIPPED = "kb"  # the shipped folder's name in reports; an overlay called so is shown as ./kb


class KnowledgeFolder(NamedTuple):
    """A folder and its name in reports: "kb" for the shipped one, else the path as given."""

    name: str
    root: str

    @property
    def path(self) -> Path:
        from pathlib import Path  # slow to import, and a cached knowledge base does not need it

        return Path(self.root)


def shipped_folder() -> KnowledgeFolder:
    """Give the folder that is installed with kneck."""
    spec = find_spec("kneck.kb")  # importlib.resources gives the same and takes longer to import
    if spec is None or not spec.submodule_search_locations:
        raise KnowledgeError("the knowledge base is not installed", help="install kneck again")
    return KnowledgeFolder(SHIPPED, next(iter(spec.submodule_search_locations)))


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
    if not os.path.isdir(name):
        what = "is not a folder" if os.path.exists(name) else "does not exist"
        raise KnowledgeError(
            f'the knowledge folder "{name}" {what}', Place(name), "give a folder of rule files"
        )
    shown = name.rstrip("/") or name
    return KnowledgeFolder(f"./{shown}" if shown == SHIPPED else shown, name)
