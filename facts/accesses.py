"""What each memory instruction asks of the memory system, from the addresses of its lanes.

Everything is counted per warp instruction and summed over the launch: sectors of 32 bytes and lines
of 128 bytes that a request touches, wavefronts in shared memory (the most words that one bank must
deliver) and in L1 (the same for lines). Where an address is data, the
figure is an interval: all lanes side by side, or each lane in a place of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from ..parsers.listing import Instruction
from ..parsers.record import dataclass, replace
from .access_counts import SECTOR_BYTES, count
from .emulator.emulate import Emulation
from .emulator.trace import Touch
from .emulator.values import plain_values
from .spans import NOTHING, Span, exactly
from .warp_requests import Shapes, merged, random_lanes, stacked

Space = Literal["global", "shared", "local", "bulk"]
Kind = Literal["load", "store", "atomic", "copy"]
_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}
_SPACES: dict[str, Space] = {
    **dict.fromkeys(("LDG", "STG", "LD", "ST", "ATOM", "ATOMG", "RED", "REDG", "LDGSTS"), "global"),
    **dict.fromkeys(("LDS", "STS", "LDSM", "STSM", "ATOMS"), "shared"),
    **dict.fromkeys(("LDL", "STL"), "local"),
    **dict.fromkeys(("UBLKCP", "UTMALDG", "UTMASTG", "UTMAREDG", "UBLKRED", "SYNCS"), "bulk"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Access:
    """One memory instruction over the whole launch.

    executions: warp instructions; lanes: active lanes in all of them. data_share: share of the
    executions whose addresses are data; unknown_share: of those where not even the distances
    between lanes are known. random_lanes: lanes of the latter by array. wavefronts are those of
    shared memory for shared accesses, of the L1 data stage otherwise. sectors: of copies past L1,
    those that L2 sends, which are more than they touch where shared memory splits sectors.
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
    requests: Span  # what L2 is asked for, before L1 answers any: lines, or parts of lines
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


def repeated(access: Access, factor: float) -> Access:
    """Give an access that is executed so many times as often; lanes at random places stay."""
    return replace(
        access,
        executions=access.executions * factor,
        lanes=access.lanes * factor,
        sectors=access.sectors.times(factor),
        lines=access.lines.times(factor),
        requests=access.requests.times(factor),
        wavefronts=access.wavefronts.times(factor),
        ideal_wavefronts=access.ideal_wavefronts * factor,
        ideal_sectors=access.ideal_sectors * factor,
        bytes=access.bytes * factor,
    )


def kind_of(opcode: str) -> Kind:
    """Tell loads, stores, atomics and copies apart."""
    if opcode in ("LDGSTS", "UBLKCP", "UTMALDG", "UTMASTG", "UTMAREDG", "UBLKRED", "SYNCS"):
        return "copy"
    if opcode.startswith(("ATOM", "RED")):
        return "atomic"
    return "store" if opcode.startswith("ST") else "load"


def collect(emulation: Emulation) -> tuple[Access, ...]:
    """Summarise every memory instruction that ran, in the order of addresses."""
    groups: dict[int, list[Touch]] = {}
    for touch in emulation.log.touches:
        groups.setdefault(touch.instruction.address, []).append(touch)
    counted: dict[tuple[object, ...], dict[str, Any]] = {}
    shapes = Shapes()
    return tuple(_access(emulation, groups[a], counted, shapes) for a in sorted(groups))


def _access(
    emulation: Emulation,
    touches: Sequence[Touch],
    counted: dict[tuple[object, ...], dict[str, Any]],
    shapes: Shapes,
) -> Access:
    """Summarise one instruction; of those that ask alike (an unrolled loop) one is counted."""
    instruction = touches[0].instruction
    space = _SPACES.get(instruction.opcode, "global")
    if space == "bulk":
        return _bulk(emulation, touches)
    shape = shapes.of(touches)
    counts = counted.get(shape) if shape is not None else None
    if counts is None:
        counts = _counts(emulation, touches, space)
        if shape is not None:
            counted[shape] = counts
    return Access(
        address=instruction.address,
        mnemonic=instruction.mnemonic,
        opcode=instruction.opcode,
        space=space,
        kind=kind_of(instruction.opcode),
        **counts,
    )


def _counts(emulation: Emulation, touches: Sequence[Touch], space: Space) -> dict[str, Any]:
    """Count what the executions of one instruction ask for, named as Access's fields."""
    instruction = touches[0].instruction
    total: dict[str, Any] = {}
    width = width_of(instruction)
    for requests in stacked(emulation, touches):
        once = merged(requests)
        counts = count(instruction, space, width, once, emulation.launch.frame_bytes)
        for name, value in counts.items():
            if name == "stride":
                total[name] = value if total.get(name, value) == value else None
            else:
                total[name] = total[name] + value if name in total else value
    executions = total.pop("executions")
    unknown_rows, data = total.pop("unknown"), total.pop("data")
    found = random_lanes(emulation, touches) if unknown_rows and space == "global" else {}
    return {
        "width": width,
        "executions": executions,
        "data_share": data / executions if executions else 0.0,
        "unknown_share": unknown_rows / executions if executions else 0.0,
        "guard_unknown": any(touch.uncertain for touch in touches),
        "random_lanes": found,
        **total,
    }


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
        data_share=0.0, unknown_share=0.0, sectors=exactly(sectors), lines=exactly(sectors / 4),
        requests=exactly(sectors / 4), wavefronts=NOTHING,
        ideal_wavefronts=0.0, ideal_sectors=sectors, bytes=moved,
    )  # fmt: skip
