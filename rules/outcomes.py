"""The schema of measured outcomes: what was reported of a kernel, and what the rules must say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ..parsers.errors import KneckError, KnowledgeError, Place
from .documents import read_document, validate
from .overlay import KnowledgeFolder

FOLDER = "outcomes"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Run(_Strict):
    """One state of the kernel: its facts, and what must follow from them."""

    name: str
    given: dict[str, str]
    device: str | None = None
    arch: str | None = None
    fires: list[str] = Field(default_factory=list)
    silent: list[str] = Field(default_factory=list)
    contested: list[str] = Field(default_factory=list)
    gains: dict[str, float] = Field(default_factory=dict)
    rank: dict[str, int] = Field(default_factory=dict)
    edges: list[tuple[str, str]] = Field(default_factory=list)
    conflicts: list[tuple[str, str]] = Field(default_factory=list)
    facts: dict[str, float] = Field(default_factory=dict)
    says: dict[str, list[str]] = Field(default_factory=dict)


class Case(_Strict):
    """One report, with a run for each state that it tells apart."""

    case: str
    what: str
    happened: str
    runs: list[Run]
    assumed: str | None = None


class Predicted(_Strict):
    """What was said of a strategy before it was applied; gains in percent."""

    rank: int | None = None
    low_percent: float | None = None
    high_percent: float | None = None


class Recorded(BaseModel):
    """One entry that `kneck compare --record` appended."""

    strategies: list[str]
    gain_percent: float
    measurable: bool
    predicted: dict[str, Predicted] = Field(default_factory=dict)


def outcome_files(folders: tuple[KnowledgeFolder, ...]) -> list[Path]:
    """List the outcome files of knowledge folders, in their order."""
    return [file for f in folders for file in sorted((f.path / FOLDER).glob("*.yaml"))]


def read_outcomes(path: Path) -> list[Case | Recorded]:
    """Read an outcome or evidence file; raises KneckError with file, line and column."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "this is not UTF-8 text"
        raise KneckError(reason.lower(), Place(str(path)), "name an outcome file") from None
    document = read_document(text, str(path))
    entries: Any = document.data if document.data is not None else []
    if not isinstance(entries, list):
        raise KnowledgeError("an outcome file is a list", Place(str(path)), "begin entries with -")
    found: list[Case | Recorded] = []
    for at, entry in enumerate(entries):
        if isinstance(entry, dict) and "case" in entry:
            found.append(validate(document, Case, at))
        else:
            found.append(validate(document, Recorded, at))
    return found
