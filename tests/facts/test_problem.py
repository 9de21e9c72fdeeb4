"""Problem specifications: dimensions in, operations and unique bytes out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.problem import Problem, parse_problem, problem_facts
from kneck.parsers.errors import KneckError
from kneck.rules.hardware import load_problem_models, shipped_folder

MODELS = load_problem_models([shipped_folder()])
KINDS = (
    "gemm attention conv2d elementwise reduction softmax layernorm transpose stencil spmv custom"
)


def problem(text: str) -> Problem:
    return parse_problem(text, MODELS)


def test_there_is_a_model_for_every_problem_of_the_contract() -> None:
    assert sorted(MODELS) == sorted(KINDS.split())


@pytest.mark.parametrize(
    ("text", "flops", "unique_bytes"),
    [
        (
            "gemm:M=4096,N=4096,K=4096,dtype=f16,acc=f32,out=f32",
            2 * 4096**3,
            4096**2 * (2 + 2 + 4),
        ),
        (
            "gemm:M=32768,N=64,K=4096,dtype=s8",
            2 * 32768 * 64 * 4096,
            32768 * 4096 + 64 * 4096 + 32768 * 64 * 4,
        ),
        ("gemm:M=8,N=8,K=8,batch=3,dtype=f64", 3 * 1024, 3 * 3 * 64 * 8),
        (
            "attention:batch=4,heads=16,seq_len=4096,head_dim=64,causal=0,dtype=f16",
            4 * 4 * 16 * 4096**2 * 64,
            4 * 4 * 16 * 4096 * 64 * 2,
        ),
        (
            "attention:batch=4,heads=16,seq_len=4096,head_dim=64,causal=true,dtype=f16",
            2 * 4 * 16 * 4096**2 * 64,
            4 * 4 * 16 * 4096 * 64 * 2,
        ),
        (
            "attention:batch=1,heads=8,seq_len=16,head_dim=64,kv_heads=2,kv_len=32,dtype=bf16",
            4 * 8 * 16 * 32 * 64,
            2 * (2 * 8 * 16 * 64 + 2 * 2 * 32 * 64),
        ),
        (
            "conv2d:N=16,C=64,H=56,W=56,K=128,R=3,S=3,stride=2,pad=1,dtype=f32",
            2 * 16 * 128 * 28 * 28 * 64 * 9,
            4 * (16 * 64 * 56 * 56 + 128 * 64 * 9 + 16 * 128 * 28 * 28),
        ),
        ("elementwise:n=1000,reads=2,writes=1,flops=2,dtype=f32", 2000, 12000),
        ("reduction:n=1000,dtype=f16,out=f32", 999, 2004),
        ("softmax:rows=10,cols=20,dtype=f32", 1000, 1600),
        ("layernorm:rows=10,cols=20,dtype=f16", 1600, 2 * (200 + 40 + 200)),
        ("transpose:rows=10,cols=20,dtype=u8", 0, 400),
        ("stencil:nx=10,ny=10,points=5,dtype=f32", 900, 800),
        ("spmv:rows=10,nnz=50,dtype=f32", 100, 50 * 8 + 11 * 4 + 10 * 8),
        ("custom:flops=2*16777216,bytes=12*16777216", 33554432, 201326592),
        ("gemm:M=64,N=M,K=2*N,dtype=f32", 2 * 64 * 64 * 128, 4 * (64 * 128 * 2 + 64 * 64)),
    ],
)
def test_operations_and_bytes(text: str, flops: int, unique_bytes: int) -> None:
    found = problem(text)
    assert (found.flops, found.bytes, found.missing) == (flops, unique_bytes, ())


@pytest.mark.parametrize(
    ("text", "flops", "unique_bytes", "missing"),
    [
        ("gemm:M=4,N=4,K=4", 128, None, ("dtype",)),
        ("gemm:M=4,N=4,K=4,dtype=e4m3", 128, None, ("out",)),
        ("elementwise:n=8,reads=1,writes=1,dtype=f32", None, 64, ("flops",)),
        ("custom:bytes=64", None, 64, ("flops",)),
        ("custom:flops=max(1, 2)", 2, None, ("bytes",)),
    ],
)
def test_what_is_left_out_is_unknown_and_named(
    text: str, flops: int | None, unique_bytes: int | None, missing: tuple[str, ...]
) -> None:
    found = problem(text)
    assert (found.flops, found.bytes, found.missing) == (flops, unique_bytes, missing)


@pytest.mark.parametrize(
    ("types", "precision"),
    [
        ("dtype=f16,acc=f32", "fp16_tensor_fp32acc"),
        ("dtype=half,acc=f16", "fp16_tensor_fp16acc"),
        ("dtype=f16", None),
        ("dtype=bf16", "bf16_tensor"),
        ("dtype=tf32", "tf32_tensor"),
        ("dtype=int8", "int8_tensor"),
        ("dtype=fp8,out=bf16", "fp8_tensor"),
        ("dtype=f32", "fp32_ffma"),
        ("dtype=f64", "fp64"),
    ],
)
def test_a_product_names_its_peak_once_type_and_accumulator_tell_it(
    types: str, precision: str | None
) -> None:
    assert problem(f"gemm:M=8,N=8,K=8,{types}").precision == precision


def test_only_products_name_a_peak() -> None:
    assert problem("softmax:rows=8,cols=8,dtype=f16").precision is None


@pytest.mark.parametrize(
    ("text", "what", "help"),
    [
        ("gemn:M=1,N=1,K=1", 'unknown problem "gemn"', 'did you mean "gemm"?'),
        ("", "the problem is empty", "write gemm:M=4096,N=4096,K=4096,dtype=f16"),
        ("gemm:M=4,K=4", "gemm needs N (columns of B and C)", "add N=VALUE"),
        ("gemm:M=-4,N=4,K=4", "M: -4 is negative", "give 1 or more"),
        ("gemm:M=0,N=4,K=4", "M: 0 is below 1", "give 1 or more"),
        ("gemm:M=1.5,N=4,K=4", "M: 1.5 is not a whole number", "give a whole number"),
        ("gemm:M=nan,N=4,K=4", "M: nan is not a number", "give a finite number"),
        ("gemm:M=1/0,N=4,K=4", "M=1/0 is not a number", "give a finite number"),
        ("gemm:M=inf,N=4,K=4", "M: inf is not a number", "give a finite number"),
        (
            "gemm:M=4*,N=4,K=4",
            "M=4* is no formula: the expression ends where a value or a closing bracket should "
            "follow\n    4*\n      ^",
            "write numbers, dimensions, + - * / ( )",
        ),
        (
            "gemm:M=4,N=4,K=4,dtyp=f16",
            'gemm has no dimension "dtyp"',
            'did you mean "dtype"?',
        ),
        (
            "gemm:M=4,N=4,K=4,dtype=f17",
            'dtype: unknown element type "f17"',
            'did you mean "f16"?',
        ),
        ("gemm:M=N,N=K,K=M", "M depends on itself: M -> N -> K -> M", "give M a number"),
        (
            "gemm:M=Q,N=4,K=4",
            'M=Q names "Q", which is no dimension of gemm',
            "known: K, M, N, batch",
        ),
        ("gemm:M,N=4,K=4", '"M" in --problem sets nothing', "write NAME=VALUE"),
        ("gemm:M=,N=4,K=4", "M has no value in --problem", "write M=VALUE"),
        ("gemm:M=4,M=5,N=4,K=4", "M is given twice in --problem", "keep one of the two"),
        ("custom:flop=4", 'custom has no dimension "flop"', 'did you mean "flops"?'),
        ("custom:flops=-4", "flops: -4 is negative", "give 0 or more"),
        (
            "attention:batch=1,heads=1,seq_len=1,head_dim=1,causal=2,dtype=f16",
            "causal: 2 is above 1",
            "give 0 to 1",
        ),
    ],
)
def test_a_wrong_specification_is_refused_with_the_next_step(
    text: str, what: str, help: str
) -> None:
    with pytest.raises(KneckError) as caught:
        problem(text)
    assert (caught.value.what, caught.value.help) == (what, help)
    assert caught.value.exit_status == 2


def test_a_filter_larger_than_the_image_is_refused() -> None:
    with pytest.raises(KneckError, match="P: .* = 0 is below 1"):
        problem("conv2d:N=1,C=1,H=2,W=8,K=1,R=3,S=3,dtype=f32")


def test_facts_carry_the_option_and_the_formula() -> None:
    facts = {fact.name: fact for fact in problem_facts(problem("gemm:M=8,N=8,K=8,dtype=f32"))}
    assert facts["baseline.flops"].value == 1024
    assert "kb/problems/gemm.yaml:" in facts["baseline.flops"].source.detail
    assert facts["problem.M"].source.detail == "--problem gemm:M=8,N=8,K=8,dtype=f32"
    assert facts["problem.precision"].value == "fp32_ffma"


def test_an_unknown_count_is_no_fact() -> None:
    names = [fact.name for fact in problem_facts(problem("gemm:M=8,N=8,K=8"))]
    assert "baseline.flops" in names and "baseline.bytes" not in names


@given(st.text(st.characters(codec="ascii"), max_size=60))
def test_any_text_is_a_problem_or_a_named_error(text: str) -> None:
    try:
        found = problem(text)
    except KneckError as error:
        assert error.what
    else:
        assert found.kind in MODELS


@given(
    st.sampled_from(["gemm", "transpose", "custom"]),
    st.lists(
        st.tuples(
            st.sampled_from(["M", "N", "K", "rows", "cols", "flops", "bytes", "dtype", "x"]),
            st.text("0123456789MNK+-*/()., efn", max_size=12),
        ),
        max_size=5,
    ),
)
def test_any_assignment_is_a_problem_or_a_named_error(
    kind: str, pairs: list[tuple[str, str]]
) -> None:
    text = f"{kind}:{','.join(f'{name}={value}' for name, value in pairs)}"
    try:
        found = problem(text)
    except KneckError as error:
        assert error.help
    else:
        assert found.flops is None or found.flops >= 0


@given(st.integers(1, 10_000), st.integers(1, 10_000), st.integers(1, 10_000))
def test_a_product_counts_each_operand_once(m: int, n: int, k: int) -> None:
    found = problem(f"gemm:M={m},N={n},K={k},dtype=f16,acc=f32,out=f32")
    assert found.flops == 2 * m * n * k
    assert found.bytes == 2 * (m * k + k * n) + 4 * m * n
