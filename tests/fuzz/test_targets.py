"""Foreign input is read or refused by name: sound input, input with damage, and what fuzzing found.

`fuzz.py` does the same for as long as it is told to.
"""

from __future__ import annotations

import random

import pytest

from .targets import TARGETS, seeds

FOUND = {
    "a row that ends before its last column": (
        "ncu-csv",
        '"ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value","Grid Size"\n'
        '"0","k","s","m","","1"\n',
    ),
    "a details page without sections": (
        "ncu-csv",
        '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n"0","k","m","","1"\n',
    ),
    "a details page without units": (
        "ncu-csv",
        '"ID","Kernel Name","Section Name","Metric Name","Metric Value"\n"0","k","s","a__b","1"\n',
    ),
    "a launch whose number is a superscript": ("ncu-csv", '"ID","Kernel Name"\n"",""\n"²","k"\n'),
    "a launch with a number of 5,000 digits": (
        "ncu-csv",
        f'"ID","Kernel Name"\n"",""\n"{"1" * 5000}","k"\n',
    ),
    "a grid of 5,000 digits": (
        "ncu-csv",
        f'"ID","Kernel Name","Grid Size"\n"","",""\n"1","k","({"1" * 5000}, 1, 1)"\n',
    ),
    "a source page without source": (
        "ncu-csv",
        '"Kernel Name","k"\n"#","Address"\n"0","0x10"\n',
    ),
    "an address that is no number": (
        "ncu-csv",
        '"Kernel Name","k"\n"Address","Source"\n"0x7f\udcc3","EXIT"\n',
    ),
    "a sample count that is infinite": (
        "ncu-csv",
        '"Kernel Name","k"\n"Source","stall_wait","# Samples"\n"EXIT","1e999","inf"\n',
    ),
    "a field that is too long": ("ncu-csv", '"ID","Kernel Name"\n"' + "x" * 200_000 + '"\n'),
    "the least of one number": ("expression", "min(3) / max(0.5)"),
}


@pytest.mark.parametrize(("target", "text"), FOUND.values(), ids=FOUND.keys())
def test_what_fuzzing_found_stays_mended(target: str, text: str) -> None:
    TARGETS[target](text.encode("utf-8", "surrogateescape"))


@pytest.mark.parametrize("target", TARGETS)
def test_sound_input_is_read(target: str) -> None:
    for seed in seeds(target):
        TARGETS[target](seed)


@pytest.mark.parametrize("target", TARGETS)
def test_damaged_input_is_read_or_refused(target: str) -> None:
    chosen = random.Random(target)
    sound = [seed[:8192] for seed in seeds(target)]
    for _ in range(40):
        TARGETS[target](damaged(chosen.choice(sound), chosen))


def damaged(data: bytes, chosen: random.Random) -> bytes:
    """Cut, repeat, drop and flip a few places."""
    found = bytearray(data)
    for _ in range(chosen.randrange(1, 6)):
        start = chosen.randrange(len(found) + 1)
        end = min(len(found), start + chosen.randrange(64))
        match chosen.randrange(4):
            case 0:
                del found[start:end]
            case 1:
                found[start:start] = found[start:end]
            case 2:
                found[start:end] = chosen.randbytes(end - start)
            case _:
                for at in range(start, end, 9):
                    found[at] ^= 1 << chosen.randrange(8)
    return bytes(found)
