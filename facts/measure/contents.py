"""What the arrays of `--args` hold: the same numbers on the GPU and in numpy.

`kb/probes/support.cu` has the device side. Random values are a hash of index and seed, so that no
array needs to be copied and any element can be computed alone.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any

from ..arguments import Argument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NARROW_BITS = 16  # integers up to this width take every value, wider ones stay below the count
LARGEST_INDEX = 2**31  # random 32- and 64-bit integers stay below it


def random_limit(argument: Argument) -> int:
    """Bound of random integers: 0 for none, the element count where they may serve as indices."""
    if argument.dtype[1:].isdigit() and argument.dtype[0] in "iu":
        wide = 8 * argument.element_bytes > NARROW_BITS
        return min(argument.count or 1, LARGEST_INDEX) if wide else 0
    return 0


def hashed(indices: NDArray[np.uint64], seed: int) -> NDArray[np.uint32]:
    """Mix index and seed to 32 bits, as `mixed` in support.cu does."""
    import numpy as np

    low = (indices & np.uint64(0xFFFF_FFFF)).astype(np.uint32)
    high = (indices >> np.uint64(32)).astype(np.uint32)
    with np.errstate(over="ignore"):
        h = low ^ (high * np.uint32(0x9E37_79B9))
        h = h + np.uint32(seed)
        h ^= h >> np.uint32(16)
        h *= np.uint32(0x85EB_CA6B)
        h ^= h >> np.uint32(13)
        h *= np.uint32(0xC2B2_AE35)
    mixed: NDArray[np.uint32] = h ^ (h >> np.uint32(16))
    return mixed


def element_values(argument: Argument, indices: NDArray[np.uint64], seed: int) -> NDArray[Any]:
    """Give the elements at these indices: float64 for floats (before rounding to the type), the
    type itself for integers. `seed` is the position of the argument, counted from 0.
    """
    import numpy as np

    if argument.dtype.startswith(("f", "b")):
        return _floats(argument, indices, seed)
    kind = np.dtype(f"{argument.dtype[0]}{argument.element_bytes}")
    if argument.contents == "iota":
        return indices.astype(kind)
    if argument.contents == "cycle":
        last = np.uint64((argument.count or 1) - 1)
        with np.errstate(over="ignore"):
            following = indices * np.uint64(1664525) + np.uint64(1013904223)
        return (following & last).astype(kind)
    if argument.contents == "random":
        bits, limit = hashed(indices, seed), random_limit(argument)
        return (bits % np.uint32(limit) if limit else bits).astype(kind)
    return np.full(indices.shape, constant_value(argument), kind)


def _floats(argument: Argument, indices: NDArray[np.uint64], seed: int) -> NDArray[np.float64]:
    import numpy as np

    if argument.contents == "iota":
        return indices.astype(np.float64)
    if argument.contents == "random":
        steps = (hashed(indices, seed) >> np.uint32(8)).astype(np.float64) - 2.0**23
        return steps * 2.0**-23
    return np.full(indices.shape, constant_value(argument), np.float64)


def constant_value(argument: Argument) -> int | float:
    """Give the value that zeros, ones or a fill puts into every element."""
    return {"zeros": 0, "ones": 1}.get(argument.contents, argument.value or 0)


def encoded(value: int | float, dtype: str) -> bytes:
    """Give the little-endian bytes of one element, as the kernel's parameter or to fill with."""
    if dtype == "f16" and abs(value) >= 65520:  # beyond the largest: infinity, as the GPU rounds
        return struct.pack("<e", math.copysign(math.inf, value))
    if dtype in ("f32", "f64", "f16"):
        return struct.pack({"f16": "<e", "f32": "<f", "f64": "<d"}[dtype], value)
    if dtype == "bf16":
        return _bfloat16(value)
    if dtype in ("f8", "bf8"):
        return bytes([_float8(float(value), *FLOAT8[dtype])])
    size = 8 if dtype == "ptr" else int(dtype[1:]) // 8
    return int(value).to_bytes(size, "little", signed=dtype.startswith("i"))


def _bfloat16(value: float) -> bytes:
    """Round a float32 to its upper half, ties to even."""
    bits = int.from_bytes(struct.pack("<f", value), "little")
    rounded = bits + 0x7FFF + ((bits >> 16) & 1)
    return ((rounded >> 16) & 0xFFFF).to_bytes(2, "little")


# Mantissa bits, exponent bias, largest finite value, code of that value (OCP 8-bit formats).
FLOAT8 = {"f8": (3, 7, 448.0, 0x7E), "bf8": (2, 15, 57344.0, 0x7B)}


def _float8(value: float, mantissa_bits: int, bias: int, largest: float, top: int) -> int:
    """Round to an 8-bit float, ties to even, saturating."""
    sign = 0x80 if math.copysign(1, value) < 0 else 0
    size = abs(value)
    if size >= largest:
        return sign | top
    exponent = max(math.frexp(size)[1] - 1, 1 - bias) if size else 1 - bias
    steps = round(math.ldexp(size, mantissa_bits - exponent))  # round() ties to even
    if steps >= 2 << mantissa_bits:
        steps, exponent = steps >> 1, exponent + 1
    hidden = 1 << mantissa_bits
    biased = exponent + bias if steps >= hidden else 0
    return sign | (biased << mantissa_bits) | (steps & (hidden - 1))
