"""JSON as durable_rules reads it; its parser knows less than the standard."""

from __future__ import annotations

import json
import math
from typing import Any


def number(value: float) -> str:
    """Write a number as durable_rules reads it; raises ValueError for one that is not finite.

    Its parser drops a number without a decimal point before the exponent, and every fact after it.
    """
    if not math.isfinite(value):
        raise ValueError(f"not a finite number: {value}")
    text = repr(float(value))
    digits, exponent, power = text.partition("e")
    return f"{digits}{'' if '.' in digits else '.0'}{exponent}{power}"


def definition_text(definition: dict[str, Any]) -> str:
    """Write a definition; priorities and the like are integers, all else that counts is a float."""
    return _text(definition)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        inside = ",".join(f"{json.dumps(key)}:{_text(item)}" for key, item in value.items())
        return f"{{{inside}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_text, value))}]"
    if isinstance(value, str):
        return json.dumps(value)
    return str(value) if isinstance(value, int) else number(value)


def message(name: str, value: float, id: str | None = None) -> str:
    """Write one fact; its id is its name unless another is given."""
    return f'{{"id":{json.dumps(id or name)},{json.dumps(name)}:{number(value)}}}'
