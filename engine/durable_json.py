"""JSON as durable_rules reads it; its parser knows less than the standard."""

from __future__ import annotations

import math
from json.encoder import encode_basestring_ascii as _quoted
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
    kind = type(value)
    if kind is dict:
        inside = [f"{_quoted(key)}:{_text(item)}" for key, item in value.items()]
        return f"{{{','.join(inside)}}}"
    if kind is str:
        return _quoted(value)
    if kind is list:
        return f"[{','.join([_text(item) for item in value])}]"
    return str(value) if kind is int else number(value)


def message(name: str, value: float, id: str | None = None) -> str:
    """Write one fact; its id is its name unless another is given."""
    quoted = _quoted(name)
    return f'{{"id":{_quoted(id) if id else quoted},{quoted}:{number(value)}}}'
