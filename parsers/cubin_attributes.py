"""The attributes of `.nv.info`: format byte, attribute byte, value.

Their numbers were read off files of ptxas 13.0 and 12.9 next to what `cuobjdump -elf` prints for
them; the tests compare the two.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

MAX_THREADS, PARAM_CBANK, REQNTID = 0x05, 0x0A, 0x10
FRAME_SIZE, MIN_STACK_SIZE, REGCOUNT = 0x11, 0x12, 0x2F
KPARAM_INFO, KPARAM_INFO_V2 = 0x17, 0x45
NUM_BARRIERS, CTA_PER_CLUSTER = 0x4C, 0x3D
_FORMAT_SIZED = 4  # EIFMT_SVAL: a length follows; other formats hold 16 bits in place

Own = dict[int, list[bytes]]  # the values of each attribute of one function


def attributes(data: memoryview) -> Iterator[tuple[int, bytes]]:
    """Give attribute and value of each entry of a section."""
    at = 0
    while at + 4 <= len(data):
        form, attribute = data[at], data[at + 1]
        (short,) = struct.unpack_from("<H", data, at + 2)
        if form == _FORMAT_SIZED:
            yield attribute, bytes(data[at + 4 : at + 4 + short])
            at += 4 + short
        else:
            yield attribute, bytes(data[at + 2 : at + 4])
            at += 4


def own_attributes(data: memoryview) -> Own:
    """Collect the attributes of one function."""
    own: Own = {}
    for attribute, value in attributes(data):
        own.setdefault(attribute, []).append(value)
    return own


def triple(own: Own, attribute: int) -> tuple[int, int, int] | None:
    for value in own.get(attribute, []):
        if len(value) >= 12:
            x, y, z = struct.unpack_from("<III", value)
            return x, y, z
    return None


def parameter_base(own: Own) -> int | None:
    for value in own.get(PARAM_CBANK, []):
        if len(value) >= 8:
            return int(struct.unpack_from("<H", value, 4)[0])
    return None


def parameters(own: Own) -> tuple[tuple[int, int], ...]:
    """Give offset and size of each parameter by its ordinal."""
    found: dict[int, tuple[int, int]] = {}
    for value in own.get(KPARAM_INFO, []):
        if len(value) >= 12:
            ordinal, offset, bits = struct.unpack_from("<HHI", value, 4)
            found[ordinal] = (offset, bits >> 18)
    for value in own.get(KPARAM_INFO_V2, []):
        if len(value) >= 10:
            ordinal, offset, size = struct.unpack_from("<HHH", value, 4)
            found[ordinal] = (offset, size)
    return tuple(found[ordinal] for ordinal in sorted(found))
