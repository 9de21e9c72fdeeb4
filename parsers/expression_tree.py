"""Expression trees: what they are worth and how they are written; no parser is needed here.

An expression is a nested tuple, so that it can be compared, hashed and kept as JSON:
`("<", ("name", "tile.ratio"), ("num", 5))`. A name without a value makes the result unknown
(None), and so does a division by zero or a result that is no finite number.
"""

from __future__ import annotations

import math
import operator as operators
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Scalar = bool | int | float | str
Tree = tuple[Any, ...]  # (operator, operand, ...) with operands that are trees or scalars
Lookup = Callable[[str], Scalar | None]

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
FUNCTIONS = {  # name -> fewest and most arguments
    "min": (1, 16),
    "max": (1, 16),
    "ceil": (1, 1),
    "floor": (1, 1),
    "sqrt": (1, 1),
    "log2": (1, 1),
    "abs": (1, 1),
    "if": (3, 3),
}
LARGEST_EXACT = 2**53  # integers beyond it are not exact as floats, and are treated as floats


class Expression(NamedTuple):
    """A parsed expression: the text as written, the tree, and the names it asks for (sorted)."""

    text: str
    tree: Tree
    names: tuple[str, ...]

    def __str__(self) -> str:
        return self.text

    def to_json(self) -> list[Any]:
        """Give the JSON form; `from_json` reads it back."""
        return [self.text, self.tree, self.names]

    @classmethod
    def from_json(cls, data: list[Any]) -> Expression:
        """Read what `to_json` wrote; no parser is needed."""
        return cls(data[0], as_tuples(data[1]), tuple(data[2]))


def as_tuples(data: Any) -> Any:
    """Turn the lists that JSON gives into tuples."""
    if type(data) is not list:
        return data
    return tuple([as_tuples(part) if type(part) is list else part for part in data])


def names_in(tree: Tree) -> Iterator[str]:
    """Give every name in a tree, in the order of appearance."""
    if tree[0] == "name":
        yield tree[1]
    elif tree[0] not in ("num", "text", "bool"):
        for operand in tree[1:]:
            yield from names_in(operand)


def evaluate(expression: Expression, lookup: Lookup) -> Scalar | None:
    """Give the value, or None where a missing name or an undefined operation leaves it open."""
    return evaluate_tree(expression.tree, lookup)


def evaluate_tree(tree: Tree, lookup: Lookup) -> Scalar | None:
    """Give the value of a (sub)tree; see `evaluate`."""
    operator = tree[0]
    if operator == "name":
        return _bounded(lookup(tree[1]))
    if operator in ("num", "text", "bool"):
        value: Scalar = tree[1]
        return value
    if operator in ("and", "or"):
        return _logic(operator, evaluate_tree(tree[1], lookup), evaluate_tree(tree[2], lookup))
    if operator == "if":
        condition = evaluate_tree(tree[1], lookup)
        if not isinstance(condition, bool):
            return None
        return evaluate_tree(tree[2] if condition else tree[3], lookup)
    if operator in _COMPARE:
        left = evaluate_tree(tree[1], lookup)
        right = None if left is None else evaluate_tree(tree[2], lookup)
        return None if right is None else compare(operator, left, right)
    operands = []
    for operand in tree[1:]:
        found = evaluate_tree(operand, lookup)
        if found is None:
            return None
        operands.append(found)
    if operator == "not":
        return not operands[0] if isinstance(operands[0], bool) else None
    return _arithmetic(operator, operands)


def compare(operator: str, left: Any, right: Any) -> bool | None:
    """Compare two values; None where their types do not allow it."""
    kind = _kind(left)
    if kind is not _kind(right) or (kind is not float and operator not in ("==", "!=")):
        return None
    if kind is float:
        left, right = float(left), float(right)
    return _COMPARE[operator](left, right)


def _kind(value: Any) -> type:
    return bool if isinstance(value, bool) else str if isinstance(value, str) else float


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
    "==": operators.eq,
    "!=": operators.ne,
}


def _logic(operator: str, left: Scalar | None, right: Scalar | None) -> bool | None:
    """Kleene's three-valued `and` and `or`: unknown only where it could still go either way."""
    decisive = operator == "or"
    if left is decisive or right is decisive:
        return decisive
    known = isinstance(left, bool) and isinstance(right, bool)
    return not decisive if known else None


def _bounded(value: Scalar | None) -> Scalar | None:
    """Keep numbers finite, and integers exact as floats, so that both engines agree."""
    if type(value) is float:
        return value if math.isfinite(value) else None
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, int) and abs(value) <= LARGEST_EXACT:
        return value
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _arithmetic(operator: str, operands: list[Any]) -> Scalar | None:
    if any(isinstance(operand, (bool, str)) for operand in operands):
        return None
    try:
        return _bounded(_OPERATIONS[operator](*operands))
    except (ZeroDivisionError, OverflowError, ValueError):
        return None


def _power(base: float, exponent: float) -> float | int:
    """Raise within a float's range: no integer grows past it, no result becomes complex."""
    result = math.pow(base, exponent)
    if isinstance(base, int) and isinstance(exponent, int) and abs(result) <= LARGEST_EXACT:
        return int(result) if exponent >= 0 else result
    return result


_OPERATIONS: dict[str, Callable[..., float | int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "^": _power,
    "neg": lambda a: -a,
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
    "ceil": math.ceil,
    "floor": math.floor,
    "sqrt": math.sqrt,
    "log2": math.log2,
    "abs": abs,
}


# Text


_STRENGTH = {"or": 1, "and": 2, "not": 3, "+": 5, "-": 5, "*": 6, "/": 6, "neg": 7, "^": 8}
_STRENGTH.update(dict.fromkeys(COMPARISONS, 4))


def unparse(tree: Tree) -> str:
    """Write a tree as text that parses to the same tree."""
    return _write(tree, 0)


def _write(tree: Tree, outer: int) -> str:
    operator = tree[0]
    if operator == "num":
        return str(tree[2]) if len(tree) > 2 else repr(tree[1])
    if operator == "text":
        return f"'{tree[1]}'" if '"' in tree[1] else f'"{tree[1]}"'
    if operator in ("bool", "name"):
        return str(tree[1]).lower() if operator == "bool" else str(tree[1])
    if operator in FUNCTIONS:
        return f"{operator}({', '.join(_write(operand, 0) for operand in tree[1:])})"
    own = _STRENGTH[operator]
    if operator in ("not", "neg"):
        written = f"{'not ' if operator == 'not' else '-'}{_write(tree[1], own)}"
    else:
        # What binds to the left needs brackets on its right side, `^` on its left.
        left, right = (own + 1, own - 1) if operator == "^" else (own, own + 1)
        left += operator in COMPARISONS
        written = f"{_write(tree[1], left)} {operator} {_write(tree[2], right)}"
    return f"({written})" if own < outer else written
