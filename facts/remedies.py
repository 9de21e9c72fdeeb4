"""What a remedy would leave of the work: the accesses and executions of a launch after a change.

Each remedy changes counts as its advice says (no bank conflicts, whole sectors, fewer loads for the
same products); bounds of what is left then say how short the time can become. Nothing is said of
what the new code costs beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .bounds import Work
from .launch_work import LaunchWork
from .remedies_memory import (
    coalesced,
    conflict_free,
    no_spills,
    private_atomics,
    read_once,
    wider,
)
from .remedies_work import full_lanes, larger_tile, register_row, register_tile, shuffled
from .remedy_draft import Draft, Figures, unchanged

Remedy = Callable[[Draft, Figures], bool]  # False: there is nothing to change


def remade(found: LaunchWork, figures: Figures) -> dict[str, Work]:
    """Give the work after each remedy that would change something, by its name."""
    result = {}
    for name, remedy in REMEDIES.items():
        draft = unchanged(found)
        if remedy(draft, figures):
            result[name] = draft.finished()
    return result


REMEDIES: Mapping[str, Remedy] = {
    "conflict_free": conflict_free,
    "coalesced": coalesced,
    "wider": wider,
    "no_spills": no_spills,
    "shuffled": shuffled,
    "full_lanes": full_lanes,
    "private_atomics": private_atomics,
    "register_tile": register_tile,
    "register_row": register_row,
    "read_once": read_once,
    "larger_tile": larger_tile,
}
