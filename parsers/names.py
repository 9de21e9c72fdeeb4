"""Mangled names to readable ones, and names a user types to functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_LANGUAGES = {"_Z": "itanium", "_R": "rust"}
_LONGEST_NAME = 16384  # characters
_SPACE = re.compile(r"\s+")


@lru_cache(maxsize=4096)
def demangle(name: str) -> str:
    """Give the readable form of a C++ or Rust name; the name itself where it has none.

    The package is pure Python, holds its own limits on depth and output, and is imported with the
    first mangled name only.
    """
    language = _LANGUAGES.get(name[:2])
    if language is None or len(name) > _LONGEST_NAME:
        return name
    try:
        from demangle import DemanglingError
        from demangle import demangle as read
    except ImportError:
        return name
    try:
        return read(name, language=language, style="gnu")
    except (DemanglingError, ValueError, RecursionError):
        return name


def find_name(wanted: str, names: Sequence[str]) -> list[str]:
    """Give the names that a user's word means, best kind of match only.

    In this order: the mangled name; the demangled one, with or without its parameters and return
    type; a part of either. Spaces do not count.
    """
    for matches in (_is_name, _is_readable_name, _is_function_name, _is_part):
        found = [name for name in names if matches(wanted, name)]
        if found:
            return list(dict.fromkeys(found))
    return []


def _is_name(wanted: str, name: str) -> bool:
    return wanted == name


def _is_readable_name(wanted: str, name: str) -> bool:
    return _squeezed(wanted) == _squeezed(demangle(name))


def _is_function_name(wanted: str, name: str) -> bool:
    return _squeezed(wanted) in {_squeezed(each) for each in _short_forms(demangle(name))}


def _is_part(wanted: str, name: str) -> bool:
    return wanted in name or _squeezed(wanted) in _squeezed(demangle(name))


def _short_forms(readable: str) -> list[str]:
    """Give the name without parameters: `ns::work<float>`, `ns::work`, `work<float>`, `work`."""
    name, depth, start = readable, 0, 0
    for place, char in enumerate(readable):
        if char in "<[{":
            depth += 1
        elif char in ">]}":
            depth -= 1
        elif depth == 0 and char == " ":
            start = place + 1  # what stood before was the return type
        elif depth == 0 and char == "(" and not readable.startswith("(anonymous", place):
            name = readable[start:place]
            break
    plain = name.split("<", 1)[0]
    last = plain.rsplit("::", 1)[-1]
    return [name, plain, last, last + name[len(plain) :]]


def _squeezed(text: str) -> str:
    return _SPACE.sub("", text)
