"""JSON documents in the user's cache folder; whatever is wrong with one, it is not there.

What a build checked of the shipped knowledge lies beside it and is read where the user's cache has
nothing yet.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..parsers.cache import user_cache
from .overlay import CHECKED

MOST_KEPT = 8  # of one kind: overlays and older versions

BROKEN = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


def read_cached(kind: str, key: str, read: Callable[[Any], Any]) -> Any:
    """Give what `read` makes of the document, None where there is none or it is damaged."""
    folder = user_cache()
    for place in (None if folder is None else str(folder), CHECKED):
        if place is None:
            continue
        with suppress(*BROKEN):
            with open(os.path.join(place, _name(kind, key)), encoding="utf-8") as file:
                written_for, document = json.load(file)
            if written_for == key:
                return read(document)
    return None


def write_cached(kind: str, key: str, document: Any, most: int = MOST_KEPT) -> None:
    """Write beside and rename, so that a reader sees the whole document or none."""
    path = _path(kind, key)
    if path is None:
        return
    beside = f"{path}.{os.getpid()}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(beside, "w", encoding="utf-8") as file:
            file.write(json.dumps([key, document], separators=(",", ":")))  # C; dump is not
        os.replace(beside, path)
        _prune(path.parent, kind, most)
    except OSError:  # a full disk, a read-only home: read anew next time
        with suppress(OSError):
            os.unlink(beside)


def _path(kind: str, key: str) -> Path | None:
    folder = user_cache()
    return None if folder is None else folder / _name(kind, key)


def _name(kind: str, key: str) -> str:
    return f"{kind}-{key[:32]}.json"


def _prune(folder: Path, kind: str, most: int) -> None:
    found = [path for path in folder.glob(f"{kind}-*.json") if path.is_file()]
    for path in sorted(found, key=lambda path: path.stat().st_mtime)[:-most]:
        path.unlink(missing_ok=True)
