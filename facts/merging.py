"""Accesses that neighbours could merge into a wider one, shown by the addresses that were emulated.

Within one execution of a block of code: the same instruction for the same lanes, each lane's places
side by side, and the first of them aligned for the wider access every time it ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .accesses import width_of
from .emulator.emulate import Emulation
from .emulator.trace import Touch
from .emulator.values import known_in, plain_values

WIDEST = 16  # bytes that one lane moves at most
MERGED = frozenset({"LDG", "STG", "LDS", "STS"})


@dataclass(frozen=True, slots=True)
class Merge:
    """Instructions, in the order of their places, and the bytes per lane of the wider access."""

    addresses: tuple[int, ...]
    mnemonic: str
    width: int
    wider: int
    executions: float  # of one of them, over the emulated blocks


def mergeable(emulation: Emulation) -> tuple[Merge, ...]:
    """Find groups of two or four accesses that one wider access could replace."""
    log = emulation.log
    ends = [*log.first_touch[1:], len(log.touches)]
    found: dict[tuple[int, ...], Merge] = {}
    seen: set[int] = set()
    refuted: set[tuple[int, ...]] = set()
    for entry, (start, end) in enumerate(zip(log.first_touch, ends, strict=True)):
        if end - start < 2:
            continue
        block = log.blocks[entry]
        touches = log.touches[start:end]
        if block in seen:
            refuted |= {key for key in found if not _still_aligned(found[key], touches)}
            continue
        seen.add(block)
        for group in _groups(touches):
            for merge in _runs(group):
                found[merge.addresses] = merge
    return tuple(merge for key, merge in sorted(found.items()) if key not in refuted)


def _groups(touches: Sequence[Touch]) -> list[list[Touch]]:
    """Collect touches of equal instructions and lanes whose addresses are all known."""
    table: dict[tuple[str, int], list[Touch]] = {}
    for touch in touches:
        if touch.instruction.opcode in MERGED and width_of(touch.instruction) < WIDEST:
            shape = touch.lanes.shape
            if known_in(touch.low, shape)[touch.lanes].all():
                key = (touch.instruction.mnemonic, id(touch.lanes))
                table.setdefault(key, []).append(touch)
    return [group for group in table.values() if len(group) > 1]


def _places(touch: Touch) -> np.ndarray:
    return plain_values(touch.low, touch.lanes.shape)[touch.lanes].astype(np.int64)


def _runs(group: Sequence[Touch]) -> list[Merge]:
    """Cut a group into aligned runs of four or two neighbours."""
    width = width_of(group[0].instruction)
    places = {id(touch): _places(touch) for touch in group}
    ordered = sorted(group, key=lambda touch: int(places[id(touch)][0]))
    found: list[Merge] = []
    at = 0
    while at < len(ordered):
        taken = 1
        for count in (WIDEST // width, 2):
            run = ordered[at : at + count]
            if count > 1 and len(run) == count and _is_run([places[id(t)] for t in run], width):
                found.append(_merge(run, width))
                taken = count
                break
        at += taken
    return found


def _is_run(places: Sequence[np.ndarray], width: int) -> bool:
    first = places[0]
    return not (first % (width * len(places))).any() and all(
        (place == first + width * i).all() for i, place in enumerate(places)
    )


def _merge(run: Sequence[Touch], width: int) -> Merge:
    addresses = tuple(touch.instruction.address for touch in run)
    weight = sum(touch.weight for touch in run) / len(run)
    return Merge(addresses, run[0].instruction.mnemonic, width, width * len(run), weight)


def _still_aligned(merge: Merge, touches: Sequence[Touch]) -> bool:
    """Check later executions of the first access."""
    return all(
        not (_places(touch) % merge.wider).any()
        for touch in touches
        if touch.instruction.address == merge.addresses[0]
    )
