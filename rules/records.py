"""Frozen records to JSON and back, for the cache: only classes that are named here are made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from ..parsers.expression_tree import Expression

TAG = "="  # first element of a list that is not plain: ["=", kind, ...]


class Records:
    """Writes and reads values made of the given dataclasses and plain containers.

    Reading raises one of Python's own errors for anything that `write` did not produce; nothing
    but the given classes is ever made.
    """

    def __init__(self, classes: Iterable[type]) -> None:
        self._classes = {cls.__name__: cls for cls in classes}

    def write(self, value: Any) -> Any:
        """Give plain lists, dictionaries, texts and numbers."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, Expression):
            return [TAG, "expression", value.to_json()]
        if is_dataclass(value):
            cls: type = type(value)
            name = cls.__name__
            if self._classes.get(name) is not cls:
                raise TypeError(f"{name} is no record of this cache")
            kept = [self.write(getattr(value, field)) for field in _kept(cls)]
            return [TAG, name, *kept]
        if isinstance(value, Mapping):
            return [TAG, "map", *([self.write(k), self.write(v)] for k, v in value.items())]
        if isinstance(value, (frozenset, set)):
            return [TAG, "set", *map(self.write, sorted(value))]
        if isinstance(value, (list, tuple)):
            if {int, str}.issuperset(map(type, value)):  # addresses of a loop: thousands
                return [TAG, "tuple", *value]
            return [TAG, "tuple", *map(self.write, value)]
        raise TypeError(f"{type(value).__name__} cannot be kept")

    def read(self, data: Any) -> Any:
        """Give back what was written; lists come back as tuples."""
        if type(data) is not list:
            return data
        tag, kind, *parts = data
        if tag != TAG:
            raise ValueError("not a record")
        read = self.read  # called for lists only: most parts are plain, and calls are what costs
        if kind == "map":
            return {
                (read(key) if type(key) is list else key): (
                    read(value) if type(value) is list else value
                )
                for key, value in parts
            }
        if kind == "expression":
            return Expression.from_json(parts[0])
        values = [read(part) if type(part) is list else part for part in parts]
        if kind == "tuple":
            return tuple(values)
        if kind == "set":
            return frozenset(values)
        cls = self._classes[kind]
        return cls(**dict(zip(_kept(cls), values, strict=True)))


@cache
def _kept(cls: type) -> tuple[str, ...]:
    """Name the fields to keep: those that belong to the value, not the memories of answers."""
    return tuple(field.name for field in fields(cls) if field.init and field.compare)
