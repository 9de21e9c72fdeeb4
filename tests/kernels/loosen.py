"""Loosen the control words of a cubin: give chosen instructions a longer stall than they need.

    python tests/kernels/loosen.py IN.cubin OUT.cubin --function sgemm_wide --opcode FFMA --stall 4
    python tests/kernels/loosen.py --all        write every cubin of loosened.yaml again

Today's compiler leaves no slack on independent instructions, so the rules about slack have nothing
to find in what it writes. A longer stall is always safe: the results stay the same, the kernel is
slower. Only the stall bits change (105 to 108 of each 128-bit instruction), and the yield bit where
a stall of 12 or more asks for it; no stall is ever shortened.
"""

import argparse
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
# Bits 0 to 8 name the operation, 9 to 11 the form of its operands (read off nvdisasm -hex, sm_75 to
# sm_120).
OPERATIONS = {"FFMA": 0x023, "IMMA": 0x037, "HMMA": 0x03C}
STALL_SHIFT = 105 - 64
LONGEST = 11  # from 12 on the hardware wants the yield bit cleared as well
SLOW_YIELD = 1 << (109 - 64)


@dataclass(frozen=True)
class Change:
    """Which instructions of a function get which stall; addresses as nvdisasm prints them."""

    opcode: str
    stall: int
    first: int = 0
    last: int = 1 << 32


def section(cubin: bytes, name: str) -> tuple[int, int]:
    """Where a section of a 64-bit little-endian ELF file begins, and its size in bytes.

    Raises KeyError when the file has no such section.
    """
    (headers,) = struct.unpack_from("<Q", cubin, 0x28)
    entry_bytes, count, names_index = struct.unpack_from("<HHH", cubin, 0x3A)
    (names,) = struct.unpack_from("<Q", cubin, headers + names_index * entry_bytes + 0x18)
    for index in range(count):
        header = headers + index * entry_bytes
        (name_offset,) = struct.unpack_from("<I", cubin, header)
        start = names + name_offset
        if cubin[start : cubin.index(0, start)].decode() == name:
            offset, size = struct.unpack_from("<QQ", cubin, header + 0x18)
            return offset, size
    raise KeyError(name)


def loosened_word(control: int, stall: int) -> int:
    """The upper half of an instruction with at least this stall."""
    now = control >> STALL_SHIFT & 0xF
    if now >= stall:
        return control
    control = control & ~(0xF << STALL_SHIFT) | stall << STALL_SHIFT
    return control & ~SLOW_YIELD if stall > LONGEST else control


def loosen(cubin: bytes, function: str, changes: list[Change]) -> tuple[bytes, int]:
    """The cubin with the changes made to one function, and how many instructions they touched."""
    offset, size = section(cubin, f".text.{function}")
    result = bytearray(cubin)
    touched = 0
    for address in range(0, size, 16):
        low, high = struct.unpack_from("<QQ", cubin, offset + address)
        for change in changes:
            if low & 0x1FF != OPERATIONS[change.opcode]:
                continue
            if change.first <= address <= change.last:
                word = loosened_word(high, change.stall)
                touched += word != high
                struct.pack_into("<Q", result, offset + address + 8, word)
    return bytes(result), touched


def recipes() -> Iterator[dict[str, Any]]:
    """The entries of loosened.yaml."""
    yield from yaml.safe_load((HERE / "loosened.yaml").read_text(encoding="utf-8"))["loosened"]


def apply(recipe: dict[str, Any]) -> bytes:
    """The loosened cubin that an entry of loosened.yaml describes."""
    changes = [Change(**change) for change in recipe["changes"]]
    cubin, touched = loosen((HERE / recipe["from"]).read_bytes(), recipe["kernel"], changes)
    if not touched:
        raise ValueError(f"{recipe['id']}: no instruction was loosened")
    return cubin


def main() -> int:
    """Loosen one cubin as the options say, or all that loosened.yaml lists."""
    parser = argparse.ArgumentParser(description="Lengthen the stalls of a cubin's instructions.")
    parser.add_argument("cubin", nargs="?", type=Path)
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("--all", action="store_true", help="write what loosened.yaml lists")
    parser.add_argument("--function")
    parser.add_argument("--opcode", choices=sorted(OPERATIONS))
    parser.add_argument("--stall", type=int, choices=range(1, 16))
    parser.add_argument("--first", type=lambda text: int(text, 0), default=0)
    parser.add_argument("--last", type=lambda text: int(text, 0), default=1 << 32)
    options = parser.parse_args()
    if options.all:
        for recipe in recipes():
            (HERE / recipe["cubin"]).parent.mkdir(exist_ok=True)
            (HERE / recipe["cubin"]).write_bytes(apply(recipe))
            print(recipe["cubin"])
        return 0
    if not (options.out and options.function and options.opcode and options.stall):
        parser.error("give IN OUT --function --opcode --stall, or --all")
    change = Change(options.opcode, options.stall, options.first, options.last)
    cubin, touched = loosen(options.cubin.read_bytes(), options.function, [change])
    options.out.write_bytes(cubin)
    print(f"{touched} instructions loosened")
    return 0 if touched else 1


if __name__ == "__main__":
    sys.exit(main())
