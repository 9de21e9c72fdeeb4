"""The shape of kb/instructions/operands.yaml."""

from __future__ import annotations

from pydantic import PositiveInt

from .hardware_schema import SourceKeys, Strict


class OperandRule(Strict):
    """One rule; see the head of the file for what its keys mean."""

    opcodes: tuple[str, ...]
    modifiers: tuple[str, ...] = ()
    at_most: bool | None = None
    destinations: int | None = None
    width: PositiveInt | None = None
    destination_width: PositiveInt | None = None
    data_width: PositiveInt | None = None
    widths: tuple[PositiveInt, ...] | None = None
    columns_per_register: PositiveInt | None = None
    address_width: PositiveInt | None = None
    uniform_width: PositiveInt | None = None


class OperandFile(Strict):
    """The whole file."""

    source: SourceKeys
    note: str | None = None
    rules: tuple[OperandRule, ...]
