"""What kind of file a target is, and its bytes: every wrong target ends in one named error."""

from __future__ import annotations

import os
import stat
from typing import Literal

from .elf import is_cubin, is_elf
from .errors import KneckError, Place, printable
from .record import dataclass
from .refusals import wrong_encoding

Kind = Literal["cubin", "container", "text"]

STANDARD_INPUT = "-"
_LARGEST_FILE = 4 << 30  # bytes
LARGEST_TEXT = 256 << 20  # bytes of SASS held at once, about a million instructions
_ARCHIVE, _FATBIN, _WINDOWS = b"!<arch>\n", b"\x50\xed\x55\xba", b"MZ"
_WRAPPED = {b"PK\x03\x04": "a zip file or wheel", b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_HOW = "give a cubin, an object or library that nvcc built, or SASS text"


@dataclass(frozen=True, slots=True)
class Target:
    """A target that was read: what it is, and its content."""

    path: str
    kind: Kind
    data: bytes


def read_file(path: str) -> Target:
    """Read a target and tell what it is.

    Raises KneckError for a missing file, a folder, an empty file, a file that cannot be read, and
    contents that are neither device code nor text.
    """
    data = _bytes_of(path)
    if not data:
        raise KneckError("the file is empty", Place(path), _HOW)
    if is_elf(data) or data.startswith((_ARCHIVE, _FATBIN, _WINDOWS)):
        if not os.path.isfile(path):  # the vendor's tools would wait for it a second time
            what = "device code cannot be read from a pipe"
            raise KneckError(what, Place(path), "write it to a file; a pipe can carry SASS text")
        return Target(path, "cubin" if is_cubin(data) else "container", data)
    for magic, what in _WRAPPED.items():
        if data.startswith(magic):
            raise KneckError(f"this is {what}", Place(path), "unpack it first")
    return Target(path, "text", data)


def decode(data: bytes, path: str) -> str:
    """Decode text; raises KneckError for another encoding than UTF-8 and for binary noise."""
    need_text_size(len(data), path)
    if data.startswith(_UTF16):
        raise wrong_encoding(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if b"\x00" in data:
            raise KneckError("this is neither device code nor text", Place(path), _HOW) from None
        line = data.count(b"\n", 0, error.start) + 1
        raise wrong_encoding(path, line) from None
    if "\x00" in text:
        raise KneckError("this is neither device code nor text", Place(path), _HOW)
    return text


def need_text_size(size: int, path: str) -> None:
    """Raise KneckError for a listing that would not fit into a common memory when it is parsed."""
    if size > LARGEST_TEXT:
        raise KneckError(
            f"the listing has {size >> 20} MB, and at most {LARGEST_TEXT >> 20} MB are read",
            Place(path),
            "name one kernel of the binary with --kernel, or: cuobjdump -sass -fun NAME FILE",
        )


def need_file(path: str) -> int:
    """Give the size of a file; raises KneckError for anything that is no file to read."""
    if not path:
        raise KneckError("no file is named", help=_HOW)
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise KneckError("no such file", Place(printable(path)), _nearby(path)) from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    if stat.S_ISDIR(status.st_mode):
        raise KneckError("this is a folder", Place(path), "name a file in it, or: kneck scan")
    if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
        raise KneckError("this is a device, not a file", Place(path), _HOW)
    return status.st_size


def _bytes_of(path: str) -> bytes:
    if need_file(path) > _LARGEST_FILE:
        raise KneckError("the file is larger than 4 GB", Place(path), "extract the cubin first")
    try:
        with open(path, "rb") as file:
            return file.read(_LARGEST_FILE)
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: str, error: Exception) -> KneckError:
    reason = getattr(error, "strerror", None) or str(error)  # no strerror: a zero byte in the name
    return KneckError(f"cannot read it: {reason}", Place(printable(path)), _HOW)


def _nearby(path: str) -> str:
    from .suggest import suggestion

    folder, name = os.path.split(path)
    try:
        known = os.listdir(folder or ".")
    except OSError:
        return f"there is no folder {printable(folder)}"
    near = suggestion(name, known)
    return near if near.startswith("did you mean") else _HOW
