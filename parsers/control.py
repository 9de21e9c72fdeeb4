"""The control word: 21 scheduling bits of a 128-bit instruction, to and from `Control`.

Bits 105 to 125 of the instruction, which are bits 41 to 61 of its second 64-bit word, lowest
first: stall 4, yield 1, write barrier 3, read barrier 3, wait mask 6, reuse 4. The layout is the
same on sm_70 and every later target that was checked (public tables of CuAssembler and maxas,
compared with the output of ptxas 13.0). Vendor tools print none of it.
"""

from __future__ import annotations

import re
import struct
from functools import lru_cache

from .listing import Control

CONTROL_SHIFT = 41
CONTROL_BITS = 21
WORD_BYTES = 8
NO_BARRIER = 7  # scoreboard number that means none

_NOTATION = re.compile(
    r"(?:B(?P<waits>[-0-5]{6})|(?P<mask>[-0-9]{2})):"
    r"R?(?P<read>[-0-5]):W?(?P<write>[-0-5]):(?P<yields>[-Y]):S?(?P<stall>[0-9a-f]{1,2})"
)


@lru_cache(maxsize=1 << 16)
def decode(bits: int) -> Control:
    """Decode the 21 control bits, given as a number below 2**21."""
    write, read = bits >> 5 & 7, bits >> 8 & 7
    return Control(
        stall=bits & 15,
        yield_=bits >> 4 & 1,
        write_barrier=None if write == NO_BARRIER else write,
        read_barrier=None if read == NO_BARRIER else read,
        wait_mask=bits >> 11 & 63,
        reuse=bits >> 17 & 15,
    )


def decode_word(word: int) -> Control:
    """Decode the second 64-bit word of an instruction, as the disassemblers print it in hex."""
    return decode(word >> CONTROL_SHIFT & (1 << CONTROL_BITS) - 1)


def top_digits_to_control(digits: str) -> Control:
    """Decode the six highest hex digits of the second word, bits 40 to 63, without the rest."""
    return decode(int(digits, 16) >> 1 & (1 << CONTROL_BITS) - 1)


def second_words(code: memoryview) -> tuple[int, ...]:
    """Give the second 64-bit word of each instruction of a code section."""
    count = len(code) // WORD_BYTES
    return struct.unpack_from(f"<{count}Q", code)[1::2]


def encode(control: Control) -> int:
    """Give the 21 bits that `decode` reads; the inverse of it."""
    write = NO_BARRIER if control.write_barrier is None else control.write_barrier
    read = NO_BARRIER if control.read_barrier is None else control.read_barrier
    return (
        control.stall
        | control.yield_ << 4
        | write << 5
        | read << 8
        | control.wait_mask << 11
        | control.reuse << 17
    )


def notation(control: Control) -> str:
    """Write a control word the way assemblers do, `B0-----:R-:W2:Y:S04`; `Y` is raw yield bit 0."""
    waits = "".join(str(i) if control.wait_mask >> i & 1 else "-" for i in range(6))
    read = "-" if control.read_barrier is None else control.read_barrier
    write = "-" if control.write_barrier is None else control.write_barrier
    yields = "-" if control.yield_ else "Y"
    return f"B{waits}:R{read}:W{write}:{yields}:S{control.stall:02d}"


def parse_notation(text: str) -> Control | None:
    """Read assembler notation, or None where the text is none.

    Two spellings are in use: `B0-----:R-:W2:Y:S04` (stall decimal) and the short
    `01:-:2:Y:4` (wait mask decimal, stall hex, as Triton prints it). Neither carries reuse.
    """
    found = _NOTATION.search(text)
    if not found:
        return None
    waits, mask = found["waits"], found["mask"]
    if waits is not None:
        wait_mask = sum(1 << i for i, digit in enumerate(waits) if digit != "-")
        stall = int(found["stall"]) if found["stall"].isdigit() else 16
    else:
        wait_mask = int(mask) if mask.isdigit() else 0
        stall = int(found["stall"], 16)
    if stall > 15 or wait_mask > 63:
        return None
    return Control(
        stall=stall,
        yield_=0 if found["yields"] == "Y" else 1,
        write_barrier=None if found["write"] == "-" else int(found["write"]),
        read_barrier=None if found["read"] == "-" else int(found["read"]),
        wait_mask=wait_mask,
        reuse=0,
    )
