"""The expression language: what parses, what it is worth, and how refusals read."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.parsers.errors import KneckError, Place
from kneck.parsers.expression import (
    Expression,
    Scalar,
    Tree,
    evaluate,
    parse_expression,
    unparse,
)

KNOWN: dict[str, Scalar] = {
    "tile.ratio": 4,
    "smem.per_block": 30720,
    "roofline.side": "memory",
    "tile.nested": False,
    "bound": "latency",
    "zero": 0,
    "huge": 1e308,
    "mix.HMMA.16816": 64,
    "strategy.cp-async-pipelining": True,
}


def value_of(text: str) -> Scalar | None:
    return evaluate(parse_expression(text, is_fact=KNOWN.__contains__), KNOWN.get)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("-2^2", -4),
        ("2^3^2", 512),
        ("2^-1", 0.5),
        ("8 - 4 - 2", 2),
        ("8 / 4 / 2", 1),
        ("20 %", 0.2),
        ("48 KiB", 49152),
        ("48KiB", 49152),
        ("1e-5", 1e-05),
        (".5", 0.5),
        ("min(3, 2, 1)", 1),
        ("max(3, tile.ratio)", 4),
        ("ceil(7 / 2)", 4),
        ("floor(7 / 2)", 3),
        ("sqrt(16)", 4),
        ("log2(1024)", 10),
        ("abs(-3)", 3),
        ("if(tile.ratio < 5, 1, 2)", 1),
        ("smem.per_block * 2", 61440),
        ("mix.HMMA.16816 > 0", True),
        ("tile.ratio < 5", True),
        ("roofline.side == memory", True),
        ('roofline.side == "memory"', True),
        ("memory == roofline.side", True),
        ("roofline.side != compute", True),
        ("roofline.side == bound", False),
        ("not tile.nested", True),
        ("strategy.cp-async-pipelining", True),
        ("tile.ratio < 5 and bound == latency", True),
        ("tile.ratio > 5 or bound == latency", True),
        ("not tile.ratio > 5 and true", True),
    ],
)
def test_value(text: str, value: Scalar) -> None:
    found = value_of(text)
    assert found == value
    assert isinstance(found, bool) == isinstance(value, bool)


@pytest.mark.parametrize(
    "text",
    [
        "missing.fact > 3",
        "missing.fact * 0",
        "not missing.fact",
        "1 / zero",
        "huge * 10",
        "9^9^9^9",
        "(-8)^0.5",
        "sqrt(-1)",
        "log2(zero)",
        "missing.fact and true",
        "missing.fact or false",
        "tile.ratio == memory",
        "roofline.side < 3",
        "roofline.side + 1",
        "true + 1",
        "if(missing.fact > 0, 1, 1)",
        "min(1, missing.fact)",
    ],
)
def test_unknown_value(text: str) -> None:
    assert value_of(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("missing.fact > 1 and false", False),
        ("missing.fact > 1 or true", True),
        ("false and missing.fact > 1", False),
        ("true or missing.fact > 1", True),
    ],
)
def test_an_unknown_part_does_not_hide_what_is_decided(text: str, value: bool) -> None:
    assert value_of(text) is value


@pytest.mark.parametrize(
    ("text", "column", "message", "help"),
    [
        ("a < b < c", 7, '"<" does not fit here', "comparisons do not chain"),
        ("a = 3", 3, '"=" does not fit here', "write == to compare"),
        ("a && b", 3, '"&" does not fit here', 'write "and"'),
        ("5 KB", 3, '"KB" does not fit here', "KiB"),
        ("smem > 50,176", 10, '"," does not fit here', "thousands"),
        ("a ** 2", 4, '"*" does not fit here', "write ^"),
        ("foo(2)", 1, 'unknown function "foo"', None),
        ("sqrt(1, 2)", 1, "sqrt() takes 1 values, not 2", None),
        ("min()", 1, "min() takes 1 to 16 values, not 0", None),
        ("1 +", 4, "the expression ends", None),
        ("(1 + 2", 7, "the expression ends", None),
        ("1 + )", 5, '")" does not fit here', "missing before it"),
        ("a b", 3, '"b" does not fit here', None),
        ("1e40", 1, "the number is larger than 1e+30", None),
        ("__import__('os').system('ls')", 17, '".system" does not fit here', None),
        ("eval('1')", 1, 'unknown function "eval"', None),
        ("٣ > 2", 1, '"٣" does not fit here', None),
    ],
)
def test_refusal_points_at_the_column(
    text: str, column: int, message: str, help: str | None
) -> None:
    with pytest.raises(KneckError) as caught:
        parse_expression(text, Place("kb/x.yaml", 24, 7))
    error = caught.value
    assert message in error.what
    assert error.place == Place("kb/x.yaml", 24, 7 + column - 1)
    assert error.what.splitlines()[1:] == [f"    {text}", f"    {' ' * (column - 1)}^"]
    assert (help is None) or (error.help is not None and help in error.help)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        ("1 + " * 1000 + "1", "characters"),
        ("(" * 200 + "1" + ")" * 200, "nests deeper"),
        ("-" * 200 + "1", "nests deeper"),
        ("1" + " + 1" * 200, "nests deeper"),
        ("9" * 1500, "the number is larger"),
    ],
)
def test_what_could_exhaust_the_evaluator_is_refused(text: str, message: str) -> None:
    with pytest.raises(KneckError, match=message):
        parse_expression(text)


def test_a_bare_word_is_a_name_where_nothing_says_otherwise() -> None:
    assert parse_expression("2 * M * N * K").names == ("K", "M", "N")
    assert parse_expression("bound == latency").names == ("bound", "latency")
    assert parse_expression("bound == latency", is_fact=KNOWN.__contains__).names == ("bound",)


def test_large_integers_behave_as_floats() -> None:
    lookup = {"n": 2**60 + 1}.get
    assert evaluate(parse_expression("n == 2^60"), lookup) is True
    assert evaluate(parse_expression("n + 0"), {"n": 10**400}.get) is None


numbers = st.one_of(st.integers(0, 10**6), st.floats(0, 1e6, allow_nan=False)).map(
    lambda value: ("num", value)
)
names = st.sampled_from(["tile.ratio", "smem.per_block", "zero", "missing.fact"]).map(
    lambda name: ("name", name)
)


def larger(parts: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "/", "^"]), parts, parts),
        st.tuples(st.sampled_from(["neg", "sqrt", "abs", "ceil"]), parts),
        st.tuples(st.just("min"), parts, parts),
        st.tuples(st.sampled_from(["<", "==", ">="]), parts, parts),
        st.tuples(st.sampled_from(["and", "or"]), parts, parts),
        st.tuples(st.just("not"), parts),
    )


trees = st.recursive(st.one_of(numbers, names), larger, max_leaves=12)


@given(trees)
def test_what_is_written_parses_to_the_same_tree(tree: Tree) -> None:
    assert parse_expression(unparse(tree)).tree == tree


@given(trees)
def test_a_value_is_finite_or_unknown(tree: Tree) -> None:
    value = evaluate(Expression("", tree, ()), KNOWN.get)
    assert value is None or isinstance(value, (bool, str)) or math.isfinite(value)


@given(trees)
def test_json_keeps_the_expression(tree: Tree) -> None:
    expression = parse_expression(unparse(tree))
    assert Expression.from_json(json.loads(json.dumps(expression.to_json()))) == expression


@given(st.text(max_size=60))
def test_any_text_parses_or_is_refused_by_name(text: str) -> None:
    try:
        expression = parse_expression(text)
    except KneckError as error:
        assert error.what
    else:
        evaluate(expression, KNOWN.get)
