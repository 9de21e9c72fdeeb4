"""The roofline: rates and intensities as the method defines them, and its own figures."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts import roofline
from kneck.facts.problem import parse_problem
from kneck.rules.hardware import load_device, load_problem_models, shipped_folder

KB = [shipped_folder()]
positive = st.floats(1e-3, 1e12)


def test_every_example_in_the_module_holds() -> None:
    assert doctest.testmod(roofline).failed == 0


@pytest.mark.parametrize(
    ("precision", "balance"),
    [("fp32_ffma", "35.7"), ("fp16_tensor_fp32acc", "286.2"), ("int8_tensor", "1144.7")],
)
def test_published_peaks_give_the_balance_points_of_the_method(
    precision: str, balance: str
) -> None:
    device = load_device("rtx-3070-ti", KB)
    compute, memory = device.peak(precision, "published"), device.peak("dram_gb_per_s", "published")
    assert compute is not None and memory is not None
    assert (compute.basis, memory.basis) == ("published", "published")
    assert f"{roofline.balance_point(compute.value, memory.value):.1f}" == balance


@pytest.mark.parametrize(
    ("precision", "balance"),
    [
        ("fp32_ffma", "35.8"),
        ("fp16_tensor_fp16acc", "143.1"),
        ("fp16_tensor_fp32acc", "71.5"),
        ("int8_tensor", "286.2"),
    ],
)
def test_dense_peaks_give_lower_balance_points_for_tensor_cores(
    precision: str, balance: str
) -> None:
    device = load_device("rtx-3070-ti", KB)
    compute, memory = device.peak(precision), device.peak("dram_gb_per_s")
    assert compute is not None and memory is not None
    assert f"{roofline.balance_point(compute.value, memory.value):.1f}" == balance


def test_the_igemm_of_the_method_stands_on_the_memory_side() -> None:
    problem = parse_problem("gemm:M=32768,N=64,K=4096,dtype=s8", load_problem_models(KB))
    assert problem.flops is not None and problem.bytes is not None
    intensity = roofline.arithmetic_intensity(problem.flops, problem.bytes)
    assert intensity is not None
    assert (round(intensity, 1), roofline.side(intensity, 286.2)) == (120.2, "memory")
    rate = roofline.effective_rate(problem.bytes, 0.498)
    assert rate is not None and round(rate) == 287


@given(positive, positive, positive)
def test_the_roof_is_the_lower_one_and_both_meet_at_the_balance_point(
    intensity: float, peak: float, bandwidth: float
) -> None:
    roof = roofline.roof_gflops(intensity, peak, bandwidth)
    assert roof <= peak and roof <= intensity * bandwidth
    balance = roofline.balance_point(peak, bandwidth)
    assert balance is not None
    expected = "memory" if intensity < balance else "compute"
    assert roofline.side(intensity, balance) == expected


@given(positive, positive)
def test_headroom_is_what_is_left_of_the_roof(effective: float, roof: float) -> None:
    attained = roofline.attained_fraction(effective, roof)
    assert attained is not None
    left = roofline.headroom(attained)
    assert left is not None and left * attained == pytest.approx(1)


def test_what_cannot_be_divided_is_unknown() -> None:
    assert roofline.arithmetic_intensity(1, 0) is None
    assert roofline.effective_rate(1, 0) is None
    assert roofline.balance_point(1, 0) is None
    assert roofline.attained_fraction(1, 0) is None
    assert roofline.headroom(0) is None
