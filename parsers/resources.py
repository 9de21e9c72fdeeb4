"""Resource logs in, `ResourceRecord` out: ptxas -v, nvcc --resource-usage, nvlink, -res-usage."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from .errors import KneckError, Place, printable
from .listing import ResourceRecord
from .resource_log import Log

# Where a statement starts in a line; what stands before it comes from a build system.
_START = re.compile(
    r"(?P<marker>(?:ptxas(?:-\w+)?|nvlink)\s+info\s*:\s*)"
    r"|Compiling entry function\b|Function properties for\b|(?<![\w-])-?\d+ bytes stack frame"
    r"|(?<!\w)[Uu]sed -?\d+ regi|(?<!\w)arch = sm_|(?<!\w)code for sm_"
    r"|(?<!\w)Function (?=\S)(?!properties\b)(?!:)|(?<!\w)REG:\d"
)
_MARKER = re.compile(r"\b(?:ptxas|nvlink|nvcc|info|warning|error)\b")
_MOST_PIECES = 4  # lines that one wrapped statement is looked for in
_LONGEST_STATEMENT = 16384  # characters


def parse_resources(
    text: str,
    path: str = "<text>",
    reserve_bytes: Mapping[str, int] | None = None,
    arch: str | None = None,
) -> list[ResourceRecord]:
    """Parse every record of a resource log.

    `reserve_bytes` gives the shared memory that `cuobjdump -res-usage` and nvlink add for the
    driver, by architecture; it is taken off again, and the record says so. `arch` stands in where
    the text names no architecture (`-res-usage` of a bare cubin names none).
    Raises KneckError where the text holds no record.
    """
    log = Log(path, dict(reserve_bytes or {}), arch)
    for line, tree in _statements(_unix_lines(text)):
        log.take(tree, line)
    records = log.records()
    if not records:
        raise _refusal(text, path)
    return records


def _statements(text: str) -> Iterator[tuple[int, Tree[Token]]]:
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        found = _START.search(lines[at])
        if not found:
            at += 1
            continue
        start = found.end() if found.lastgroup == "marker" else found.start()
        tree, taken = _parse_wrapped(lines, at, start)
        if tree is not None:
            yield at + 1, tree
        at += taken


def _parse_wrapped(lines: list[str], at: int, column: int) -> tuple[Tree[Token] | None, int]:
    """Parse the statement at a place, joined with the lines it was wrapped over.

    A part of a statement may parse as well, so the longest text that parses is taken; a line that
    starts a statement of its own, or that another tool wrote, ends the search.
    """
    statement = lines[at][column:]
    best, best_lines = _parse(statement), 1
    for taken in range(1, _MOST_PIECES):
        following = lines[at + taken] if at + taken < len(lines) else ""
        if not following.strip() or _START.search(following) or _MARKER.search(following):
            break
        if best is not None and best.data == "properties" and not _names_on(statement, following):
            break
        statement += following if statement[-1:] != " " else following.lstrip()
        longer = _parse(statement)
        if longer is not None:
            best, best_lines = longer, taken + 1
    return best, best_lines


def _names_on(name: str, following: str) -> bool:
    """Tell whether a line goes on with a name: one word, or the rest of an open bracket."""
    return " " not in following.strip() or any(
        name.count(opened) > name.count(closed) for opened, closed in ("()", "<>")
    )


def _parse(statement: str) -> Tree[Token] | None:
    if len(statement) > _LONGEST_STATEMENT:
        return None
    try:
        return _grammar().parse(statement.rstrip())
    except UnexpectedInput:
        return None


@cache
def _grammar() -> Lark:
    text = files(__package__).joinpath("resources.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer="contextual", start="statement")


def _unix_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _refusal(text: str, path: str) -> KneckError:
    helps = "make one with: nvcc --resource-usage ..., ptxas -v ..., or cuobjdump -res-usage FILE"
    if not text.strip():
        return KneckError("the resource log is empty", Place(path), helps)
    start = printable(text.strip().split("\n")[0])[:60]
    return KneckError(
        f"no resource usage found; the text starts with {start!r}", Place(path, 1), helps
    )
