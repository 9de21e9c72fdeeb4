"""On a GPU: times agree with an independent loop, the driver with kneck, failures have names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kneck.engine.api import architecture
from kneck.engine.measurement import measurement_settings, probe_images
from kneck.facts.arguments import parse_arguments
from kneck.facts.gpu import Gpu
from kneck.facts.measure.bench import BenchResult, run_bench
from kneck.facts.measure.bench_facts import fits_in_l2, require_steady
from kneck.facts.measure.device import Launch
from kneck.facts.measure.sensors import Sensors
from kneck.facts.occupancy import occupancy

from . import on_gpu

pytestmark = pytest.mark.gpu
CASES = {case["id"]: case for case in on_gpu.cases()}


def measured(case: dict[str, Any]) -> BenchResult:
    with Gpu() as gpu, Sensors(gpu.info) as sensors:
        return run_bench(
            gpu,
            on_gpu.cubin(case).read_bytes(),
            case["kernel"],
            Launch(tuple(case["grid"]), tuple(case["block"])),
            parse_arguments(case["args"], case["dims"]),
            probe_images()["support"],
            sensors,
            measurement_settings().bench,
        )


@pytest.fixture(scope="module")
def support() -> dict[str, Any]:
    return on_gpu.support_all()


@pytest.fixture(scope="module")
def independent_loop() -> Iterator[Path]:
    if shutil.which("nvcc") is None:
        pytest.fail("the independent timing loop needs nvcc to be built")
    program = on_gpu.HERE / "independent"
    subprocess.run(
        ["nvcc", "-arch=native", "-O2", "-o", str(program), str(program.with_suffix(".cu"))],
        check=True,
    )
    yield program


@pytest.mark.parametrize(
    "case", [case for case in CASES.values() if case["id"] != "saxpy_1_mb"], ids=lambda c: c["id"]
)
def test_times_agree_with_an_independent_loop(case: dict[str, Any], independent_loop: Path) -> None:
    before = on_gpu.independent_ms(case)
    time_ms = require_steady(measured(case)).time_ms
    after = on_gpu.independent_ms(case)
    low, high = sorted((before, after))
    assert 0.98 * low <= time_ms <= 1.02 * high


def test_a_small_saxpy_is_known_to_fit_in_l2_and_to_be_mostly_launch() -> None:
    result = measured(CASES["saxpy_1_mb"])
    assert fits_in_l2(result)
    assert result.time_ms < 3 * result.empty_launch_ms


def test_arrays_hold_the_values_that_numpy_gives(support: dict[str, Any]) -> None:
    assert set(support["contents"].values()) == {"same"}


def test_the_driver_and_kneck_give_the_same_occupancy(support: dict[str, Any]) -> None:
    limits = architecture(support["device"]["arch"]).limits
    for name, registers, static, threads, dynamic, blocks in support["occupancy"]:
        found = occupancy(limits, registers, threads, static, dynamic)
        assert found.blocks_per_sm == blocks, (name, threads, dynamic)


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        ("wrong argument count", "takes 4 arguments, --args gives 3"),
        ("wrong argument size", "argument 3 of the kernel has 4 bytes"),
        ("illegal address", "read or wrote an illegal address"),
        ("out of memory", "do not fit into the GPU's memory"),
        ("too many threads", "can run at most 1024 threads"),
    ],
)
def test_kernel_failures_are_named_errors(
    support: dict[str, Any], failure: str, words: str
) -> None:
    said = support["failures"][failure]
    assert said["rc"] == 0 and not said["err"]
    assert words in said["out"] and "help:" in said["out"]


def test_saxpy_reaches_nine_tenths_of_the_copy_ceiling() -> None:
    probed = on_gpu.probe_all(("dram copy", "dram copy with hints"))
    copy = {figure["name"]: figure["value"] for figure in probed["measured"]}
    case = CASES["saxpy_wide_1_gib"]
    moved = 3 * 4 * case["dims"]["n"]
    assert moved / measured(case).time_ms / 1e6 >= 0.9 * copy["dram_copy_gb_per_s"]


def test_probes_repeat_within_three_percent() -> None:
    names = ("FFMA", "IMAD", "LDS", "latency of L2", "dram read")
    first, again = (
        {figure["name"]: figure for figure in on_gpu.probe_all(names)["measured"]} for _ in "ab"
    )
    for name, figure in first.items():
        if figure["probe"] in names:
            assert figure["stable"] and again[name]["stable"], name
            assert again[name]["value"] == pytest.approx(figure["value"], rel=0.03), name


def test_probes_run_from_ptx_where_no_machine_code_fits(tmp_path: Path) -> None:
    out = tmp_path / "jit.json"
    environment = {**os.environ, "CUDA_FORCE_PTX_JIT": "1"}
    script = str(on_gpu.HERE / "on_gpu.py")
    subprocess.run([sys.executable, script, "jit", str(out)], check=True, env=environment)
    assert '"cost.LDS"' in out.read_text()
