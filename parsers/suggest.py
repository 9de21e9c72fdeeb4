"""The help line for a word that is not known."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST_LIST = 24


def suggestion(word: str, known: Iterable[str]) -> str:
    """Name the nearest known word, else the known ones."""
    from difflib import get_close_matches

    names = sorted(known)
    near = get_close_matches(word, names, 1)
    if near:
        return f'did you mean "{near[0]}"?'
    if not names:
        return "remove it"
    more = len(names) - LONGEST_LIST
    shown = ", ".join(names[:LONGEST_LIST])
    return f"known: {shown}, and {more} more" if more > 0 else f"known: {shown}"
