"""`kneck sweep`: the problems of a specification with ranges."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from ...parsers.errors import KneckError, Place
from ...parsers.expression import evaluate, parse_expression
from ...parsers.record import dataclass

RANGE = re.compile(r"(?P<first>\d+)\.\.(?P<last>\d+)(?:(?P<step>[*+])(?P<by>\d+))?$")
MOST_POINTS = 200
OPTION = "--problem"
EXAMPLE = "write for example --problem gemm:M=1024..8192*2,N=M,K=M"


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One problem of a sweep: the specification without ranges, and what varies in it."""

    problem: str
    varied: Mapping[str, int]


def expand(spec: str) -> tuple[SweepPoint, ...]:
    """Give the problems of a specification with ranges: `M=1024..8192*2`, `M=512..2048+512`.

    Several ranges give all their combinations. A dimension may be an expression in others
    (`N=M`, `K=M/4`). Raises KneckError with the column; at least one range is needed.
    """
    name, separator, rest = spec.partition(":")
    if not separator:
        raise KneckError(f'"{spec}" names no dimensions', Place(OPTION), EXAMPLE)
    pairs = list(_pairs(rest, len(name) + 2))
    ranges = {key: _range(value, column) for key, value, column in pairs if ".." in value}
    if not ranges:
        raise KneckError(f'"{spec}" has no range to sweep over', Place(OPTION), EXAMPLE)
    if (total := _product(map(len, ranges.values()))) > MOST_POINTS:
        raise KneckError(
            f"the ranges give {total} problems, more than {MOST_POINTS}",
            Place(OPTION),
            "use fewer or larger steps",
        )
    return tuple(
        _point(name, pairs, dict(zip(ranges, values, strict=True)))
        for values in itertools.product(*ranges.values())
    )


def _product(sizes: Iterator[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def _pairs(text: str, column: int) -> Iterator[tuple[str, str, int]]:
    for part in text.split(","):
        key, separator, value = part.partition("=")
        if not separator or not key.strip() or not value.strip():
            raise KneckError(f'"{part.strip()}" is no KEY=VALUE', Place(OPTION, 1, column), EXAMPLE)
        yield key.strip(), value.strip(), column + len(key) + 1
        column += len(part) + 1


def _range(text: str, column: int) -> tuple[int, ...]:
    match = RANGE.match(text)
    place = Place(OPTION, 1, column)
    if match is None:
        raise KneckError(f'"{text}" is no range', place, "write 1024..8192*2 or 1024..4096+1024")
    first, last = int(match["first"]), int(match["last"])
    step, by = match["step"] or "*", int(match["by"] or 2)
    if not 0 < first <= last:
        raise KneckError(f'the range "{text}" is empty', place, "put the smaller size first")
    if by < (2 if step == "*" else 1):
        raise KneckError(f'the range "{text}" never ends', place, "use a step of *2 or +1 or more")
    values = [first]
    while len(values) <= MOST_POINTS:
        following = values[-1] * by if step == "*" else values[-1] + by
        if following > last:
            break
        values.append(following)
    return tuple(values)


def _point(name: str, pairs: Sequence[tuple[str, str, int]], varied: dict[str, int]) -> SweepPoint:
    """Fill in the dimensions that depend on others, in any order."""
    known: dict[str, float] = dict(varied)
    texts = {key: str(value) for key, value in varied.items()}
    waiting = [(key, value, column) for key, value, column in pairs if key not in varied]
    keys = {key for key, _, _ in pairs}
    while waiting:
        later = []
        for key, value, column in waiting:
            if not re.search(r"[A-Za-z_]", value) or not _names(value) & keys:
                texts[key] = value
                if re.fullmatch(r"\d+", value):
                    known[key] = int(value)
            elif _names(value) <= known.keys():
                number = _computed(value, known, column)
                known[key], texts[key] = number, str(number)
            else:
                later.append((key, value, column))
        if len(later) == len(waiting):
            key, value, column = later[0]
            what = f'"{key}={value}" depends on a dimension that has no value'
            raise KneckError(what, Place(OPTION, 1, column), EXAMPLE)
        waiting = later
    written = ",".join(f"{key}={texts[key]}" for key, _, _ in pairs)
    return SweepPoint(f"{name}:{written}", varied)


def _names(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))


def _computed(text: str, known: Mapping[str, float], column: int) -> int:
    place = Place(OPTION, 1, column)
    value = evaluate(parse_expression(text, place), known.get)
    if isinstance(value, (bool, str)) or value is None or value < 1 or value != int(value):
        raise KneckError(
            f'"{text}" is no whole size here: {value}', place, "round with floor() or ceil()"
        )
    return int(value)
