"""Expressions over named values: parsed by lark, evaluated in three values, never executed.

One language for rule conditions, gains, side effects, problem formulas and --fail-on.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from .errors import KneckError, Place
from .expression_tree import FUNCTIONS, Expression, Scalar, Tree, evaluate, names_in, unparse

if TYPE_CHECKING:
    from lark import Lark, Token
    from lark.exceptions import UnexpectedInput

__all__ = [
    "Expression",
    "Scalar",
    "Tree",
    "column_of",
    "evaluate",
    "parse_expression",
    "unparse",
]

UNIT_FACTORS: dict[str, float | int] = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
LONGEST_TEXT = 2_000  # characters; a formula that a person can read is far shorter
DEEPEST_TREE = 100  # levels; keeps the recursion of the evaluator far from Python's own limit
LARGEST_NUMBER = 1e30  # for a number as written; results may be larger, up to a float's range


def parse_expression(
    text: str, place: Place | None = None, is_fact: Callable[[str], bool] | None = None
) -> Expression:
    """Parse one expression; raises KneckError with the column and a caret below it.

    `place` is where the text starts. With `is_fact`, a bare word beside == or != that is no fact
    is text: in `roofline.side == memory`, memory needs no quotes.
    """
    _check_length(text, place)
    from lark.exceptions import UnexpectedInput

    try:
        tree: Any = _parser().parse(text)
    except UnexpectedInput as error:
        raise _syntax_error(text, error, place) from None
    except _Refused as refused:
        raise _error(text, refused.column, str(refused), place) from None
    if _depth(tree) > DEEPEST_TREE:
        raise _error(text, 1, f"the expression nests deeper than {DEEPEST_TREE} levels", place)
    if is_fact is not None:
        tree = _words_as_text(tree, is_fact)
    return Expression(text.strip(), tree, tuple(sorted(set(names_in(tree)))))


def column_of(text: str, name: str) -> int:
    """Give the column (from 1) where a name stands in an expression's text."""
    found = re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", text)
    return found.start() + 1 if found else 1


def _words_as_text(tree: Tree, is_fact: Callable[[str], bool]) -> Tree:
    if tree[0] in ("num", "text", "bool", "name"):
        return tree
    operands = [_words_as_text(operand, is_fact) for operand in tree[1:]]
    if tree[0] in ("==", "!="):
        left, right = operands
        if left[0] == "name" and right[0] == "name":
            if "." not in right[1] and not is_fact(right[1]):
                operands[1] = ("text", right[1])
            elif "." not in left[1] and not is_fact(left[1]):
                operands[0] = ("text", left[1])
    return (tree[0], *operands)


def _depth(tree: Tree) -> int:
    """Measure the nesting without recursion, since this guards the recursive functions."""
    deepest, todo = 0, [(tree, 1)]
    while todo:
        node, depth = todo.pop()
        deepest = max(deepest, depth)
        todo.extend((child, depth + 1) for child in node[1:] if isinstance(child, tuple))
    return deepest


# Parsing


class _Refused(Exception):
    """A part that the grammar accepts and the language does not."""

    def __init__(self, what: str, column: int) -> None:
        super().__init__(what)
        self.column = column


@cache
def _parser() -> Lark:
    from importlib.resources import files

    from lark import Lark

    grammar = files("kneck.parsers").joinpath("expression.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", transformer=_transformer(), maybe_placeholders=False)


def _transformer() -> Any:
    """Make the transformer from parse tree to tuples; a function, since it imports lark."""
    from lark import Transformer, v_args

    def binary(left: Tree, operator: Token, right: Tree) -> Tree:
        return (str(operator), left, right)

    class ToTuples(Transformer[Any, Tree]):
        start = staticmethod(lambda tree: tree)
        sum = product = comparison = staticmethod(binary)
        or_ = staticmethod(lambda left, right: ("or", left, right))
        and_ = staticmethod(lambda left, right: ("and", left, right))
        not_ = staticmethod(lambda operand: ("not", operand))
        negative = staticmethod(lambda operand: ("neg", operand))
        power = staticmethod(lambda base, exponent: ("^", base, exponent))
        true = staticmethod(lambda: ("bool", True))
        false = staticmethod(lambda: ("bool", False))
        text = staticmethod(lambda token: ("text", str(token)[1:-1]))
        name = staticmethod(lambda token: ("name", str(token)))
        number = staticmethod(_number)
        call = staticmethod(_call)

    return v_args(inline=True)(ToTuples)()


def _number(token: Token, unit: Token | None = None) -> Tree:
    digits = str(token)
    value: float | int = int(digits) if digits.isdigit() else float(digits)
    if not abs(value) <= LARGEST_NUMBER:
        raise _Refused(f"the number is larger than {LARGEST_NUMBER:g}", token.column or 1)
    if unit is None:
        return ("num", value)
    scaled = value / 100 if unit == "%" else value * UNIT_FACTORS[unit]
    return ("num", scaled, f"{digits} {unit}")


def _call(token: Token, *arguments: Tree) -> Tree:
    name, column = str(token), token.column or 1
    if name not in FUNCTIONS:
        raise _Refused(f'unknown function "{name}"; known: {", ".join(FUNCTIONS)}', column)
    fewest, most = FUNCTIONS[name]
    if not fewest <= len(arguments) <= most:
        wanted = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        raise _Refused(f"{name}() takes {wanted} values, not {len(arguments)}", column)
    return (name, *arguments)


# Errors


def _check_length(text: str, place: Place | None) -> None:
    if len(text) > LONGEST_TEXT:
        what = f"the expression has {len(text)} characters, more than {LONGEST_TEXT}"
        raise KneckError(what, place, "split it into several")
    if not text.strip():
        raise KneckError("the expression is empty", place, "write for example tile.ratio < 5")
    depth = deepest = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        deepest = max(deepest, depth)
    if deepest > DEEPEST_TREE:
        raise KneckError(f"the expression nests deeper than {DEEPEST_TREE} brackets", place)


_SLIPS = {  # what people write instead, and what is meant
    "=": "write == to compare",
    "&": 'write "and"',
    "|": 'write "or"',
    "!": 'write "not", or != to compare',
    ",": "write numbers without thousands separators",
    "[": "write names with dots: smem.cliffs.2",
    "<": "comparisons do not chain: write two conditions",
    ">": "comparisons do not chain: write two conditions",
    "*": "write ^ for a power",
    "%": "% stands after a number: 20 %",
    ")": "a value or an opening bracket is missing before it",
    "-": "a name with a hyphen needs quotes as text, or spaces around a minus",
}


def _syntax_error(text: str, error: UnexpectedInput, place: Place | None) -> KneckError:
    from lark.exceptions import UnexpectedEOF, UnexpectedToken

    at_end = isinstance(error, UnexpectedEOF) or (
        isinstance(error, UnexpectedToken) and error.token.type == "$END"
    )
    if at_end:
        what = "the expression ends where a value or a closing bracket should follow"
        return _error(text, len(text.rstrip()) + 1, what, place)
    column = max(error.column, 1)
    rest = text[column - 1 :]
    found = re.match(r"[\w.]+|[<>=!]=|.", rest)
    word = found.group() if found else rest
    if re.match(r"(KB|MB|GB|kB|Kb)\b", word):
        slip: str | None = "write KiB, MiB or GiB (powers of 1,024)"
    else:
        slip = _SLIPS.get(rest[:1])
    return _error(text, column, f'"{word}" does not fit here', place, slip)


def _error(
    text: str, column: int, what: str, place: Place | None, help: str | None = None
) -> KneckError:
    """Make the error with the text and a caret; the column is counted on from `place`."""
    line = text.replace("\n", " ").replace("\t", " ")
    shown = f"{what}\n    {line}\n    {' ' * (column - 1)}^"
    if place is not None:
        place = Place(place.path, place.line or 1, max(place.column, 1) + column - 1)
    return KneckError(shown, place, help)
