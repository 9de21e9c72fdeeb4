"""Facts in, derived facts out: launch, roofline and tile, and what happens where one is missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.facts.derive import Derivation, consequences, derive, in_order
from kneck.facts.launch_facts import axes, launch_derivations
from kneck.facts.model import Fact, FactBase, Source, Value
from kneck.facts.roofline_facts import roofline_derivations
from kneck.facts.tile_facts import tile_derivations

STEPS = [
    *launch_derivations(),
    *roofline_derivations(["fp32_ffma", "fp16_tensor_fp32acc"]),
    *tile_derivations(("FFMA",)),
]


def known(**values: Value) -> FactBase:
    """Make facts of keyword arguments; two underscores stand for a dot."""
    given = {name.replace("__", "."): value for name, value in values.items()}
    return FactBase(
        {name: Fact(name, value, "", Source("option", "test")) for name, value in given.items()}
    )


HGEMM = known(
    baseline__flops=2.0 * 4096**3,
    baseline__bytes=2 * 4096**2 * 2 + 4 * 4096**2,
    baseline__time_ms=4.0,
    roofline__precision="fp16_tensor_fp32acc",
    device__peaks_basis="dense",
    device__peak_gb_per_s=608.0,
    **{"device__peak_gflops.fp16_tensor_fp32acc": 43500.0},
    **{"device__dense_peak_gflops.fp16_tensor_fp32acc": 43500.0},
)


def test_the_roofline_of_a_gemm_is_that_of_its_accumulator() -> None:
    facts = derive(HGEMM, STEPS)
    assert facts.number("roofline.balance_point") == pytest.approx(43500 / 608)
    assert facts.number("baseline.gflops") == pytest.approx(2 * 4096**3 / 4e-3 / 1e9)
    assert facts.number("bounds.compute.share") == pytest.approx(34359.7 / 43500, rel=1e-4)
    assert facts.number("headroom.compute") == pytest.approx(43500 / 34359.7, rel=1e-4)
    assert facts.value("roofline.peak_mismatch") is False


def test_a_derived_fact_names_its_inputs_and_its_formula() -> None:
    fact = derive(HGEMM, STEPS).facts["roofline.balance_point"]
    assert fact.inputs == ("roofline.peak_gflops", "roofline.peak_gb_per_s")
    assert fact.source == Source("derived", "peak arithmetic / peak bandwidth")


def test_without_a_time_the_shares_are_missing_and_say_so() -> None:
    facts = FactBase({k: v for k, v in HGEMM.facts.items() if k != "baseline.time_ms"})
    found = derive(facts, STEPS)
    assert "bounds.compute.share" not in found
    assert found.missing["bounds.compute.share"].needs == ("baseline.time_ms",)
    assert found.number("bounds.compute.time_ms") is not None


def test_a_copy_without_arithmetic_needs_no_arithmetic_peak() -> None:
    found = derive(
        known(
            baseline__flops=0, baseline__bytes=8e9, baseline__time_ms=20.0,
            device__peak_gb_per_s=608.0,
        ),
        STEPS,
    )  # fmt: skip
    assert found.number("bounds.compute.share") == 0
    assert found.number("bounds.memory.share") == pytest.approx(8e9 / 608e9 / 20e-3)


def test_a_published_peak_that_differs_from_the_dense_one_is_a_mismatch() -> None:
    published = HGEMM.with_facts(
        [
            Fact("device.peaks_basis", "published", "", Source("kb", "test")),
            Fact("device.peak_gflops.fp16_tensor_fp32acc", 174000.0, "", Source("kb", "test")),
        ]
    )
    assert derive(published, STEPS).value("roofline.peak_mismatch") is True


def test_a_wave_is_what_the_whole_gpu_holds_at_once() -> None:
    found = derive(
        known(
            launch__grid="170", launch__block="256,2", arch__threads_per_warp=32,
            device__sm_count=84, occupancy__blocks_per_sm=1,
        ),
        STEPS,
    )  # fmt: skip
    assert found.number("launch.threads") == 512
    assert found.number("launch.warps") == 16
    assert found.number("launch.waves") == pytest.approx(170 / 84)
    assert found.number("launch.last_wave_fraction") == pytest.approx(2 / 84)


def test_no_wave_where_no_block_fits() -> None:
    found = derive(
        known(launch__grid="170", device__sm_count=84, occupancy__blocks_per_sm=0), STEPS
    )
    assert found.missing["launch.waves"].because == "no block fits on an SM"


def test_the_igemm_of_the_method_has_a_ratio_of_four() -> None:
    found = derive(
        known(
            tile__compute_ops=8, tile__load_ops=2, tile__load_bytes=32, tile__flops=8 * 4096,
            arch__threads_per_warp=32,
        ),
        STEPS,
    )  # fmt: skip
    assert found.number("tile.ratio") == 4
    assert found.number("tile.flops_per_byte") == 32


def test_a_loop_without_loads_has_no_ratio_rather_than_a_wrong_one() -> None:
    found = derive(known(tile__compute_ops=8, tile__load_ops=0), STEPS)
    assert found.missing["tile.ratio"].because == "the loop has no global load"


def test_slack_that_other_warps_fill_gains_nothing() -> None:
    loop = {
        "tile__instructions": 100,
        "tile__cycles": 300,
        "stalls__FFMA__reducible_cycles": 150,
    }
    few = derive(known(occupancy__warps_per_scheduler=1.0, **loop), STEPS)
    many = derive(known(occupancy__warps_per_scheduler=4.0, **loop), STEPS)
    assert few.number("stalls.FFMA.gain_fraction") == pytest.approx(1.0)
    assert many.number("stalls.FFMA.gain_fraction") == 0


@pytest.mark.parametrize("text", ["", "0", "1,2,3,4", "1,-2", "abc", "1,,2"])
def test_a_shape_that_no_launch_can_have_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        axes(text)


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=3))
def test_a_shape_is_read_as_written(sizes: list[int]) -> None:
    assert axes(",".join(map(str, sizes)))[: len(sizes)] == tuple(sizes)


def test_a_pinned_fact_is_kept_and_what_depends_on_it_follows() -> None:
    double = Derivation(("b",), ("a",), lambda f: {"b": (2 * float(f["a"]), "", "2 a")})
    assert derive(known(a=1.0, b=7.0), [double]).number("b") == 7
    assert consequences(["a"], [double]) == {"a", "b"}


def test_derivations_run_in_the_order_of_their_dependences() -> None:
    first = Derivation(("b",), ("a",), lambda f: {"b": (f["a"], "", "")})
    second = Derivation(("c",), ("b",), lambda f: {"c": (f["b"], "", "")})
    assert list(in_order([second, first])) == [first, second]
    assert derive(known(a=3), [second, first]).number("c") == 3


def test_a_cycle_of_derivations_is_refused() -> None:
    forth = Derivation(("b",), ("a",), lambda f: {})
    back = Derivation(("a",), ("b",), lambda f: {})
    with pytest.raises(ValueError, match="cycle"):
        in_order([forth, back])
