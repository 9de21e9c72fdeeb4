"""What each memory instruction asks of the memory system, from the addresses of its lanes.

Everything is counted per warp instruction and summed over the launch: sectors of 32 bytes and lines
of 128 bytes that a request touches, wavefronts in shared memory (the most words that one bank must
deliver) and in L1 (the lines per group of lanes that move together). Where an address is data, the
figure is an interval: all lanes side by side, or each lane in a place of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..parsers.listing import Instruction
from .emulator.emulate import Emulation
from .emulator.trace import Touch
from .emulator.launch import array_of
from .emulator.values import Cell, Drift, known_in, plain_values, unknown

Array = NDArray[Any]
Space = Literal["global", "shared", "local", "bulk"]
Kind = Literal["load", "store", "atomic", "copy"]
SECTOR_BYTES = 32
LINE_BYTES = 128
BANKS = 32
CHUNK_LANES = 1 << 19  # lanes handled at once
_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}
_SPACES: dict[str, Space] = {
    **dict.fromkeys(("LDG", "STG", "LD", "ST", "ATOM", "ATOMG", "RED", "REDG", "LDGSTS"), "global"),
    **dict.fromkeys(("LDS", "STS", "LDSM", "STSM", "ATOMS"), "shared"),
    **dict.fromkeys(("LDL", "STL"), "local"),
    **dict.fromkeys(("UBLKCP", "UTMALDG", "UTMASTG", "UTMAREDG", "UBLKRED", "SYNCS"), "bulk"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Span:
    """A figure with its lowest and highest possible value."""

    low: float
    value: float
    high: float

    def __add__(self, other: Span) -> Span:
        return Span(self.low + other.low, self.value + other.value, self.high + other.high)

    def times(self, factor: float) -> Span:
        """Scale all three."""
        return Span(self.low * factor, self.value * factor, self.high * factor)


NOTHING = Span(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Access:
    """One memory instruction over the whole launch.

    executions: warp instructions; lanes: active lanes in all of them. data_share: share of the
    executions whose addresses are data; unknown_share: of those where not even the distances between
    lanes are known. random_lanes: lanes of the latter by array. wavefronts are those of shared memory
    for shared accesses, of the L1 data stage otherwise.
    """

    address: int
    mnemonic: str
    opcode: str
    space: Space
    kind: Kind
    width: int
    executions: float
    lanes: float
    data_share: float
    unknown_share: float
    sectors: Span
    lines: Span
    wavefronts: Span
    ideal_wavefronts: float
    ideal_sectors: float
    bytes: float  # asked for by lanes, or brought by a bulk copy
    stride: int | None = None  # bytes between neighbouring lanes, where all agree
    random_lanes: Mapping[int, float] = field(default_factory=dict)
    guard_unknown: bool = False

    @property
    def sectors_per_request(self) -> float | None:
        """Sectors of one warp instruction, None where it never ran."""
        return self.sectors.value / self.executions if self.executions else None

    @property
    def conflict_ways(self) -> float | None:
        """Wavefronts over the least that the same bytes need."""
        return self.wavefronts.value / self.ideal_wavefronts if self.ideal_wavefronts else None

    @property
    def depends_on_data(self) -> bool:
        """Tell whether any address or guard was data."""
        return self.data_share > 0 or self.guard_unknown


def width_of(instruction: Instruction) -> int:
    """Give the bytes that one lane moves."""
    if instruction.opcode in ("LDSM", "STSM"):
        return 16
    if "F32x2" in instruction.modifiers:
        return 8
    return next((_WIDTHS[m] for m in instruction.modifiers if m in _WIDTHS), 4)


def kind_of(opcode: str) -> Kind:
    """Tell loads, stores, atomics and copies apart."""
    if opcode in ("LDGSTS", "UBLKCP", "UTMALDG", "UTMASTG", "UTMAREDG", "UBLKRED", "SYNCS"):
        return "copy"
    if opcode.startswith(("ATOM", "RED")):
        return "atomic"
    return "store" if opcode.startswith("ST") else "load"


@dataclass
class Requests:
    """Warp requests of one instruction, stacked: one row of 32 lanes each.

    `weight` is the number of executions over the launch that a row stands for.
    """

    addresses: Array  # uint64 (rows, 32); inactive lanes repeat an active one
    active: Array  # bool (rows, 32)
    known: Array  # bool (rows,): at least the distances between lanes
    data: Array  # bool (rows,): the place is data
    weight: Array  # float (rows,)
    uncertain: Array  # bool (rows,): the guard is unknown
    parts: dict[str, Any] = field(default_factory=dict)


def collect(emulation: Emulation) -> tuple[Access, ...]:
    """Summarise every memory instruction that ran, in the order of addresses."""
    groups: dict[int, list[Touch]] = {}
    for touch in emulation.log.touches:
        groups.setdefault(touch.instruction.address, []).append(touch)
    return tuple(_access(emulation, groups[address]) for address in sorted(groups))


def _access(emulation: Emulation, touches: Sequence[Touch]) -> Access:
    instruction = touches[0].instruction
    space = _SPACES.get(instruction.opcode, "global")
    if space == "bulk":
        return _bulk(emulation, touches)
    total: dict[str, Any] = {}
    width = width_of(instruction)
    for requests in _stacked(emulation, touches, use_shared=False):
        counts = _count(instruction, space, width, requests)
        for name, value in counts.items():
            if name == "stride":
                total[name] = value if total.get(name, value) == value else None
            else:
                total[name] = total[name] + value if name in total else value
    executions = total.pop("executions")
    unknown_rows, data = total.pop("unknown"), total.pop("data")
    return Access(
        address=instruction.address,
        mnemonic=instruction.mnemonic,
        opcode=instruction.opcode,
        space=space,
        kind=kind_of(instruction.opcode),
        width=width,
        executions=executions,
        data_share=data / executions if executions else 0.0,
        unknown_share=unknown_rows / executions if executions else 0.0,
        guard_unknown=any(touch.uncertain for touch in touches),
        random_lanes=_random_lanes(emulation, touches)
        if unknown_rows and space == "global"
        else {},
        **total,
    )


def _stacked(
    emulation: Emulation, touches: Sequence[Touch], use_shared: bool
) -> Iterator[Requests]:
    """Stack the warps of many executions, a chunk at a time."""
    launch = emulation.launch
    per_touch = max(1, CHUNK_LANES // launch.size)
    rows = launch.size // 32
    block_weight = np.repeat(launch.weights, launch.warps)
    for start in range(0, len(touches), per_touch):
        chunk = touches[start : start + per_touch]
        shape = (launch.size,)
        addresses = np.empty((len(chunk), launch.size), np.uint64)
        known = np.empty((len(chunk), launch.size), np.bool_)
        data = np.empty((len(chunk), launch.size), np.bool_)
        active = np.empty((len(chunk), launch.size), np.bool_)
        for i, touch in enumerate(chunk):
            low: Cell = touch.shared_low if use_shared else touch.low
            addresses[i] = plain_values(low, shape)
            sure = known_in(low, shape)
            known[i] = sure | (type(low) is Drift and low.uniform)
            data[i] = ~sure
            if not use_shared and touch.high is not None:
                high = plain_values(touch.high, shape).astype(np.uint64)
                addresses[i] |= high << np.uint64(32)
            active[i] = touch.lanes
        weights = np.array([touch.weight for touch in chunk])[:, None] * block_weight[None, :]
        uncertain = np.repeat(np.array([t.uncertain for t in chunk]), rows)
        lanes = active.reshape(-1, 32)
        used = lanes.any(axis=1)
        table = addresses.reshape(-1, 32)[used]
        lanes = lanes[used]
        first = lanes.argmax(axis=1)
        table = np.where(lanes, table, table[np.arange(len(table)), first][:, None])
        sure = (known.reshape(-1, 32)[used] | ~lanes).all(axis=1)
        moved = (data.reshape(-1, 32)[used] & lanes).any(axis=1)
        yield Requests(table, lanes, sure, moved, weights.reshape(-1)[used], uncertain[used])


def _random_lanes(emulation: Emulation, touches: Sequence[Touch]) -> dict[int, float]:
    """Count lanes at unknown places by the array whose address went into the sum (-1: unknown)."""
    launch = emulation.launch
    found: dict[int, float] = {}
    for touch in touches:
        if not unknown(touch.low) or (type(touch.low) is Drift and touch.low.uniform):
            continue
        high = int(plain_values(touch.high, (launch.size,))[touch.lanes.argmax()])
        array = array_of(high << 32) if high else -1
        by_sample = touch.lanes.reshape(len(launch.samples), -1).sum(axis=1)
        found[array] = found.get(array, 0.0) + float(launch.weights @ by_sample) * touch.weight
    return found


def _count(
    instruction: Instruction, space: Space, width: int, requests: Requests
) -> dict[str, Any]:
    if space == "shared":
        return _count_shared(instruction, width, requests)
    if space == "local":
        return _count_local(width, requests)
    return _count_global(width, requests)


def _common(requests: Requests, width: int) -> dict[str, Any]:
    lanes = requests.active.sum(axis=1)
    weight = requests.weight
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


def _count_global(width: int, requests: Requests) -> dict[str, Any]:
    lanes = requests.active.sum(axis=1).astype(float)
    least = np.ceil(lanes * width / SECTOR_BYTES)
    sectors = distinct(requests.addresses >> np.uint64(5)).astype(float) * max(1, width // 32)
    lines = distinct(requests.addresses >> np.uint64(7)).astype(float)
    waves = stage_wavefronts(requests.addresses, requests.active, width).astype(float)
    least_lines = np.ceil(lanes * width / LINE_BYTES)
    return {
        **_common(requests, width),
        "sectors": _interval(requests, sectors, least, lanes, lanes),
        "lines": _interval(requests, lines, least_lines, lanes, lanes),
        "wavefronts": _interval(requests, waves, least_lines, lanes, np.ceil(lanes / 2)),
        "ideal_wavefronts": float(requests.weight @ least_lines),
        "ideal_sectors": float(requests.weight @ least),
    }


def stage_wavefronts(addresses: Array, active: Array, width: int) -> Array:
    """Count passes of the L1 data stage per row: lines of a group of lanes, two where banks allow.

    Two lines pass together when their words lie in different banks; up to two lines always count
    as lines (measured on kernels with one line, strided lines and random lines).
    """
    lines = lane_group_lines(addresses, width)
    banks = bank_wavefronts(addresses, active, width)
    return np.where(lines > 2 * max(1, width // 4), np.maximum(banks, (lines + 1) // 2), lines)


def lane_group_lines(addresses: Array, width: int) -> Array:
    """Count lines per group of lanes that move together (128 bytes a group), per row."""
    group = 32 if width <= 4 else max(1, 128 // width)
    parts = addresses.reshape(len(addresses), 32 // group, group) >> np.uint64(7)
    counts = distinct(parts.reshape(-1, group)).reshape(len(addresses), 32 // group)
    return np.asarray(counts.sum(axis=1))


def distinct(table: Array) -> Array:
    """Count different values in each row."""
    ordered = np.sort(table, axis=1)
    return np.asarray(1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1))


def _count_local(width: int, requests: Requests) -> dict[str, Any]:
    """Local memory interleaves the lanes of a warp word by word: one line per word of the thread."""
    words = max(1, width // 4)
    lane = np.arange(32, dtype=np.uint64)
    word = requests.addresses >> np.uint64(2)
    place = word * np.uint64(LINE_BYTES) + lane * np.uint64(4)
    place = np.where(requests.active, place, place[:, :1])
    first = requests.active.argmax(axis=1)
    place = np.where(requests.active, place, place[np.arange(len(place)), first][:, None])
    sectors = distinct(place >> np.uint64(5)).astype(float) * words
    lines = distinct(place >> np.uint64(7)).astype(float) * words
    lanes = requests.active.sum(axis=1).astype(float)
    least = np.ceil(lanes / 8) * words
    whole = np.full(len(lanes), float(words))
    return {
        **_common(requests, width),
        "sectors": _interval(requests, sectors, least, lanes * words, lanes * words),
        "lines": _interval(requests, lines, whole, lanes * words, lanes * words),
        "wavefronts": _interval(requests, lines, whole, lanes * words, lanes * words),
        "ideal_wavefronts": float(requests.weight.sum()) * words,
        "ideal_sectors": float(requests.weight @ least),
    }


def _count_shared(instruction: Instruction, width: int, requests: Requests) -> dict[str, Any]:
    opcode = instruction.opcode
    lanes = requests.active.sum(axis=1).astype(float)
    if opcode in ("LDSM", "STSM"):
        matrices = next((int(m) for m in instruction.modifiers if m in ("2", "4")), 1)
        exact = matrix_wavefronts(requests.addresses, matrices)
        ideal = np.full(len(lanes), float(matrices))
        most = ideal * 8
        moved = float(requests.weight.sum()) * matrices * 128
    else:
        exact = bank_wavefronts(requests.addresses, requests.active, width)
        ideal = np.maximum(1.0, np.ceil(lanes * width / 128))
        most = np.maximum(lanes * max(1, width // 4), 1.0)
        if opcode == "ATOMS":
            exact = same_bank_lanes(requests.addresses, requests.active)
        moved = float(requests.weight @ lanes) * width
    likely = np.minimum(most, ideal * _expected_ways(lanes))
    return {
        **_common(requests, width),
        "bytes": moved,
        "sectors": NOTHING,
        "lines": NOTHING,
        "wavefronts": _interval(requests, exact.astype(float), ideal, most, likely),
        "ideal_wavefronts": float(requests.weight @ ideal),
        "ideal_sectors": 0.0,
    }


def _expected_ways(lanes: Array) -> Array:
    """Give the busiest bank's share when lanes fall on 32 banks at random.

    The mean of the largest of 32 cells after n throws, to a tenth: 1 for one lane, 3.5 for 32.
    """
    return 1.0 + 2.5 * np.sqrt((lanes - 1) / 31)


def bank_wavefronts(addresses: Array, active: Array, width: int) -> Array:
    """Count the words that the busiest bank delivers: 32 lanes at once, 16 where each takes 16 B."""
    words = max(1, width // 4)
    groups = 2 if width >= 16 else 1
    base = (addresses >> np.uint64(2)).reshape(len(addresses) * groups, 32 // groups)
    table = (base[:, :, None] + np.arange(words, dtype=np.uint64)).reshape(len(base), -1)
    counts = _busiest_bank(table).reshape(len(addresses), groups)
    used = active.reshape(len(addresses), groups, -1).any(axis=2)
    return np.asarray(np.maximum(1, (counts * used).sum(axis=1)))


def matrix_wavefronts(addresses: Array, matrices: int) -> Array:
    """Count bank words per 8 x 8 matrix, whose eight rows of 16 bytes eight lanes point to."""
    base = (addresses[:, : 8 * matrices] >> np.uint64(2)).reshape(-1, 8)
    table = (base[:, :, None] + np.arange(4, dtype=np.uint64)).reshape(len(base), -1)
    return np.asarray(_busiest_bank(table).reshape(len(addresses), matrices).sum(axis=1))


def _busiest_bank(words: Array) -> Array:
    """Give the largest number of different words in one bank, for each row."""
    place = words & np.uint64((1 << 40) - 1)
    ordered = np.sort((words % np.uint64(BANKS) << np.uint64(40)) | place, axis=1)
    fresh = np.ones(ordered.shape, np.bool_)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    bank = (ordered >> np.uint64(40)).astype(np.int64)
    row = np.arange(len(words))[:, None] * BANKS
    counts = np.bincount((row + bank)[fresh], minlength=len(words) * BANKS)
    return np.asarray(counts.reshape(len(words), BANKS).max(axis=1))


def same_bank_lanes(addresses: Array, active: Array) -> Array:
    """Count the lanes of the busiest bank: atomics on one word follow each other."""
    bank = (addresses >> np.uint64(2) & np.uint64(BANKS - 1)).astype(np.int64)
    row = np.arange(len(addresses))[:, None] * BANKS
    counts = np.bincount((row + bank)[active], minlength=len(addresses) * BANKS)
    return np.asarray(np.maximum(1, counts.reshape(len(addresses), BANKS).max(axis=1)))


def _bulk(emulation: Emulation, touches: Sequence[Touch]) -> Access:
    """Bulk copies: the bytes that barriers expect; one thread issues each."""
    instruction = touches[0].instruction
    launch = emulation.launch
    executions = moved = 0.0
    for touch in touches:
        by_warp = touch.lanes.reshape(len(launch.samples), launch.warps, 32).any(axis=2)
        executions += float(launch.weights @ by_warp.sum(axis=1)) * touch.weight
        if touch.bytes is not None:
            expected = plain_values(touch.bytes, (launch.size,)).astype(float) * touch.lanes
            per_sample = expected.reshape(len(launch.samples), -1).sum(axis=1)
            moved += float(launch.weights @ per_sample) * touch.weight
    sectors = moved / SECTOR_BYTES
    return Access(
        address=instruction.address, mnemonic=instruction.mnemonic, opcode=instruction.opcode,
        space="bulk", kind="copy", width=0, executions=executions, lanes=executions,
        data_share=0.0, unknown_share=0.0, sectors=Span(sectors, sectors, sectors),
        lines=Span(sectors / 4, sectors / 4, sectors / 4), wavefronts=NOTHING,
        ideal_wavefronts=0.0, ideal_sectors=sectors, bytes=moved,
    )  # fmt: skip
