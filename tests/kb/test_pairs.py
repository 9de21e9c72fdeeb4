"""Each strategy that the test kernels contain as a pair: fires on the base, not on the variant."""

from __future__ import annotations

import pytest

from .subjects import BY_ID, diagnosis_of, state, why_not

PAIRS = [
    pytest.param(kernel["pair"]["strategy"], kernel["pair"]["base"], kernel["id"],
                 id=f"{kernel['pair']['strategy']}-{kernel['id']}")
    for kernel in BY_ID.values()
    if "pair" in kernel
]  # fmt: skip

# A time at which the strategy is the question; none of these was measured.
TIMES = {
    # 72 % of the tensor peak at the manifest's time; latency-bound is what more stages can help
    ("deeper-pipeline", "hgemm_cp_async"): 7.0,
    ("deeper-pipeline", "hgemm_cp_async_4"): 7.0,
    # 68 % of the tensor peak: compute-bound, as the row of the matrix asks
    ("tensor-tile-reuse", "hgemm_staged"): 4.6,
    # a thousand steps in the one launch, not a hundred
    ("launch-overhead", "many_steps"): 0.03,
    # 66 % of the issue slots
    # 70 % of the look-ups of L2
    ("block-rasterization", "hgemm_cp_async"): 1.0,
    ("block-rasterization", "hgemm_rasterized"): 1.0,
    ("hoist-address-arithmetic", "index_in_loop"): 0.5,
}
# The instruction cache of sm_86 is not known; sm_120 has a figure and a cubin of the base alone.
OPTIONS = {"reduce-unroll": {"what_if": ("arch.instruction_cache_bytes=65536",)}}
ARCHS = {"block-rasterization": "sm_90"}  # the rates of L2 were measured there


@pytest.mark.parametrize(("strategy", "base", "variant"), PAIRS)
def test_a_strategy_fires_on_the_base_and_not_where_it_was_applied(
    strategy: str, base: str, variant: str
) -> None:
    arch, options = ARCHS.get(strategy, "sm_86"), OPTIONS.get(strategy, {})
    before = diagnosis_of(base, arch, TIMES.get((strategy, base)), **options)
    after = diagnosis_of(variant, arch, TIMES.get((strategy, variant)), **options)
    assert state(before, strategy) == "fired", why_not(before, strategy)
    assert state(after, strategy) == "silent", why_not(after, strategy)


def test_the_pairs_cover_most_strategies() -> None:
    assert len({parameters.values[0] for parameters in PAIRS}) > len(PAIRS) // 2
