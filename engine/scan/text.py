"""SASS text as input of a scan: the functions of a listing, in bounded memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from ...parsers.files import read_text
from ...parsers.listing import Function
from ...parsers.names import find_name
from ...parsers.sass import parse_sass
from ...parsers.stream import stream_functions
from .model import ScanOptions

# An instruction's address, the headers of the disassemblers, a control word of Triton.
MARKS = re.compile(rb"/\*[0-9a-fA-F]{4,16}\*/[ \t]|\bcode for sm_|\.headerflags|[-0-9]:[-R]:[-W]:")
LOOKED_AT_BYTES = 1 << 20
_WHOLE_BYTES = 32 << 20  # a listing up to this size may be in any dialect; a larger one is streamed
_PIECE_CHARACTERS = 1 << 20


def is_listing(head: bytes) -> bool:
    """Tell from the start of a file whether it is SASS text."""
    return b"\0" not in head and MARKS.search(head) is not None


def functions_of(path: str, options: ScanOptions) -> Iterator[Function]:
    """Give the functions that are asked for; raises KneckError where there is no SASS to read."""
    whole = os.path.getsize(path) <= _WHOLE_BYTES
    for function in parse_sass(read_text(path), path).functions if whole else _streamed(path):
        if options.arch not in (None, function.arch, function.arch.rstrip("af")):
            continue
        if options.kernel is None or find_name(options.kernel, [function.name]):
            yield function


def _streamed(path: str) -> Iterator[Function]:
    with open(path, encoding="utf-8", errors="replace") as file:
        yield from stream_functions(iter(lambda: file.read(_PIECE_CHARACTERS), ""), path)
