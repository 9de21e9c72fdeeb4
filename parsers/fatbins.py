"""The fat binaries inside a large library, taken out cubin by cubin.

cuobjdump holds everything that a library has unpacked, 1.7 GB for one of 350 MB, however little is
asked of it. So each entry is copied into a fat binary of its own, which cuobjdump then extracts,
compression and all. Layout of the headers: as the CUDA runtime walks them, seen alike in files of
CUDA 11 to 13 (magic, version, header size, length; entries with kind, header size, length and, at
byte 28, the number of the architecture).
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

from .containers import Embedded, tool_result
from .errors import KneckError
from .record import dataclass
from .tools import find_tool

MAGIC = b"\x50\xed\x55\xba"
_REGION = struct.Struct("<4sHHQ")  # magic, version, bytes of this header, bytes behind it
_ENTRY = struct.Struct("<HHIQ")  # kind, version, bytes of this header, bytes behind it
_ARCH = struct.Struct("<I")
_ARCH_AT = 28
_VERSION = 1
_CUBIN = 2  # kind of an entry; 1 is PTX
_ALIAS = "code"
_WHOLE = f"{_ALIAS}.fatbin"


@dataclass(frozen=True)
class Entry:
    """A cubin in a file: its place with its header, and the architecture's number."""

    start: int
    end: int
    arch: int


def entries(path: str) -> list[Entry]:
    """Find the cubins of all fat binaries in a file, in its order; raises OSError.

    Empty where the file is laid out in another way than is known here.
    """
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return list(_entries(data))


def _entries(data: mmap.mmap) -> Iterator[Entry]:
    at = data.find(MAGIC)
    while at >= 0:
        end = at + len(MAGIC)
        if at + _REGION.size <= len(data):
            _, version, header, size = _REGION.unpack_from(data, at)
            if version == _VERSION and header >= _REGION.size and at + header + size <= len(data):
                end = at + header + size
                yield from _of_region(data, at + header, end)
        at = data.find(MAGIC, end)


def _of_region(data: mmap.mmap, at: int, end: int) -> Iterator[Entry]:
    while at + _ARCH_AT + _ARCH.size <= end:
        kind, _, header, size = _ENTRY.unpack_from(data, at)
        if header < _ARCH_AT + _ARCH.size or at + header + size > end:
            return
        if kind == _CUBIN:
            yield Entry(at, at + header + size, _ARCH.unpack_from(data, at + _ARCH_AT)[0])
        at += header + size


def extract_one_by_one(
    path: str, folder: Path, found: list[Entry], wants: Callable[[int], bool]
) -> Iterator[tuple[Embedded, Path | str]]:
    """Extract the entries whose architecture is wanted, each when it is asked for.

    Beside each stands its file, which is the caller's to delete, or what cuobjdump said. They are
    called as cuobjdump calls them when it extracts the whole file.
    """
    for number, entry in enumerate(found, 1):
        if not wants(entry.arch):
            continue
        inside = folder / str(number)
        inside.mkdir()
        _copy(path, entry, inside / _WHOLE)
        command = [find_tool("cuobjdump").path, "-xelf", "all", _WHOLE]
        try:
            _, messages, _ = tool_result(command, path, cwd=str(inside))
        except KneckError as error:  # one entry that it cannot take does not stop the rest
            messages = error.what
        (inside / _WHOLE).unlink()
        files = [Path(each.path) for each in os.scandir(inside) if each.is_file()]
        name = files[0].name if files else f"{_ALIAS}.1.sm_{entry.arch}.cubin"
        if name.startswith(f"{_ALIAS}.1."):
            name = f"{_ALIAS}.{number}." + name.removeprefix(f"{_ALIAS}.1.")
        told = next(iter(messages.split("\n")), "") or "nothing came out"
        yield Embedded(name, _arch_of(name, entry)), files[0] if len(files) == 1 else told


def _copy(path: str, entry: Entry, target: Path) -> None:
    size = entry.end - entry.start
    with open(path, "rb") as file, open(target, "wb") as copy:
        copy.write(_REGION.pack(MAGIC, _VERSION, _REGION.size, size))
        file.seek(entry.start)
        while size > 0 and (piece := file.read(min(size, 1 << 20))):
            copy.write(piece)
            size -= len(piece)


def _arch_of(name: str, entry: Entry) -> str:
    """Prefer the name, which tells `sm_90a` from `sm_90`."""
    parts = [part for part in name.split(".") if part.startswith(f"sm_{entry.arch}")]
    return parts[-1] if parts else f"sm_{entry.arch}"
