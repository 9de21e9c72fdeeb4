"""The members of a static library, copied out one by one under names of our own.

cuobjdump extracts the cubins of equally named members over each other, so a library is taken apart
first. Source of the layout: ar(5) of GNU binutils and of BSD.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ...parsers.errors import KneckError, Place

_MAGIC = b"!<arch>\n"
_HEADER_BYTES = 60
_END = b"`\n"
_NAME_TABLE = b"//"
_INDEXES = (b"/", b"/SYM64/", b"__.SYMDEF", b"__.SYMDEF SORTED")
_BSD_NAME = b"#1/"
_PIECE_BYTES = 1 << 20
_LONGEST_NAME = 4096  # bytes of a member's name kept for reports


def members(path: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Copy each member into a file of the folder and give its name and that file.

    The file is the caller's to delete. Raises KneckError where the library is damaged, OSError
    where it cannot be read.
    """
    size = os.path.getsize(path)
    names = b""
    with open(path, "rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            what = "a thin archive holds no code itself"
            raise KneckError(what, Place(path), "scan the objects that it names")
        index = 0
        while header := file.read(_HEADER_BYTES):
            length = _length(header, path)
            start = file.tell()
            if start + length > size:
                raise _damaged(path, f"member {index + 1} ends behind the file")
            name = header[:16].rstrip(b" ")
            if name == _NAME_TABLE:
                names = file.read(length)
            elif name not in _INDEXES:
                index += 1
                yield _extract(file, name, length, names, folder / f"{index}.member")
            file.seek(start + length + length % 2)


def _extract(
    file: BinaryIO, name: bytes, length: int, names: bytes, target: Path
) -> tuple[str, Path]:
    if name.startswith(_BSD_NAME) and name[3:].isdigit() and int(name[3:]) <= length:
        own = int(name[3:])
        name = file.read(own)[:_LONGEST_NAME].rstrip(b"\0")
        length -= own
    elif name[:1] == b"/" and name[1:].isdigit():
        rest = names[int(name[1:]) :][:_LONGEST_NAME]
        name = rest.split(b"/\n", 1)[0].split(b"\n", 1)[0]
    with open(target, "wb") as copy:
        while length > 0 and (piece := file.read(min(length, _PIECE_BYTES))):
            copy.write(piece)
            length -= len(piece)
    return name.removesuffix(b"/").decode("utf-8", "replace"), target


def _length(header: bytes, path: str) -> int:
    digits = header[48:58].strip()
    if len(header) < _HEADER_BYTES or header[58:] != _END or not digits.isdigit():
        raise _damaged(path, "a member's header is not one")
    return int(digits)


def _damaged(path: str, why: str) -> KneckError:
    return KneckError(f"the archive is damaged: {why}", Place(path), "build it again")
