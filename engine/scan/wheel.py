"""Members of a wheel (or any other zip file) that may hold device code, copied out one by one.

Only the member that is being read lies on the disk, under a name of our own: what a member is
called leads nowhere.
"""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from ...parsers.elf import is_elf
from ...parsers.errors import KneckError, Place
from .walk import ARCHIVES, FATBIN, WINDOWS

_HEAD_BYTES = 64
_PIECE_BYTES = 1 << 20
LARGEST_MEMBER_BYTES = 16 << 30  # several times the largest library met; a bomb is larger
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, NotImplementedError,
    ValueError, OverflowError,
)  # fmt: skip


def wheel_members(path: str, folder: Path) -> Iterator[tuple[str, Path | str]]:
    """Give the name of each member that is a library, an object or a cubin, and a copy of it.

    Instead of the copy stands the reason where a member cannot be read. The copy is the caller's to
    delete. Raises KneckError where the zip file itself is damaged, OSError where the disk is full.
    """
    try:
        with zipfile.ZipFile(path) as file:
            for index, info in enumerate(file.infolist()):
                if not info.is_dir():
                    yield from _member(file, info, folder / f"{index}.member")
    except _DAMAGED as error:
        told = (str(error).splitlines() or ["no message"])[0]
        raise KneckError(
            f"the zip file is damaged: {told}", Place(path), "download it again"
        ) from None


def _member(
    file: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path
) -> Iterator[tuple[str, Path | str]]:
    try:
        with file.open(info) as source:
            head = source.read(_HEAD_BYTES)
            if not (is_elf(head) or head.startswith((FATBIN, WINDOWS, *ARCHIVES))):
                return
            if info.file_size > LARGEST_MEMBER_BYTES:
                yield info.filename, f"it has more than {LARGEST_MEMBER_BYTES >> 30} GiB"
                return
            with open(target, "wb") as copy:
                copy.write(head)
                while piece := source.read(_PIECE_BYTES):
                    copy.write(piece)
    except _DAMAGED as error:
        target.unlink(missing_ok=True)
        yield info.filename, (str(error).splitlines() or ["it is damaged"])[0]
        return
    yield info.filename, target
