"""One line says what to allocate and which values the kernel sees; faults name their column."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.arguments import DTYPE_BYTES, integer_range, parse_arguments
from kneck.facts.parameters import check_parameters, parameter_offsets
from kneck.parsers.errors import KneckError

GEMM = {"M": 128, "N": 64, "K": 32}


def test_a_gemm_is_three_arrays_and_three_dimensions() -> None:
    found = parse_arguments("f16[M*K], f16[K*N], f32[M*N], i32 M, i32 N, i32 K", GEMM)
    assert [(a.kind, a.dtype, a.count) for a in found[:3]] == [
        ("array", "f16", 4096),
        ("array", "f16", 2048),
        ("array", "f32", 8192),
    ]
    assert [(a.kind, a.value) for a in found[3:]] == [
        ("scalar", 128),
        ("scalar", 64),
        ("scalar", 32),
    ]
    assert [a.bytes for a in found] == [8192, 4096, 32768, 0, 0, 0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i32=4096", ("scalar", "i32", None, 4096)),
        ("f32=1.5", ("scalar", "f32", None, 1.5)),
        ("f32 = -0.5", ("scalar", "f32", None, -0.5)),
        ("i64 M*N", ("scalar", "i64", None, 8192)),
        ("u32=ceil(M/3)", ("scalar", "u32", None, 43)),
        ("s8[min(M, 2)]", ("array", "i8", 2, None)),
        ("half[M]", ("array", "f16", 128, None)),
        ("ptr", ("array", "ptr", None, None)),
        ("ptr=0", ("scalar", "ptr", None, 0)),
    ],
)
def test_each_form_is_read(text: str, expected: tuple[object, ...]) -> None:
    (found,) = parse_arguments(text, GEMM)
    assert (found.kind, found.dtype, found.count, found.value) == expected


@pytest.mark.parametrize(
    ("text", "contents", "value"),
    [
        ("f32[M]", "random", None),
        ("f32[M]=zeros", "zeros", None),
        ("f32[M] = ones", "ones", None),
        ("i32[M]=iota", "iota", None),
        ("i32[M]=cycle", "cycle", None),
        ("f32[M]=2.5", "fill", 2.5),
        ("i32[M]=M/2", "fill", 64),
    ],
)
def test_arrays_have_contents(text: str, contents: str, value: float | None) -> None:
    (found,) = parse_arguments(text, GEMM)
    assert (found.contents, found.value) == (contents, value)


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("f16[M*K], x8[3]", 11, 'unknown type "x8"'),
        ("f16[M*Q]", 7, '"Q" is no dimension'),
        ("i32 M, i32 Q", 12, '"Q" is no dimension'),
        ("f16[M", 1, "stays open"),
        ("f32[M]]", 7, "closes nothing"),
        ("f32", 1, "neither a size nor a value"),
        ("f32[M],,i32=1", 8, "is no kernel argument"),
        ("i32=1.5", 5, "which i32 cannot hold"),
        ("i8=300", 4, "outside i8 (-128 to 127)"),
        ("u32=-1", 5, "outside u32"),
        ("f32[0]", 5, "whole number of elements"),
        ("f32[M/3]", 5, "whole number of elements"),
        ("f32[M]=foo", 1, 'unknown contents "foo"'),
        ("ptr[3]", 1, "a size needs an element type"),
        ("i32[3]=cycle", 1, "power of two"),
        ("f32[128]=cycle", 1, "power of two of 32- or 64-bit integers"),
        ("i32 M+", 7, "the expression ends"),
    ],
)
def test_faults_name_column_and_next_step(text: str, column: int, words: str) -> None:
    with pytest.raises(KneckError) as caught:
        parse_arguments(text, GEMM)
    assert words in str(caught.value)
    assert caught.value.place is not None and caught.value.place.column == column


def test_no_dimensions_at_all_point_to_problem() -> None:
    with pytest.raises(KneckError, match="--problem"):
        parse_arguments("f32[n]", {})


def test_an_empty_line_is_a_kernel_without_arguments() -> None:
    assert parse_arguments("  ", GEMM) == ()


def test_parameters_are_aligned_to_their_size() -> None:
    arguments = parse_arguments("i8=1, ptr=0, i32 M, f16[M], i16=3", GEMM)
    assert parameter_offsets(arguments) == (0, 8, 16, 24, 32)


def test_arguments_that_fit_the_cubin_pass() -> None:
    arguments = parse_arguments("f32[M], f32[M], f32=2.0, i32 M", GEMM)
    check_parameters(arguments, ((0, 8), (8, 8), (16, 4), (20, 4)))


def test_a_missing_argument_shows_what_the_kernel_takes() -> None:
    arguments = parse_arguments("f32[M], f32[M], f32=2.0", GEMM)
    with pytest.raises(KneckError, match="takes 4 arguments, --args gives 3") as caught:
        check_parameters(arguments, ((0, 8), (8, 8), (16, 4), (20, 4)))
    assert caught.value.help == "parameter sizes in bytes, in order: 8, 8, 4, 4"


def test_an_argument_of_the_wrong_size_is_named() -> None:
    arguments = parse_arguments("f32[M], f64=2.0", GEMM)
    with pytest.raises(KneckError, match='argument 2 .* "f64=2.0" has 8'):
        check_parameters(arguments, ((0, 8), (8, 4)))


names = st.sampled_from(sorted(DTYPE_BYTES))


@given(st.lists(st.tuples(names, st.integers(1, 10**6)), min_size=1, max_size=8))
def test_every_array_that_is_written_is_read_back(arrays: list[tuple[str, int]]) -> None:
    text = ", ".join(f"{dtype}[{count}]" for dtype, count in arrays)
    found = parse_arguments(text, {})
    assert [(a.dtype, a.count) for a in found] == arrays
    assert [text[a.column - 1 :].startswith(a.text) for a in found] == [True] * len(arrays)


@given(st.sampled_from(["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]), st.data())
def test_every_integer_of_a_type_fits_it(dtype: str, data: st.DataObject) -> None:
    value = data.draw(st.integers(*integer_range(dtype)))
    (found,) = parse_arguments(f"{dtype}={value}", {})
    assert found.value == value


@given(st.text(max_size=40))
def test_no_text_gives_anything_but_arguments_or_a_placed_error(text: str) -> None:
    try:
        parse_arguments(text, GEMM)
    except KneckError as error:
        assert error.place is not None and error.place.path == "--args"
