"""Every failure that a user can cause or repair, as one type with a place and a next step."""

from __future__ import annotations

from .record import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where an error stands; line and column count from 1, 0 means the whole file."""

    path: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        parts = [self.path]
        if self.line:
            parts.append(str(self.line))
            if self.column:
                parts.append(str(self.column))
        return ":".join(parts)


class KneckError(Exception):
    """Wrong use or unreadable input (exit status 2)."""

    exit_status = 2

    def __init__(self, what: str, place: Place | None = None, help: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.place = place
        self.help = help

    def __str__(self) -> str:
        """Give the three lines of the contract: what, where, next step."""
        lines = [f"error: {self.what}"]
        if self.place is not None:
            lines.append(f"  --> {self.place}")
        if self.help:
            lines.append(f"  help: {self.help}")
        return "\n".join(lines)


class MissingProgramError(KneckError):
    """A needed program, package or GPU is missing (exit status 3)."""

    exit_status = 3


class KnowledgeError(KneckError):
    """The knowledge base is refused (exit status 4)."""

    exit_status = 4


def printable(text: str) -> str:
    """Replace control characters, so that a name from a file cannot drive the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)
