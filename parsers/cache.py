"""Disassembly kept by content in the user's cache folder.

An entry is one file: a line with the SHA-256 of what follows, then the text, compressed. It is
written under a private name and renamed into place, so that two processes, a full disk or a
killed writer leave either a whole entry or none; a damaged one fails its checksum, is thrown away
and made again. The folder of the entries and the entries themselves are never links, and nobody
else may write to them; else the cache is not used.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_ENTRIES = "disassembly"
OFF = "off"  # KNECK_CACHE_DIR=off switches the cache off
_LARGEST_ENTRY = 256 << 20  # bytes of text; more is not worth the disk
_MOST_ENTRIES = 512  # the oldest go first
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_LEVEL = 1  # zlib level: 7 times smaller at the least time


def user_cache() -> Path | None:
    """Give kneck's own folder in the user's cache; None where the cache is off or has no home.

    `KNECK_CACHE_DIR` names another folder, or `off`.
    """
    from pathlib import Path

    folder = _user_cache()
    return None if folder is None else Path(folder)


def cache_folder() -> Path | None:
    """Give the folder of cached disassembly; None where the cache is off or has no home."""
    base = user_cache()
    return None if base is None else base / _ENTRIES


def _user_cache() -> str | None:
    chosen = os.environ.get("KNECK_CACHE_DIR")
    if chosen is not None:
        return None if chosen in ("", OFF) else os.path.abspath(chosen)
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        base = os.environ.get(variable, "")
        if os.path.isabs(base):
            return os.path.join(base, "kneck")
    home = os.path.expanduser("~")
    return os.path.join(home, ".cache", "kneck") if os.path.isabs(home) else None


def _entries() -> str | None:
    base = _user_cache()
    return None if base is None else os.path.join(base, _ENTRIES)


def key(content: str, *parts: str) -> str:
    """Make the key of an entry from the hash of the content and whatever else shapes the text."""
    return hashlib.sha256("\0".join((content, *parts)).encode()).hexdigest()


def holds(entry: str) -> bool:
    """Tell whether there is an entry, without looking whether it is whole."""
    folder = _entries()
    return folder is not None and os.path.isfile(os.path.join(folder, entry))


def load(entry: str) -> str | None:
    """Give a cached text; None where there is none, or where it is damaged."""
    folder = _entries()
    if folder is None or not _is_own_folder(folder):
        return None
    path = os.path.join(folder, entry)
    try:
        handle = os.open(path, os.O_RDONLY | _NO_FOLLOW)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST_ENTRY:
            return None
        data = file.read()
    text = _unpack(data)
    if text is None:
        _remove(path)
    return text


def store(entry: str, text: str) -> bool:
    """Keep a text; tell whether that worked. A cache that cannot be written is no error."""
    folder = _entries()
    raw = text.encode("utf-8", "surrogatepass")
    if folder is None or len(raw) > _LARGEST_ENTRY:
        return False
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError:
        return False
    if not _is_own_folder(folder):
        return False
    private = os.path.join(folder, f".{entry}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW
        with os.fdopen(os.open(private, flags, 0o600), "wb") as file:
            file.write(_pack(raw))
        os.replace(private, os.path.join(folder, entry))
    except OSError:
        _remove(private)
        return False
    _forget_oldest(folder)
    return True


def _forget_oldest(folder: str) -> None:
    """Bound the cache; another process may remove the same entries, which is no error."""
    try:
        found = [
            (each.stat(follow_symlinks=False).st_mtime, each.path) for each in os.scandir(folder)
        ]
    except OSError:
        return
    for _, path in sorted(found)[: max(0, len(found) - _MOST_ENTRIES)]:
        _remove(path)


def _pack(raw: bytes) -> bytes:
    packed = zlib.compress(raw, _LEVEL)
    return hashlib.sha256(packed).hexdigest().encode() + b"\n" + packed


def _unpack(data: bytes) -> str | None:
    checksum, _, packed = data.partition(b"\n")
    if hashlib.sha256(packed).hexdigest().encode() != checksum:
        return None
    inflate = zlib.decompressobj()
    try:
        raw = inflate.decompress(packed, _LARGEST_ENTRY)
        if not inflate.eof:
            return None
        return raw.decode("utf-8", "surrogatepass")
    except (zlib.error, UnicodeDecodeError):
        return None


def _is_own_folder(folder: str) -> bool:
    """Tell a real folder of this user from a link or from one that others may write to."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        return False
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWOTH | stat.S_IWGRP)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
