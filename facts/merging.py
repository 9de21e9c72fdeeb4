"""Accesses that neighbours could merge into a wider one, shown by the addresses that were emulated.

Within one execution of a block of code: the same instruction for the same lanes, each lane's places
side by side, and the first of them aligned for the wider access every time it ran.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..parsers.record import dataclass
from .accesses import width_of
from .emulator.emulate import Emulation
from .emulator.trace import Touch
from .emulator.values import known_in, plain_values
from .warp_requests import stacked
from .wavefronts import bank_wavefronts, stage_wavefronts

WIDEST = 16  # bytes that one lane moves at most
SHARED = frozenset({"LDS", "STS"})
MERGED = frozenset({"LDG", "STG", "LDS", "STS"})


@dataclass(frozen=True, slots=True)
class Merge:
    """Instructions, in the order of their places, and the bytes per lane of the wider access.

    `passes`: wavefronts of the wider access over those of all that it replaces; below 1 where
    lanes take the same bytes, 1 where each takes its own.
    """

    addresses: tuple[int, ...]
    mnemonic: str
    width: int
    wider: int
    passes: float


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
            for run in _runs(group):
                merge = _merge(run, emulation)
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


def _runs(group: Sequence[Touch]) -> list[list[Touch]]:
    """Cut a group into aligned runs of four or two neighbours."""
    width = width_of(group[0].instruction)
    places = {id(touch): _places(touch) for touch in group}
    ordered = sorted(group, key=lambda touch: int(places[id(touch)][0]))
    found: list[list[Touch]] = []
    at = 0
    while at < len(ordered):
        taken = 1
        for count in (WIDEST // width, 2):
            run = ordered[at : at + count]
            if count > 1 and len(run) == count and _is_run([places[id(t)] for t in run], width):
                found.append(list(run))
                taken = count
                break
        at += taken
    return found


def _is_run(places: Sequence[np.ndarray], width: int) -> bool:
    first = places[0]
    return not (first % (width * len(places))).any() and all(
        (place == first + width * i).all() for i, place in enumerate(places)
    )


def _merge(run: Sequence[Touch], emulation: Emulation) -> Merge:
    width = width_of(run[0].instruction)
    wider = width * len(run)
    apart = sum(_passes(touch, width, emulation) for touch in run)
    together = _passes(run[0], wider, emulation)
    addresses = tuple(touch.instruction.address for touch in run)
    return Merge(addresses, run[0].instruction.mnemonic, width, wider, together / apart)


def _passes(touch: Touch, width: int, emulation: Emulation) -> float:
    """Count wavefronts as if each lane moved so many bytes from its place on."""
    opcode = touch.instruction.opcode
    total = 0.0
    for requests in stacked(emulation, [touch]):
        lanes, active = requests.addresses, requests.active
        if opcode in SHARED:
            found = bank_wavefronts(lanes, active, width, opcode == "LDS")
        else:
            found = stage_wavefronts(lanes, active, width)
        total += float(found.sum())
    return total


def _still_aligned(merge: Merge, touches: Sequence[Touch]) -> bool:
    """Check later executions of the first access."""
    return all(
        not (_places(touch) % merge.wider).any()
        for touch in touches
        if touch.instruction.address == merge.addresses[0]
    )
