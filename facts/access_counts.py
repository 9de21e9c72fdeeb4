"""Sums over the requests of one memory instruction, by the space that it reaches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..parsers.listing import Instruction
from .spans import NOTHING, Span
from .warp_requests import Requests
from .wavefronts import (
    LINE_BITS,
    LINES_PER_SEGMENT,
    SECTOR_BITS,
    WORD_BITS,
    bank_wavefronts,
    copy_requests,
    distinct,
    matrix_wavefronts,
    same_bank_lanes,
    stage_wavefronts,
)

Array = NDArray[Any]
SECTOR_BYTES = 1 << SECTOR_BITS
LINE_BYTES = 1 << LINE_BITS
WORD_BYTES = 1 << WORD_BITS
SECTORS_PER_LINE = LINE_BYTES // SECTOR_BYTES
MATRIX_BYTES = 128  # 8 x 8 elements of two bytes
MATRIX_ROWS = 8
COPY_PAST_L1 = "BYPASS"


def count(
    instruction: Instruction,
    space: str,
    width: int,
    requests: Requests,
    frame_bytes: int | None = None,
) -> dict[str, Any]:
    """Give sums over requests, named as Access's fields; `unknown`, `data` count executions."""
    if space == "shared":
        return _count_shared(instruction, width, requests)
    if space == "local":
        return _count_local(width, requests, frame_bytes)
    return _count_global(instruction, width, requests)


def _common(requests: Requests, width: int) -> dict[str, Any]:
    lanes, weight = requests.lanes, requests.weight
    return {
        "executions": float(weight.sum()),
        "lanes": float(weight @ lanes),
        "bytes": float(weight @ lanes) * width,
        "unknown": float(weight[~requests.known].sum()),
        "data": float(weight[requests.data].sum()),
        "stride": _stride(requests),
    }


def _stride(requests: Requests) -> int | None:
    """Give the distance of neighbouring active lanes, where one distance serves all rows."""
    rows = requests.known & (requests.active.sum(axis=1) > 1)
    if not rows.any():
        return None
    table, active = requests.addresses[rows], requests.active[rows]
    steps = np.diff(table.view(np.int64), axis=1)
    both = active[:, 1:] & active[:, :-1]
    found = steps[both]
    return int(found[0]) if len(found) and (found == found[0]).all() else None


def _interval(requests: Requests, exact: Array, least: Array, most: Array, likely: Array) -> Span:
    """Weigh exact counts where addresses are known; the two ends and a likely value where not."""
    weight, known = requests.weight, requests.known
    low = np.where(known, exact, least)
    high = np.where(known, exact, most)
    low = np.where(requests.uncertain, 0.0, low)
    middle = np.where(known, exact, likely)
    return Span(float(weight @ low), float(weight @ middle), float(weight @ high))


def _count_global(instruction: Instruction, width: int, requests: Requests) -> dict[str, Any]:
    lanes = requests.lanes
    sectors = distinct(requests.addresses >> np.uint64(SECTOR_BITS)) * max(1, width // SECTOR_BYTES)
    lines = distinct(requests.addresses >> np.uint64(LINE_BITS)).astype(float)
    waves = stage_wavefronts(requests.addresses, requests.active, width)
    asked, most_waves = lines, lanes
    least_lines = np.ceil(lanes * width / LINE_BYTES)
    likely_waves = np.ceil(lanes / 2)
    if COPY_PAST_L1 in instruction.modifiers and requests.targets is not None:
        asked, sectors = copy_requests(requests.addresses, requests.targets, requests.active)
        waves = most_waves = likely_waves = np.ones(len(lanes))
    elif instruction.opcode == "LDGSTS":
        waves = waves + 1  # what was read is written into shared memory
    least = np.ceil(lanes * width / SECTOR_BYTES)
    least_waves = np.minimum(least_lines, most_waves)
    return {
        **_common(requests, width),
        "sectors": _interval(requests, sectors, least, lanes, lanes),
        "lines": _interval(requests, lines, least_lines, lanes, lanes),
        "requests": _interval(requests, asked, least_lines, lanes, lanes),
        "wavefronts": _interval(requests, waves, least_waves, most_waves, likely_waves),
        "ideal_wavefronts": float(requests.weight @ least_lines),
        "ideal_sectors": float(requests.weight @ least),
    }


def _count_local(width: int, requests: Requests, frame_bytes: int | None) -> dict[str, Any]:
    """Local memory lays the lanes of a warp side by side: one line per word of the thread."""
    words = max(1, width // WORD_BYTES)
    lane = np.arange(requests.addresses.shape[1], dtype=np.uint64) * np.uint64(WORD_BYTES)
    place = (requests.addresses >> np.uint64(WORD_BITS)) * np.uint64(LINE_BYTES) + lane
    first = requests.active.argmax(axis=1)
    place = np.where(requests.active, place, place[np.arange(len(place)), first][:, None])
    sectors = distinct(place >> np.uint64(SECTOR_BITS)) * words
    lines = distinct(place >> np.uint64(LINE_BITS)) * words
    lanes = requests.lanes
    least = np.ceil(lanes * WORD_BYTES / SECTOR_BYTES) * words
    likely, most = _random_words(lanes, frame_bytes)
    likely_sectors = _random_words(lanes / SECTORS_PER_LINE, frame_bytes)[0] * SECTORS_PER_LINE
    whole = np.full(len(lanes), float(words))
    by_line = _interval(requests, lines, whole, most * words, likely * words)
    together = np.ceil(likely / LINES_PER_SEGMENT) * words
    passes = _interval(requests, lines, whole, most * words, together)
    return {
        **_common(requests, width),
        "sectors": _interval(requests, sectors, least, lanes * words, likely_sectors * words),
        "lines": by_line,
        "requests": by_line,
        "wavefronts": passes,
        "ideal_wavefronts": float(requests.weight.sum()) * words,
        "ideal_sectors": float(requests.weight @ least),
    }


def _random_words(lanes: Array, frame_bytes: int | None) -> tuple[Array, Array]:
    """Give the different words that lanes take of frames of local memory: expected, and at most.

    n lanes that each take one of w words at random meet w (1 - (1 - 1/w)^n) of them.
    """
    if not frame_bytes:
        return lanes, lanes
    words = max(1.0, frame_bytes / WORD_BYTES)
    return words * (1 - (1 - 1 / words) ** lanes), np.minimum(lanes, words)


def _count_shared(instruction: Instruction, width: int, requests: Requests) -> dict[str, Any]:
    lanes, weight = requests.lanes, requests.weight
    moved = float(weight @ lanes) * width
    ideal = np.maximum(1.0, np.ceil(lanes * width / LINE_BYTES))
    most = np.maximum(lanes * max(1, width // WORD_BYTES), 1.0)
    if instruction.opcode in ("LDSM", "STSM"):
        matrices = next((int(m) for m in instruction.modifiers if m in ("2", "4")), 1)
        exact = matrix_wavefronts(requests.addresses, matrices)
        ideal = np.full(len(lanes), float(matrices))
        most = ideal * MATRIX_ROWS
        moved = float(weight.sum()) * matrices * MATRIX_BYTES
    elif instruction.opcode == "ATOMS":
        exact = same_bank_lanes(requests.addresses, requests.active)
    else:
        loads = instruction.opcode == "LDS"
        exact = bank_wavefronts(requests.addresses, requests.active, width, loads)
    likely = np.minimum(most, ideal * _expected_ways(lanes))
    return {
        **_common(requests, width),
        "bytes": moved,
        "sectors": NOTHING,
        "lines": NOTHING,
        "requests": NOTHING,
        "wavefronts": _interval(requests, exact, ideal, most, likely),
        "ideal_wavefronts": float(weight @ ideal),
        "ideal_sectors": 0.0,
    }


def _expected_ways(lanes: Array) -> Array:
    """Give the busiest bank's share when lanes fall on 32 banks at random.

    The mean of the largest of 32 cells after n throws, to a tenth: 1 for one lane, 3.5 for 32.
    """
    return np.asarray(1.0 + 2.5 * np.sqrt((lanes - 1) / 31))
