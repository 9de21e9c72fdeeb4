"""The last diagnosis, kept for `kneck explain`, and diagnoses saved as JSON files."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..parsers.cache import user_cache
from ..parsers.errors import KneckError, Place
from ..parsers.files import write_atomically
from .diagnosis import SCHEMA, Diagnosis

NAME = "last-diagnosis.json"


def remember(diagnosis: Diagnosis) -> None:
    """Keep a diagnosis as the last one; where there is no cache folder, nothing is kept."""
    folder = user_cache()
    if folder is not None:
        # A full or read-only disk must not take away the report that is already printed.
        with suppress(KneckError, OSError):
            Path(folder).mkdir(parents=True, exist_ok=True)
            write_atomically(Path(folder) / NAME, diagnosis.to_json(indent=None))


def recall(path: str | None) -> dict[str, Any]:
    """Read a saved diagnosis, or the last one; raises KneckError where there is none."""
    if path is not None:
        return _read(Path(path))
    folder = user_cache()
    last = None if folder is None else Path(folder) / NAME
    if last is None or not last.is_file():
        raise KneckError(
            "no diagnosis to explain yet", help="kneck infer TARGET first, or give --from FILE.json"
        )
    return _read(last)


def _read(path: Path) -> dict[str, Any]:
    place = Place(str(path))
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise KneckError(reason, place, "give a file that `infer --format json` wrote") from None
    except ValueError as error:
        raise KneckError(f"this is not JSON: {error}", place, "write it anew with kneck") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise KneckError(
            f"this is no {SCHEMA} document", place, "write it with kneck infer --format json"
        )
    return document
