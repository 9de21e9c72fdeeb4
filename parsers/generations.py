"""Which generations have 128-bit instructions, and what the older ones are called.

Code before the 128-bit encoding has no control bits in the instruction and pairs instructions;
kneck refuses it by name. The boundary, the names and some encodings are data, in
`generations.json`.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

_SM = re.compile(r"(?:sm_|SM|compute_)?(\d{2,3})([af]?)\b")


@cache
def _data() -> dict[str, Any]:
    import json

    text = files(__package__).joinpath("generations.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


@cache
def noted_encodings() -> frozenset[int]:
    """Give the low bits of instructions that nvdisasm notes targets on after its analysis."""
    return frozenset(int(bits, 16) for bits in _data()["noted_encodings"].values())


@cache
def _table() -> tuple[int, tuple[tuple[int, str], ...]]:
    data = _data()
    rows = tuple((int(row["first_sm"]), str(row["name"])) for row in data["generations"])
    return int(data["first_128_bit_sm"]), rows


def sm_number(arch: str) -> int | None:
    """Give 86 for `sm_86`, 90 for `sm_90a`, None for anything else."""
    found = _SM.fullmatch(arch.strip())
    return int(found[1]) if found else None


def is_readable(arch: str) -> bool:
    """Tell whether the architecture has 128-bit instructions; an unknown name counts as such."""
    number = sm_number(arch)
    return number is None or number >= _table()[0]


def generation_name(arch: str) -> str:
    """Name the generation of an architecture, as in `Maxwell`; the name itself where unknown."""
    number = sm_number(arch)
    names = [name for first, name in _table()[1] if number is not None and number >= first]
    return names[-1] if names else arch


def refused_names() -> str:
    """List the generations that kneck does not read, newest last."""
    limit, rows = _table()
    return ", ".join(name for first, name in rows if first < limit)


def first_readable() -> str:
    """Name the first architecture that kneck reads."""
    return f"sm_{_table()[0]}"


def family(arch: str) -> str:
    """Give the architecture without the letter of chip- or family-specific code, `sm_90a` too."""
    number = sm_number(arch)
    return arch if number is None else f"sm_{number}"
