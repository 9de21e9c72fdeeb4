"""A rule with its document, so that a check can point into the file."""

from __future__ import annotations

from ..parsers.errors import Place
from ..parsers.record import dataclass
from .documents import Document
from .faults import Faults
from .model import Rule
from .vocabulary import Vocabulary


@dataclass
class LoadedRule:
    """A rule with its document, so that a check can point into the file."""

    rule: Rule
    document: Document
    index: int

    def place(self, *at: str | int) -> Place:
        return self.document.place(self.index, *at)

    def key_place(self, key: str) -> Place:
        return self.document.key_place(self.index, key)


@dataclass(frozen=True)
class Context:
    """All rules by id, what they may speak about, and where faults go."""

    rules: dict[str, LoadedRule]
    vocabulary: Vocabulary
    faults: Faults

    @property
    def all(self) -> list[Rule]:
        return [loaded.rule for loaded in self.rules.values()]
