"""Collects the faults of a knowledge base, so that one check reports them all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..parsers.errors import KneckError, KnowledgeError, Place


class Faults:
    """Faults in the order of discovery; a fault is the error that loading would raise."""

    def __init__(self) -> None:
        self.found: list[KnowledgeError] = []

    def add(self, what: str, place: Place | None, help: str | None = None) -> None:
        """Note one fault."""
        self.found.append(KnowledgeError(what, place, help))

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Note a KneckError raised inside, and go on behind the block."""
        try:
            yield
        except KneckError as error:
            self.add(error.what, error.place, error.help)

    def sorted(self) -> list[KnowledgeError]:
        """Give the faults by file, line and column."""
        return sorted(self.found, key=_position)


def _position(fault: KnowledgeError) -> tuple[str, int, int, str]:
    place = fault.place or Place("")
    return place.path, place.line, place.column, fault.what
