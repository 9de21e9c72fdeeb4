"""Passes that a warp's addresses need: through shared memory, L1's data stage, and L2's tags.

Every function takes rows of 32 byte addresses, where inactive lanes repeat an active one, and gives
a count for each row. The rules were fitted to 38 patterns of lanes for each of eight instructions,
measured on an H200 with hardware counters (source K4, `banks` in tests/truth): all of them exact,
but for loads from L1 at random places, where the error is a fifth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
WARP = 32
BANKS = 32
WORD_BITS = 2  # a bank holds words of 4 bytes
SECTOR_BITS = 5
LINE_BITS = 7
LINES_PER_SEGMENT = 4
PASS_BYTES = 128  # that one pass moves: 32 lanes of 4 bytes, 16 of 8, 8 of 16
LONG_WORD = 40  # bits of a word's number that are kept beside its bank


def distinct(table: Array) -> Array:
    """Count different values in each row."""
    ordered = np.sort(table, axis=1)
    return np.asarray(1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1))


def bank_wavefronts(addresses: Array, active: Array, width: int, loads: bool = True) -> Array:
    """Count words that the busiest bank delivers, per group of lanes that move 128 bytes.

    A load whose neighbouring lanes share an address goes in groups of twice as many lanes.
    """
    groups = groups_of(width)
    single = _in_groups(addresses, active, width, groups)
    if groups == 1 or not loads:
        return single
    return np.where(
        _paired(addresses, active), _in_groups(addresses, active, width, groups // 2), single
    )


def groups_of(width: int) -> int:
    """Give the groups that a warp's lanes move in, `width` bytes each."""
    return max(1, WARP * width // PASS_BYTES)


def _words(addresses: Array, width: int, groups: int) -> Array:
    """Give the words of each group, one group per row."""
    base = (addresses >> np.uint64(WORD_BITS)).reshape(len(addresses) * groups, WARP // groups)
    count = max(1, width >> WORD_BITS)
    if count == 1:
        return base
    return (base[:, :, None] + np.arange(count, dtype=np.uint64)).reshape(len(base), -1)


def _in_groups(addresses: Array, active: Array, width: int, groups: int) -> Array:
    counts = busiest_bank(_words(addresses, width, groups)).reshape(len(addresses), groups)
    used = active.reshape(len(addresses), groups, -1).any(axis=2)
    return np.asarray(np.maximum(1, (counts * used).sum(axis=1)))


def _paired(addresses: Array, active: Array) -> Array:
    """Tell in which rows every two neighbouring lanes have one address."""
    same = addresses[:, ::2] == addresses[:, 1::2]
    return np.asarray((same | ~(active[:, ::2] & active[:, 1::2])).all(axis=1))


def busiest_bank(words: Array) -> Array:
    """Give the largest number of different words in one bank, for each row."""
    place = words & np.uint64((1 << LONG_WORD) - 1)
    ordered = np.sort((words % np.uint64(BANKS) << np.uint64(LONG_WORD)) | place, axis=1)
    fresh = np.ones(ordered.shape, np.bool_)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    bank = (ordered >> np.uint64(LONG_WORD)).astype(np.int64)
    row = np.arange(len(words))[:, None] * BANKS
    counts = np.bincount((row + bank)[fresh], minlength=len(words) * BANKS)
    return np.asarray(counts.reshape(len(words), BANKS).max(axis=1))


def matrix_wavefronts(addresses: Array, matrices: int) -> Array:
    """Count bank words per 8 x 8 matrix, whose eight rows of 16 bytes eight lanes point to."""
    base = (addresses[:, : 8 * matrices] >> np.uint64(WORD_BITS)).reshape(-1, 8)
    table = (base[:, :, None] + np.arange(4, dtype=np.uint64)).reshape(len(base), -1)
    return np.asarray(busiest_bank(table).reshape(len(addresses), matrices).sum(axis=1))


def same_bank_lanes(addresses: Array, active: Array) -> Array:
    """Count the lanes of the busiest bank: atomics on one word follow each other."""
    bank = (addresses >> np.uint64(WORD_BITS) & np.uint64(BANKS - 1)).astype(np.int64)
    row = np.arange(len(addresses))[:, None] * BANKS
    counts = np.bincount((row + bank)[active], minlength=len(addresses) * BANKS)
    return np.asarray(np.maximum(1, counts.reshape(len(addresses), BANKS).max(axis=1)))


def stage_wavefronts(addresses: Array, active: Array, width: int) -> Array:
    """Count passes of L1's data stage.

    Per group of lanes and aligned 512 bytes: the lines that the busiest bank reads. Where a group
    spreads over more than four such segments, two lines share a pass where their banks allow it.
    """
    groups = groups_of(width)
    words = _words(addresses, width, groups)
    lines = distinct(words >> np.uint64(LINE_BITS - WORD_BITS))
    counts = np.ones(len(words), np.int64)
    several = lines > 1
    if several.any():
        chosen = words[several]
        by_segment, segments = _by_segment(chosen)
        paired = np.maximum(busiest_bank(chosen), (lines[several] + 1) // 2)
        few = segments <= LINES_PER_SEGMENT
        counts[several] = np.where(few, by_segment, np.minimum(by_segment, paired))
    used = active.reshape(len(addresses), groups, -1).any(axis=2)
    return np.asarray((counts.reshape(len(addresses), groups) * used).sum(axis=1))


def _by_segment(words: Array) -> tuple[Array, Array]:
    """Give, per row, the sum over segments of the busiest bank's lines, and the segments."""
    bank = words % np.uint64(BANKS)
    line = words >> np.uint64(LINE_BITS - WORD_BITS)
    segment = line // np.uint64(LINES_PER_SEGMENT)
    key = (segment * np.uint64(BANKS) + bank) * np.uint64(LINES_PER_SEGMENT)
    key = np.sort(key + line % np.uint64(LINES_PER_SEGMENT), axis=1)
    fresh = np.ones(key.shape, np.bool_)
    fresh[:, 1:] = key[:, 1:] != key[:, :-1]
    rows = np.broadcast_to(np.arange(len(key))[:, None], key.shape)[fresh]
    cell = key[fresh] // np.uint64(LINES_PER_SEGMENT)  # segment and bank
    starts = _changes(rows, cell)
    lines = np.diff(np.append(starts, len(cell)))
    rows, part = rows[starts], cell[starts] // np.uint64(BANKS)
    starts = _changes(rows, part)
    most = np.maximum.reduceat(lines, starts)
    total = np.bincount(rows[starts], weights=most, minlength=len(key)).astype(np.int64)
    return total, np.bincount(rows[starts], minlength=len(key))


def _changes(rows: Array, values: Array) -> Array:
    """Give the places where the row or the value becomes another."""
    fresh = np.ones(len(rows), np.bool_)
    fresh[1:] = (rows[1:] != rows[:-1]) | (values[1:] != values[:-1])
    return np.flatnonzero(fresh)


def copy_requests(sources: Array, targets: Array, active: Array) -> tuple[Array, Array]:
    """Give requests to L2 and sectors that it sends, for copies of 16 bytes past L1, per row.

    One request brings sectors of one line into one line of shared memory. A sector whose halves go
    to different sectors there is fetched once for each; where both halves of all sectors of a
    request are fetched so, they are one request that is answered twice.
    """
    known: dict[bytes, tuple[int, int]] = {}
    requests = np.empty(len(sources), np.int64)
    sent = np.empty(len(sources), np.int64)
    table = _from_line_starts(sources, targets, active)
    for row, pattern in enumerate(table):
        key = pattern.tobytes()
        if key not in known:
            known[key] = _copy_requests(*pattern.tolist())
        requests[row], sent[row] = known[key]
    return requests, sent


def _from_line_starts(sources: Array, targets: Array, active: Array) -> Array:
    """Move every row to the first line of both spaces; lanes that do nothing are -1."""
    moved = [
        np.where(active, (a - (a[:, :1] >> np.uint64(LINE_BITS) << np.uint64(LINE_BITS))), 0)
        for a in (sources, targets)
    ]
    both = np.stack(moved, axis=1).astype(np.int64)
    return np.where(active[:, None, :], both, -1)


def _copy_requests(sources: list[int], targets: list[int]) -> tuple[int, int]:
    pairs = {(s, t) for s, t in zip(sources, targets, strict=True) if (s, t) != (-1, -1)}
    homes: dict[int, set[int]] = {}
    for source, target in pairs:
        homes.setdefault(source >> SECTOR_BITS, set()).add(target >> SECTOR_BITS)
    pieces: dict[tuple[int, int, int], int] = {}
    for source, target in pairs:
        sector = source >> SECTOR_BITS
        half = source >> (SECTOR_BITS - 1) & 1 if len(homes[sector]) > 1 else 0
        key = (source >> LINE_BITS, target >> LINE_BITS, half)
        pieces[key] = pieces.get(key, 0) | 1 << (sector & 3)
    requests = {(line, place, mask) for (line, place, _), mask in pieces.items()}
    return len(requests), sum(mask.bit_count() for mask in pieces.values())
