"""How often a CUDA source names a multiply-accumulate: what a reader of the source would count."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def compute_calls(source: str) -> int:
    """Count the spellings of a multiply-accumulate outside of comments, loops not multiplied out.

    >>> compute_calls("acc = fmaf(a, b, acc); // fmaf(")
    1
    """
    return len(_calls().findall(_COMMENT.sub(" ", source)))


@cache
def _calls() -> re.Pattern[str]:
    text = files(__package__).joinpath("source_calls.json").read_text(encoding="utf-8")
    return re.compile("|".join(f"(?:{pattern})" for pattern in json.loads(text)["calls"]))
