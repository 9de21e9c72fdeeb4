"""What a kernel sees of its launch: indices, constant bank 0, and the blocks that are run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np

from ...parsers.record import dataclass
from ..arguments import Argument
from ..pipes import ConstantLayout
from .samples import WARP as WARP
from .samples import Sample
from .values import Array, Cell

POINTER_SPACING = 1 << 36  # far apart, so that no two arrays share a line
FIRST_POINTER = 0x7F0000000000


@dataclass(frozen=True, slots=True)
class Contents:
    """What an integer array holds: element i is `start + i * numerator // denominator`.

    `is_assumed` tells that nobody said so.
    """

    element_bytes: int
    start: int = 0
    numerator: int = 0
    denominator: int = 1
    is_assumed: bool = False

    def words(self, offset: Array) -> Array:
        """Give the 32-bit words at byte offsets."""
        index = offset.astype(np.int64) // self.element_bytes
        value = self.start + index * self.numerator // self.denominator
        upper = (offset.astype(np.int64) % self.element_bytes) >= 4
        return np.where(upper, value >> 32, value).astype(np.uint64).astype(np.uint32)


@dataclass(frozen=True)
class Launch:
    """Grid, block and parameters of one launch, with the sampled blocks."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    layout: ConstantLayout
    samples: tuple[Sample, ...]
    parameters: Mapping[int, int] = field(default_factory=dict)  # byte offset -> byte, known ones
    banks: Mapping[int, bytes] = field(default_factory=dict)
    contents: Mapping[int, Contents] = field(default_factory=dict)  # by array, see `array_of`
    frame_bytes: int | None = None  # local memory of a thread

    @cached_property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]

    @cached_property
    def warps(self) -> int:
        """Warps of a block."""
        return -(-self.threads // WARP)

    @cached_property
    def size(self) -> int:
        """Length of the vectors: all sampled blocks, padded to whole warps."""
        return len(self.samples) * self.warps * WARP

    @cached_property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @cached_property
    def weights(self) -> Array:
        """Blocks of the grid that each sample stands for."""
        return np.array([sample.weight for sample in self.samples])

    @cached_property
    def linear(self) -> Array:
        """Linear thread index in its block, for every thread of the vector."""
        return np.tile(np.arange(self.warps * WARP, dtype=np.uint32), len(self.samples))

    @cached_property
    def alive(self) -> Array:
        """Threads that exist; the rest is padding."""
        return self.linear < self.threads

    def special(self, name: str) -> Cell:
        """Give a special register, None where it is not known."""
        x, y, _ = self.block
        linear = self.linear
        if name == "SR_TID.X":
            return linear % x if x < self.threads else linear
        if name == "SR_TID.Y":
            return linear // x % y if y > 1 else 0
        if name == "SR_TID.Z":
            return linear // (x * y) if self.block[2] > 1 else 0
        if name.startswith("SR_CTAID."):
            axis = "XYZ".index(name[-1])
            indices = {sample.index[axis] for sample in self.samples}
            if len(indices) == 1:
                return indices.pop()
            values = np.array([sample.index[axis] for sample in self.samples], np.uint32)
            return np.repeat(values, self.warps * WARP)
        if name == "SR_LANEID":
            return linear % WARP
        if name in ("SRZ", "SR_CgaCtaId", "SR_SWINHI", "SR_SWINLO"):
            return 0
        if name.endswith("MASK") and name[3:5] in ("EQ", "LT", "LE", "GT", "GE"):
            return _lane_mask(name[3:5], linear % WARP)
        if name.startswith("SR_NTID"):
            return None
        if name == "SR_NWARPID" or name == "SR_WARPID":
            return linear // WARP
        return None

    def constant(self, bank: int, offset: int, width: int = 4, signed: bool = False) -> int | None:
        """Read a constant; None where the launch does not determine it."""
        if bank in self.banks:
            data = self.banks[bank][offset : offset + width]
            known = list(data) if len(data) == width else None
        elif bank == 0:
            known = self._bank0(offset, width)
        else:
            return None
        if known is None:
            return None
        return int.from_bytes(bytes(known), "little", signed=signed) & 0xFFFFFFFF

    def _bank0(self, offset: int, width: int) -> list[int] | None:
        words: dict[int, int] = {}
        for base, values in ((self.layout.block, self.block), (self.layout.grid, self.grid)):
            words.update((base + 4 * i, value) for i, value in enumerate(values))
        words[self.layout.stack] = 0xFFFDE0
        start = offset & ~3
        if start in words and offset - start + width <= 4:
            return list(words[start].to_bytes(4, "little")[offset - start : offset - start + width])
        found = [self.parameters.get(offset - self.layout.parameters + i) for i in range(width)]
        return None if None in found else [byte for byte in found if byte is not None]


def _lane_mask(kind: str, lane: Array) -> Array:
    one = np.uint64(1) << lane.astype(np.uint64)
    below = one - np.uint64(1)
    full = np.uint64(0xFFFFFFFF)
    masks = {
        "EQ": one,
        "LT": below,
        "LE": below | one,
        "GT": full ^ below ^ one,
        "GE": full ^ below,
    }
    return masks[kind].astype(np.uint32)


def natural_offsets(sizes: Sequence[int]) -> tuple[int, ...]:
    """Place parameters as CUDA does: in order, each aligned to its own size."""
    offsets, end = [], 0
    for size in sizes:
        start = -(-end // size) * size
        offsets.append(start)
        end = start + size
    return tuple(offsets)


def parameter_bytes(
    arguments: Sequence[Argument], offsets: Sequence[int]
) -> tuple[dict[int, int], dict[int, int]]:
    """Give the parameters' bytes by offset, and the address made up for each array.

    Arrays get distinct, widely spaced addresses; scalars their value. The second result maps the
    position of an array argument to its address.
    """
    data: dict[int, int] = {}
    addresses: dict[int, int] = {}
    for position, (argument, offset) in enumerate(zip(arguments, offsets, strict=True)):
        if argument.kind == "array":
            addresses[position] = array_address(position)
            raw = addresses[position].to_bytes(8, "little")
        else:
            raw = scalar_bytes(argument.dtype, argument.value or 0)
        data.update((offset + i, byte) for i, byte in enumerate(raw))
    return data, addresses


def array_address(position: int) -> int:
    """Give the made-up address of the array at a position of the argument list."""
    return FIRST_POINTER + position * POINTER_SPACING


def array_of(address: int) -> int:
    """Give the number under which an array's made-up addresses are found."""
    return address // POINTER_SPACING


def scalar_bytes(dtype: str, value: float | int) -> bytes:
    """Give a scalar as the kernel finds it in memory."""
    if dtype == "ptr":
        return (int(value) & (1 << 64) - 1).to_bytes(8, "little")
    if dtype == "bf16":
        return np.float32(value).tobytes()[2:]
    kinds = {
        "f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "u8": np.uint8,
        "i16": np.int16, "u16": np.uint16, "i32": np.int32, "u32": np.uint32, "i64": np.int64,
        "u64": np.uint64,
    }  # fmt: skip
    if dtype not in kinds:
        return b""
    return bytes(np.array([value]).astype(kinds[dtype]).tobytes())
