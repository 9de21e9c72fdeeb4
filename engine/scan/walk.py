"""The files below some paths, each once and in a fixed order, told by their content."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Literal

from ...parsers.elf import is_cubin, is_elf
from ...parsers.errors import KneckError, Place, printable
from ...parsers.record import dataclass
from .model import Remark, error_row
from .text import LOOKED_AT_BYTES, is_listing

FATBIN = b"\x50\xed\x55\xba"  # first bytes of a fat binary, inside every file that holds one
ARCHIVES = (b"!<arch>\n", b"!<thin>\n")
WINDOWS = b"MZ"
ZIPS = (b"PK\x03\x04", b"PK\x05\x06")
_HEAD_BYTES = 64
_PIECE_BYTES = 4 << 20
_HELP = "give libraries, objects, programs, cubins, wheels, SASS text, or folders with such files"

Kind = Literal["cubin", "container", "archive", "zip", "listing", "other"]


@dataclass(frozen=True)
class Found:
    """One file with device code; `shown` is its path as the user wrote it or would write it.

    Whether there is code in a zip file is seen when it is read.
    """

    path: str
    shown: str
    kind: Kind
    is_named: bool


def check_paths(paths: tuple[str, ...]) -> None:
    """Raise KneckError for a path that is not there, before anything is scanned."""
    for path in paths:
        try:
            os.stat(path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            what = f"cannot read it: {reason.lower()}"
            raise KneckError(what, Place(printable(path)), "check the path") from None


def files_in(paths: tuple[str, ...]) -> Iterator[Found | Remark]:
    """Give every file with device code below the paths.

    Links to folders are not followed inside a folder, so that no loop is walked; a file that has
    several names is given under the first one. A file that was named and holds no device code is
    remarked, one in a folder is passed over.
    """
    seen: set[tuple[int, int]] = set()
    for path in paths:
        if os.path.isdir(path):
            for entry in _walk(path):
                yield from [entry] if isinstance(entry, Remark) else _file(entry, seen, False)
        else:
            yield from _file(path, seen, True)


def _walk(folder: str) -> Iterator[str | Remark]:
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(here) as found:
                entries = sorted(found, key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            yield _unreadable(here, error)
            continue
        for entry in entries:
            if _is_file(entry):
                yield os.path.join(here, entry.name)
        folders = [e.name for e in entries if e.is_dir(follow_symlinks=False)]
        waiting += [os.path.join(here, name) for name in reversed(folders)]


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads to itself
        return False


def _file(path: str, seen: set[tuple[int, int]], is_named: bool) -> Iterator[Found | Remark]:
    try:
        status = os.stat(path)
        identity = (status.st_dev, status.st_ino)
        if identity in seen:
            return
        seen.add(identity)
        if not stat.S_ISREG(status.st_mode):
            if is_named:
                yield Remark(error_row(path, None, "this is no file", _HELP))
            return
        kind = kind_of(path)
    except OSError as error:
        yield _unreadable(path, error)
        return
    if kind != "other":
        yield Found(path, path, kind, is_named)
    elif is_named:
        yield nothing_in(path, status.st_size)


def nothing_in(path: str, size: int = 1) -> Remark:
    """Say of a file that was named that there is nothing to scan in it."""
    what = "the file is empty" if not size else "there is no CUDA device code in it"
    return Remark(error_row(path, None, what, _HELP))


def kind_of(path: str) -> Kind:
    """Tell what a file is, in a time that grows with its size but in little memory.

    Raises OSError where it cannot be read.
    """
    with open(path, "rb") as file:
        head = file.read(_HEAD_BYTES)
        if is_cubin(head):
            return "cubin"
        if head.startswith(ZIPS):
            return "zip"
        archive = head.startswith(ARCHIVES)
        if b"\0" not in head and not archive:
            return "listing" if is_listing(head + file.read(LOOKED_AT_BYTES)) else "other"
        if not (archive or is_elf(head) or head.startswith((FATBIN, WINDOWS))):
            return "other"
        file.seek(0)
        before = b""
        while piece := file.read(_PIECE_BYTES):
            if FATBIN in before + piece:
                return "archive" if archive else "container"
            before = piece[1 - len(FATBIN) :]
    return "other"


def _unreadable(path: str, error: OSError) -> Remark:
    reason = (error.strerror or str(error)).lower()
    return Remark(error_row(path, None, f"cannot read it: {reason}", "check its permissions"))
