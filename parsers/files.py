"""Writing a file so that it is either whole or not there, and reading text with named errors."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .errors import KneckError, Place


def write_atomically(path: str | Path, text: str) -> None:
    """Write UTF-8 text to a temporary file beside the target and rename it over the target.

    Raises KneckError where the folder or the file cannot be written; what stood there stays.
    A device or a pipe cannot be replaced and is written to directly. What UTF-8 cannot hold (a
    file name of other bytes) is escaped, as JSON and Python write it.
    """
    if not str(path):
        raise KneckError("no output file is named", help="name one after -o, or leave -o out")
    target = Path(path)
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_text(text, encoding="utf-8", errors="backslashreplace")
            return
        if target.is_dir():
            raise KneckError("the output is a folder", Place(str(target)), "name a file in it")
        _replace(target, text)
    except OSError as error:
        reason = error.strerror or str(error)
        raise KneckError(
            f"cannot write the output: {reason}",
            Place(str(path)),
            "choose a folder that exists and can be written, with -o FILE",
        ) from None


def _replace(target: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def read_text(path: str | Path) -> str:
    """Read a UTF-8 text file of the user; raises KneckError with the reason and the next step."""
    place = Place(str(path))
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise KneckError("this is not UTF-8 text", place, "convert it to UTF-8") from None
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise KneckError(f"cannot read the file: {reason}", place, "check the path") from None


def encodable(text: str, encoding: str) -> str:
    """Give a text in which the signs that an encoding lacks are escaped as JSON escapes them."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        from json import dumps

        return "".join(c if _fits(c, encoding) else dumps(c)[1:-1] for c in text)
    return text


def _fits(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
