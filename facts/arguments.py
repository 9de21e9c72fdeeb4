"""The arguments of a kernel from one line: `f16[M*K], f32[M*N]=zeros, i32 M, f32=1.5, ptr`.

Sizes and integers are expressions in the problem's dimensions. The result says what to allocate
(measurement) and which values the kernel will see (emulation); nothing is allocated here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from ..parsers.errors import KneckError, Place
from ..parsers.record import dataclass

Kind = Literal["array", "scalar"]
Contents = Literal["random", "zeros", "ones", "iota", "cycle", "fill"]

DTYPE_BYTES = {
    "f8": 1, "bf8": 1, "f16": 2, "bf16": 2, "f32": 4, "f64": 8,
    "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1, "u16": 2, "u32": 4, "u64": 8,
}  # fmt: skip
DTYPE_ALIASES = {
    "s8": "i8", "s16": "i16", "s32": "i32", "s64": "i64", "half": "f16", "float": "f32",
    "double": "f64", "int": "i32", "e4m3": "f8", "e5m2": "bf8", "tf32": "f32", "b8": "u8",
    "b16": "u16", "b32": "u32", "b64": "u64",
}  # fmt: skip
CONTENTS: tuple[Contents, ...] = ("random", "zeros", "ones", "iota", "cycle")
POINTER_BYTES = 8
ITEM = re.compile(
    r"(?P<dtype>[A-Za-z][A-Za-z0-9]*)\s*"
    r"(?:\[(?P<size>[^\[\]]*)\]\s*(?:=\s*(?P<contents>.+))?"
    r"|=\s*(?P<value>.+)"
    r"|(?<=\s)(?P<expression>.+))?$"
)
EXAMPLE = "write each argument as f16[M*K], ptr, i32 M, i32=4096 or f32=1.5, separated by commas"


@dataclass(frozen=True, slots=True)
class Argument:
    """One kernel argument.

    An array has a `count` of elements of `dtype` (None after a bare `ptr`: size not known) and
    `contents`; `value` is the element to fill with. A scalar has a `value`. `ptr=0` is a scalar of
    dtype `ptr`: an address passed as it is. `column` counts from 1 in the text as given.
    """

    kind: Kind
    dtype: str
    count: int | None = None
    value: int | float | None = None
    contents: Contents = "random"
    text: str = ""
    column: int = 0

    @property
    def element_bytes(self) -> int:
        """Size of one element, or of the scalar."""
        return POINTER_BYTES if self.dtype == "ptr" else DTYPE_BYTES[self.dtype]

    @property
    def bytes(self) -> int | None:
        """Memory that an array takes, None where its size is not known; 0 for a scalar."""
        if self.kind == "scalar":
            return 0
        return None if self.count is None else self.count * self.element_bytes

    @property
    def parameter_bytes(self) -> int:
        """Size of the parameter that the kernel gets: a pointer or the scalar itself."""
        return POINTER_BYTES if self.kind == "array" else self.element_bytes


def parse_arguments(
    text: str, dimensions: Mapping[str, float], option: str = "--args"
) -> tuple[Argument, ...]:
    """Read the whole line; raises KneckError with the column of the faulty argument.

    `dimensions` are the problem's, by name (M, N, K, seq_len, ...).
    """
    if not text.strip():
        return ()
    return tuple(
        _argument(item, column, dimensions, option) for item, column in _items(text, option)
    )


def _items(text: str, option: str) -> Iterator[tuple[str, int]]:
    """Split at the commas outside brackets; give each part with its column."""
    depth, start = 0, 0
    for position, character in enumerate(text + ","):
        if character in "[(":
            depth += 1
        elif character in "])":
            depth -= 1
        if depth < 0:
            raise KneckError(
                f'"{character}" closes nothing in {option}', Place(option, 1, position + 1)
            )
        at_end = position == len(text)
        if character == "," and (depth == 0 or at_end):
            part = text[start:position]
            if at_end and depth > 0:
                raise KneckError(f"a bracket stays open in {option}", Place(option, 1, start + 1))
            yield part.strip(), start + 1 + len(part) - len(part.lstrip())
            start = position + 1


def _argument(item: str, column: int, dimensions: Mapping[str, float], option: str) -> Argument:
    place = Place(option, 1, column)
    match = ITEM.match(item)
    if match is None:
        raise KneckError(f'"{item}" is no kernel argument', place, EXAMPLE)
    given = match["dtype"]
    dtype = DTYPE_ALIASES.get(given, given)
    size, contents = match["size"], match["contents"]
    value = match["value"] if match["value"] is not None else match["expression"]
    if dtype == "ptr":
        return _pointer(item, size, value, dimensions, place)
    if dtype not in DTYPE_BYTES:
        known = ", ".join(("ptr", *DTYPE_BYTES))
        raise KneckError(f'unknown type "{given}" in {option}', place, f"types are {known}")
    if size is not None:
        count = _count(size, dimensions, _inside(place, match, "size"))
        filling, element = _contents(contents, dtype, count, dimensions, place)
        return Argument("array", dtype, count, element, filling, item, column)
    if value is None:
        what = f'"{item}" has neither a size nor a value'
        raise KneckError(what, place, f"write {given}[COUNT] for an array, {given}=VALUE for one")
    where = _inside(place, match, "value" if match["value"] is not None else "expression")
    return Argument("scalar", dtype, None, _scalar(value, dtype, dimensions, where), text=item,
                    column=column)  # fmt: skip


def _pointer(
    item: str, size: str | None, value: str | None, dimensions: Mapping[str, float], place: Place
) -> Argument:
    if size is not None:
        raise KneckError(f'"{item}": a size needs an element type', place, "write u8[BYTES]")
    if value is None:
        return Argument("array", "ptr", None, None, "random", item, place.column)
    address = _scalar(value, "u64", dimensions, place)
    return Argument("scalar", "ptr", None, address, text=item, column=place.column)


def _inside(place: Place, match: re.Match[str], group: str) -> Place:
    return Place(place.path, place.line, place.column + match.start(group))


def _number(text: str, dimensions: Mapping[str, float], place: Place) -> float | int:
    """Evaluate an expression in the dimensions; a plain number or name needs no parser."""
    text = text.strip()
    if re.fullmatch(r"-?[0-9]+", text):
        return int(text)
    if text in dimensions:
        return dimensions[text]
    from ..parsers.expression import column_of, evaluate, parse_expression

    expression = parse_expression(text, place)
    for name in expression.names:
        if name not in dimensions:
            column = place.column + column_of(text, name) - 1
            known = ", ".join(dimensions) or "none: give them with --problem"
            raise KneckError(
                f'"{name}" is no dimension of the problem',
                Place(place.path, place.line, column),
                f"dimensions are {known}",
            )
    number = evaluate(expression, dimensions.get)
    if isinstance(number, (bool, str)) or number is None:
        raise KneckError(f'"{text}" is no number', place, "write for example M*K or ceil(M/8)")
    return number


def _count(text: str, dimensions: Mapping[str, float], place: Place) -> int:
    number = _number(text, dimensions, place)
    if number < 1 or number != int(number):
        what = f'"{text.strip()}" is {number:g}; an array needs a whole number of elements'
        raise KneckError(what, place, "give at least one element; round with floor() or ceil()")
    return int(number)


def _scalar(text: str, dtype: str, dimensions: Mapping[str, float], place: Place) -> int | float:
    number = _number(text, dimensions, place)
    if dtype.startswith(("f", "b")):
        return float(number)
    if number != int(number):
        what = f'"{text.strip()}" is {number:g}, which {dtype} cannot hold'
        raise KneckError(what, place, "give a whole number, or use f32 or f64")
    low, high = integer_range(dtype)
    if not low <= number <= high:
        what = f'"{text.strip()}" is {int(number)}, outside {dtype} ({low} to {high})'
        raise KneckError(what, place, "use a wider type, as the kernel declares it")
    return int(number)


def integer_range(dtype: str) -> tuple[int, int]:
    """Give the smallest and largest value of an integer type."""
    bits = 8 * DTYPE_BYTES[dtype]
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _contents(
    text: str | None, dtype: str, count: int, dimensions: Mapping[str, float], place: Place
) -> tuple[Contents, int | float | None]:
    name = (text or "random").strip()
    if name == "cycle" and (count & (count - 1) or dtype not in ("i32", "u32", "i64", "u64")):
        what = f"a cycle needs a power of two of 32- or 64-bit integers, not {dtype}[{count}]"
        raise KneckError(what, place, "round the size up to a power of two")
    for known in CONTENTS:
        if name == known:
            return known, None
    if re.fullmatch(r"[A-Za-z_]+", name) and name not in dimensions:
        what = f'unknown contents "{name}"'
        raise KneckError(what, place, f"contents are {', '.join(CONTENTS)} or a number")
    return "fill", _scalar(name, dtype, dimensions, place)
