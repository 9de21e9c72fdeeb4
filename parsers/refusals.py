"""Why a text holds no SASS: one named reason and a next step for each kind of wrong input."""

from __future__ import annotations

import re

from .errors import KneckError, Place, printable
from .generations import first_readable, generation_name, refused_names
from .listing import Listing
from .sass_headers import OLD_ENCODING

_PTX = re.compile(r"^\s*(?:\.version\s+\d|\.visible\s+\.entry|\.address_size\s)", re.MULTILINE)
_SOURCE = re.compile(r"^\s*#\s*include\b|\b__global__\b", re.MULTILINE)
_LONGEST_QUOTE = 60  # characters of a wrong first line shown in a message


def refusal(text: str, listing: Listing) -> KneckError:
    """Say why a text gave no function."""
    path = listing.path
    if listing.refused:
        return old_generation(listing)
    if not text.strip():
        return KneckError("the listing is empty", Place(path), _HOW_TO_MAKE)
    ptx = _PTX.search(text)
    if ptx:
        line = text.count("\n", 0, ptx.end()) + 1
        return KneckError(
            "this is PTX, kneck reads SASS",
            Place(path, line),
            "assemble it first: ptxas -arch=ARCH FILE.ptx -o FILE.cubin, and give the cubin",
        )
    source = _SOURCE.search(text)
    if source:
        return KneckError(
            "this is CUDA source, kneck reads SASS",
            Place(path, text.count("\n", 0, source.end()) + 1),
            "compile it: nvcc -cubin -arch=ARCH -o FILE.cubin SOURCE, and give the cubin",
        )
    if "\ufffd" in text or "\x00" in text:
        return wrong_encoding(path)
    if listing.unknown_lines:
        line, content = listing.unknown_lines[0]
        what = f"no line of this listing is a SASS instruction, as in {_quote(content)!r}"
        return KneckError(what, Place(path, line), _HOW_TO_MAKE)
    first, content = next((i, each) for i, each in enumerate(text.split("\n"), 1) if each.strip())
    what = f"no SASS instruction found; the text starts with {_quote(content)!r}"
    return KneckError(what, Place(path, first), _HOW_TO_MAKE)


def old_generation(listing: Listing) -> KneckError:
    """Refuse code from before the 128-bit encoding, by name."""
    line, arch = listing.refused[0]
    if arch == OLD_ENCODING:
        what = f"this is 64-bit SASS of an older generation ({refused_names()})"
    else:
        what = f"{arch} is {generation_name(arch)}, and kneck reads {first_readable()} and later"
    helps = f"compile for {first_readable()} or later: nvcc -cubin -arch=ARCH"
    return KneckError(what, Place(listing.path, line), helps)


def wrong_encoding(path: str, line: int = 0) -> KneckError:
    """Refuse text that is not UTF-8."""
    return KneckError(
        "the text is not UTF-8",
        Place(path, line),
        "write the listing again as UTF-8 (PowerShell: ... | Out-File -Encoding utf8 FILE)",
    )


def _quote(content: str) -> str:
    return printable(content.strip())[:_LONGEST_QUOTE]


_HOW_TO_MAKE = "make one with: cuobjdump -sass FILE > FILE.sass, or nvdisasm -c -hex FILE.cubin"
