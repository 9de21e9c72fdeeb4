"""Types and units of expressions, checked against the vocabulary when rules are loaded."""

from __future__ import annotations

import re
from collections import Counter

from ..parsers.expression_tree import COMPARISONS, Tree, unparse
from ..parsers.record import dataclass
from ..parsers.suggest import suggestion
from .vocabulary import FactType, Vocabulary

# A factor of 1,000 or 1,024 (and their powers) converts a unit: seconds * 1e3 are milliseconds.
CONVERSIONS = frozenset(base**power for base in (1000, 1024) for power in (1, 2, 3, 4))

Dimension = Counter[str]


class TypeFault(Exception):
    """Why an expression does not fit the vocabulary, and the text that stands at fault."""

    def __init__(self, what: str, at: str, help: str | None = None) -> None:
        super().__init__(what)
        self.at = at
        self.help = help


@dataclass(frozen=True)
class Measure:
    """The type of an expression and, for numbers, its unit; None means that any unit fits."""

    type: FactType
    unit: Dimension | None = None
    exact: bool = False  # a plain fact: counts of things are told apart too


def measure(tree: Tree, vocabulary: Vocabulary) -> Measure:
    """Find the type and unit; raises TypeFault where operands do not fit each other."""
    operator = tree[0]
    if operator == "name":
        return _measure_name(tree[1], vocabulary)
    if operator == "num":
        return _measure_number(tree)
    if operator in ("text", "bool"):
        return Measure(operator)
    operands = [measure(operand, vocabulary) for operand in tree[1:]]
    if operator in ("not", "and", "or"):
        _require(tree, operands, "bool")
        return Measure("bool")
    if operator in COMPARISONS:
        _check_comparison(tree, operands, vocabulary)
        return Measure("bool")
    if operator == "if":
        _require(("if", tree[1]), operands[:1], "bool")
        return _joined(("if", *tree[2:]), operands[1:])
    _require(tree, operands, "num")
    return _measure_arithmetic(tree, operands)


def unit_of(text: str, vocabulary: Vocabulary) -> tuple[Dimension, str | None]:
    """Split a unit such as `FLOP/B` into powers; give also the first symbol that is not known."""
    if text in vocabulary.units or text in vocabulary.counts:
        return Counter({text: 1}), None
    dimension: Dimension = Counter()
    sign = 1
    unknown = None
    for symbol in re.split(r"([/*])", text.replace(" per ", "/")):
        word = symbol.strip()
        if word in ("/", "*"):
            sign = -1 if word == "/" else sign
        elif word in vocabulary.units or word in vocabulary.counts:
            dimension[word] += sign
        elif word not in ("", "1"):
            unknown = unknown or word
    return _without_zeros(dimension), unknown


def _measure_name(name: str, vocabulary: Vocabulary) -> Measure:
    entry = vocabulary.entry(name)
    if entry is None:
        raise TypeFault(f'unknown fact "{name}"', name)
    if entry.type != "num":
        return Measure(entry.type)
    return Measure("num", unit_of(entry.unit, vocabulary)[0], exact=True)


def _measure_number(tree: Tree) -> Measure:
    written = tree[2] if len(tree) > 2 else ""
    if written.endswith("iB"):
        return Measure("num", Counter({"B": 1}), exact=True)
    return Measure("num", Counter() if written.endswith("%") else None)


def _measure_arithmetic(tree: Tree, operands: list[Measure]) -> Measure:
    operator = tree[0]
    if operator in ("+", "-", "min", "max"):
        return _joined(tree, operands)
    if operator in ("neg", "abs", "ceil", "floor"):
        return operands[0]
    if operator not in ("*", "/"):
        return Measure("num")  # powers, roots and logarithms: not followed
    if any(part[0] == "num" and part[1] in CONVERSIONS for part in tree[1:]):
        return Measure("num")
    left, right = (Counter() if part.unit is None else part.unit for part in operands)
    unit = Counter(left)
    for symbol, power in right.items():
        unit[symbol] += power if operator == "*" else -power
    free = all(part.unit is None for part in operands)
    return Measure("num", None if free else _without_zeros(unit))


def _without_zeros(unit: Dimension) -> Dimension:
    return Counter({symbol: power for symbol, power in unit.items() if power})


def _joined(tree: Tree, operands: list[Measure]) -> Measure:
    """Measure a sum, a minimum or a choice: all operands are of one kind."""
    first = operands[0]
    for part, tree_part in zip(operands[1:], tree[2:], strict=True):
        if part.type != first.type:
            raise TypeFault(
                f"{unparse(tree[1])} is {first.type} and {unparse(tree_part)} is {part.type}",
                unparse(tree_part),
            )
    with_unit = [part for part in operands if part.unit is not None]
    return with_unit[0] if with_unit else first


def _check_comparison(tree: Tree, operands: list[Measure], vocabulary: Vocabulary) -> None:
    operator, left, right = tree
    kinds = [operand.type for operand in operands]
    if kinds[0] != kinds[1]:
        help = "put quotes around the text" if "text" in kinds else None
        what = f"{unparse(left)} is {kinds[0]} but is compared with {unparse(right)}, a {kinds[1]}"
        raise TypeFault(what, unparse(right), help)
    if kinds[0] != "num" and operator not in ("==", "!="):
        raise TypeFault(f"{operator} needs numbers, {unparse(left)} is {kinds[0]}", operator)
    for fact, word in ((left, right), (right, left)):
        entry = vocabulary.entry(fact[1]) if fact[0] == "name" else None
        if entry and entry.values and word[0] == "text" and word[1] not in entry.values:
            what = f'"{word[1]}" is not a value of {fact[1]}'
            raise TypeFault(what, str(word[1]), suggestion(word[1], set(entry.values)))
    if not units_fit(operands[0], operands[1], vocabulary):
        what = (
            f"{unparse(left)} is in {shown_unit(operands[0])}, "
            f"{unparse(right)} in {shown_unit(operands[1])}"
        )
        raise TypeFault(what, unparse(right), "compare like with like, or convert one of them")


def units_fit(left: Measure, right: Measure, vocabulary: Vocabulary) -> bool:
    """Tell whether two numbers may be compared; in products, counts of things do not matter."""
    if left.unit is None or right.unit is None:
        return True
    if left.exact and right.exact:
        return left.unit == right.unit
    physical = [
        {symbol: power for symbol, power in unit.items() if symbol not in vocabulary.counts}
        for unit in (left.unit, right.unit)
    ]
    return physical[0] == physical[1]


def shown_unit(measured: Measure) -> str:
    """Write a unit for a message."""
    unit = measured.unit or Counter()
    above = "*".join(symbol for symbol, power in unit.items() for _ in range(power))
    below = "".join(f"/{symbol}" for symbol, power in unit.items() for _ in range(-power))
    return f"{above or 1}{below}" if unit else "no unit"


def _require(tree: Tree, operands: list[Measure], wanted: FactType) -> None:
    for part, operand in zip(tree[1:], operands, strict=True):
        if operand.type != wanted:
            kind = {"num": "a number", "bool": "true or false", "text": "text"}
            what = f"{unparse(part)} is {kind[operand.type]}, {tree[0]} needs {kind[wanted]}"
            help = None
            if tree[0] == "-" and operand.type == "text":
                help = "a text with hyphens needs quotes"
            raise TypeFault(what, unparse(part), help)
