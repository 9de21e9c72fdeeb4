"""The probe turns stamps into costs, rates and latencies; what cannot run is left out, by name."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kneck.engine.measurement import knowledge_file, probe_images, probe_list
from kneck.facts.gpu import Gpu
from kneck.facts.measure.device import DeviceInfo
from kneck.facts.measure.driver_errors import DriverError
from kneck.facts.measure.probe import run_probes
from kneck.facts.measure.probe_figures import combined, figure, unit_of
from kneck.facts.measure.probe_runner import buffer_bytes
from kneck.facts.measure.probe_types import (
    BufferSize,
    LoopCounts,
    Measured,
    Plan,
    ProbeLaunch,
    ProbeReport,
    ProbeSpec,
    Sample,
    loop_counts,
    unsupported,
)
from kneck.parsers.errors import KneckError

from .fake_driver import CUresult, FakeDriver, FakeKernel, FakeLaunch, with_support

LISTED = probe_list()
SETTINGS = LISTED.settings
IMAGES = dict.fromkeys(("support", "cost", "mma", "memory", "wgmma"), b"\x7fELF")
ARCHS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


def plan(per_instruction: float = 1, per_sm: int = 1, **spec: Any) -> Plan:
    """A probe whose loop holds 100 FFMA, 4 other instructions."""
    made = ProbeSpec("x", "cost", "k", {}, ("FFMA",), per_instruction, **spec)
    counts = LoopCounts({"FFMA": 100, "IADD3": 4}, "sm_90", True)
    return Plan(made, counts, launch=ProbeLaunch(1024, per_sm))


def sample(**fields: Any) -> Sample:
    usual: dict[str, Any] = {
        "event_ms": 10.0,
        "cycles": 800_000.0,
        "nanoseconds": 404_040.0,
        "iterations": 1000,
        "blocks": 132,
        "warps": 32,
    }
    return Sample(**{**usual, **fields})


def test_cost_is_the_cycles_of_a_sub_partition_per_warp_instruction() -> None:
    # 100 x 1000 instructions, 32 warps on 4 sub-partitions: 8 warps share one.
    assert figure(plan(), sample(), "cycles_per_instruction", SETTINGS) == pytest.approx(1.0)


def test_two_blocks_per_sm_double_the_instructions_behind_a_cost() -> None:
    found = figure(plan(per_sm=2), sample(), "cycles_per_instruction", SETTINGS)
    assert found == pytest.approx(0.5)


def test_a_peak_is_the_work_of_all_blocks_over_the_time_from_events() -> None:
    # 64 FLOP x 100 x 1000 x 32 warps x 132 blocks in 10 ms
    found = figure(plan(64), sample(), "per_ns", SETTINGS)
    assert found == pytest.approx(64 * 1e5 * 32 * 132 / 1e7)


def test_rates_per_clock_count_the_blocks_of_one_sm() -> None:
    found = figure(plan(128, per_sm=2), sample(blocks=264), "per_sm_clock", SETTINGS)
    assert found == pytest.approx(128 * 1e5 * 32 * 2 / 8e5)


def test_latency_is_the_time_of_one_link_of_the_chain() -> None:
    one = sample(cycles=400_000.0, warps=1, blocks=1)
    assert figure(plan(), one, "latency_cycles", SETTINGS) == pytest.approx(4)
    assert figure(plan(), one, "latency_ns", SETTINGS) == pytest.approx(4.0404)


def test_a_sweep_counts_the_bytes_of_the_buffer() -> None:
    swept = plan(sweep=1.0)
    swept.buffer_bytes = 4_000_000_000
    found = figure(swept, sample(event_ms=1000.0, iterations=1), "per_ns", SETTINGS)
    assert found == pytest.approx(4.0)


def test_the_clock_follows_from_cycles_and_nanoseconds() -> None:
    assert sample().clock_ghz == pytest.approx(1.98, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "quantity", "unit"),
    [
        ("cost.FFMA", "cycles_per_instruction", "cycles"),
        ("latency.l2_ns", "latency_ns", "ns"),
        ("dram_copy_gb_per_s", "per_ns", "GB/s"),
        ("fp32_ffma", "per_ns", "GFLOP/s"),
        ("int8_tensor_wgmma", "per_ns", "GOP/s"),
        ("l1_bytes_per_sm_clock", "per_sm_clock", "B/cycle"),
        ("red_one_address_per_ns", "per_ns", "1/ns"),
        ("issue_per_sm_clock", "per_sm_clock", "instructions/cycle"),
    ],
)
def test_every_figure_has_a_unit(name: str, quantity: str, unit: str) -> None:
    assert unit_of(name, quantity) == unit


# Which probes a GPU can run


def spec_of(probe: str) -> ProbeSpec:
    return next(spec for spec in LISTED.specs if spec.id == probe)


@pytest.mark.parametrize(
    ("probe", "arch", "reason"),
    [
        ("HMMA.16816.F32", "sm_75", "from sm_80 on"),
        ("HMMA.16816.F32", "sm_80", None),
        ("HGMMA bf16", "sm_100", "only on sm_90"),
        ("QMMA.16832", "sm_89", None),
        ("FFMA", "sm_75", None),
    ],
)
def test_probes_name_the_architectures_that_have_them(
    probe: str, arch: str, reason: str | None
) -> None:
    assert unsupported(spec_of(probe), arch) == reason


@pytest.mark.parametrize(
    ("arch", "counted", "exact"),
    [
        ("sm_86", "sm_86", True),
        ("sm_87", "sm_86", True),
        ("sm_121", "sm_120", True),
        ("sm_103", "sm_100", True),
        ("sm_110", "sm_100", False),
        ("sm_70", None, False),
    ],
)
def test_counts_are_those_of_the_cubin_that_the_driver_picks(
    arch: str, counted: str | None, exact: bool
) -> None:
    counts = loop_counts(LISTED.loops, spec_of("FFMA"), arch)
    assert (counts.arch, counts.exact) == (counted, exact)


@pytest.mark.parametrize("arch", ARCHS)
def test_every_probe_finds_its_instruction_in_its_own_loop(arch: str) -> None:
    for spec in LISTED.specs:
        if unsupported(spec, arch) is None and spec.opcodes:
            counts = loop_counts(LISTED.loops, spec, arch)
            assert counts.count(spec.opcodes) > 0, (spec.id, arch)


@pytest.mark.parametrize("arch", ARCHS)
def test_costs_are_taken_from_loops_that_hold_little_else(arch: str) -> None:
    """At most a tenth of the instructions are others, in the loops of plain arithmetic."""
    plain = ("FFMA", "FADD", "FMUL", "IMAD", "LOP3", "SHF", "PRMT", "DADD", "MUFU.EX2", "SHFL")
    for probe in plain:
        counts = loop_counts(LISTED.loops, spec_of(probe), arch)
        others = sum(
            n
            for mnemonic, n in counts.opcodes.items()
            if not mnemonic.startswith((*spec_of(probe).opcodes, "NOP"))
        )
        assert others <= 0.1 * counts.count(spec_of(probe).opcodes), (probe, arch)


def test_loops_and_kernels_are_those_of_the_compiled_files() -> None:
    images = probe_images()
    assert set(images) == {"support", *(spec.source for spec in LISTED.specs)}
    assert all(image.startswith(b"\x50\xed\x55\xba") for image in images.values())
    for spec in LISTED.specs:
        assert any(spec.kernel in kernels for kernels in LISTED.loops[spec.source].values())


def test_every_source_of_the_probes_is_shipped() -> None:
    for source in {"support", *(spec.source for spec in LISTED.specs)}:
        assert knowledge_file("probes", f"{source}.cu").is_file()


@pytest.mark.parametrize("arch", ARCHS)
def test_no_two_probes_of_one_gpu_give_the_same_figure(arch: str) -> None:
    able = [spec for spec in LISTED.specs if unsupported(spec, arch) is None]
    names = [name for spec in able for name in spec.values]
    assert len(names) == len(set(names))


def test_the_best_and_the_peaks_are_made_of_known_figures() -> None:
    known = {"dram_memcpy_gb_per_s", *(name for spec in LISTED.specs for name in spec.values)}
    for name, parts in LISTED.best.items():
        assert set(parts) <= known
        known.add(name)
    assert set(LISTED.peaks) <= known


# Buffers


def device(**fields: Any) -> DeviceInfo:
    with Gpu(driver=FakeDriver()) as gpu:
        return replace(gpu.info, **fields)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (BufferSize(bytes=1 << 20), 1 << 20),
        (BufferSize(l2=0.34, power_of_two=True), 1 << 24),
        (BufferSize(free=0.25, most=4 << 30), 4 << 30),
        (BufferSize(per_block=32768), 32768 * 132),
        (BufferSize(bytes=5000), 4096),
    ],
)
def test_buffers_fit_cache_and_memory(size: BufferSize, expected: int) -> None:
    assert buffer_bytes(size, device(), 150 << 30, 132) == expected


def test_a_small_gpu_gets_a_smaller_buffer() -> None:
    size = BufferSize(free=0.25, most=4 << 30)
    assert buffer_bytes(size, device(), 8 << 30, 132) == 2 << 30


def test_an_l2_of_unknown_size_leaves_its_probes_out() -> None:
    with pytest.raises(KneckError, match="size of L2"):
        buffer_bytes(BufferSize(l2=0.34), device(l2_bytes=None), 8 << 30, 132)


# A run on a driver that runs nothing


def model(driver: FakeDriver, cycles_per_iteration: float) -> Callable[[FakeLaunch], float]:
    """A kernel whose time grows with the iterations, at 2 GHz; it writes the stamps."""

    def duration(launch: FakeLaunch) -> float:
        stamps, iterations, *_ = launch.parameters
        cycles = 1000 + int(cycles_per_iteration * iterations)
        record = struct.pack("<QQ", cycles, cycles // 2)
        driver.memory[stamps][: 16 * launch.grid[0]] = record * launch.grid[0]
        return 0.002 + cycles / 2e6

    return duration


def probed(
    names: tuple[str, ...],
    changed: Callable[[FakeDriver], None] = lambda driver: None,
    **settings: Any,
) -> tuple[ProbeReport, list[tuple[int, int, str]]]:
    specs = [spec_of(name) for name in names]
    driver = with_support()
    for spec in specs:
        driver.kernels[spec.kernel] = FakeKernel(spec.kernel, (8, 8, 8, 8), model(driver, 512))
        if spec.prepare:
            driver.kernels[spec.prepare] = FakeKernel(spec.prepare, (8, 8, 8, 8))
    changed(driver)
    steps: list[tuple[int, int, str]] = []
    clock = iter(range(10**6))
    with Gpu(driver=driver) as gpu:
        report = run_probes(
            gpu,
            IMAGES,
            LISTED.loops,
            specs,
            replace(SETTINGS, **settings),
            lambda: next(clock),
            lambda done, total, name: steps.append((done, total, name)),
        )
    return report, steps


def test_a_run_gives_every_value_with_spread_and_clock() -> None:
    report, steps = probed(("FFMA", "dram copy", "latency of DRAM"))
    figures = {figure.name: figure for figure in report.measured}
    # 512 cycles an iteration of 512 FFMA in 8 warps of a sub-partition
    assert figures["cost.FFMA"].value == pytest.approx(512 * 4 / (512 * 32), rel=0.01)
    assert figures["cost.FFMA"].clock_ghz == pytest.approx(2, rel=0.01)
    assert figures["cost.FFMA"].stable and figures["cost.FFMA"].spread_fraction < 1e-3
    assert figures["latency.dram_cycles"].value == pytest.approx(512 / 32, rel=0.01)
    assert {"empty_launch_us", "launch_interval_us", "dram_memcpy_gb_per_s"} <= figures.keys()
    assert steps[0] == (0, 6, "FFMA") and steps[-1] == (6, 6, "")


def test_chains_are_written_again_before_each_launch() -> None:
    counted: list[FakeDriver] = []
    probed(("latency of DRAM",), counted.append)
    (driver,) = counted
    names = [launch.name for launch in driver.launches]
    runs = [i for i, name in enumerate(names) if name == "latency_dram"]
    assert all(names[i - 1] == "chase_fill" for i in runs)


def test_passes_that_differ_mark_the_value_unstable() -> None:
    def slower_later(driver: FakeDriver) -> None:
        kernel, usual = driver.kernels["cost_ffma"], model(driver, 512)
        calls = iter(range(10**6))

        def duration(launch: FakeLaunch) -> float:
            factor = 1.0 if next(calls) < 12 else 1.1
            time = factor * usual(launch)
            stamps = launch.parameters[0]
            cycles = int(1000 + factor * 512 * launch.parameters[1])
            record = struct.pack("<QQ", cycles, cycles // 2)
            driver.memory[stamps][: 16 * launch.grid[0]] = record * launch.grid[0]
            return time

        kernel.duration = duration

    report, _ = probed(("FFMA",), slower_later)
    cost = next(figure for figure in report.measured if figure.name == "cost.FFMA")
    assert not cost.stable and cost.spread_fraction > 0.03


def test_what_the_gpu_lacks_is_left_out_with_the_reason() -> None:
    report, _ = probed(("FFMA", "IMMA.8816"))
    assert report.skipped == {"IMMA.8816": "only on sm_75"}


def test_a_probe_that_fails_does_not_end_the_others() -> None:
    def broken(driver: FakeDriver) -> None:
        del driver.kernels["cost_lop3"]

    report, _ = probed(("LOP3", "FFMA"), broken)
    assert "no kernel of that name" in report.skipped["LOP3"]
    assert "cost.FFMA" in {figure.name for figure in report.measured}


def test_a_lost_context_ends_the_run() -> None:
    def broken(driver: FakeDriver) -> None:
        driver.kernels["cost_ffma"].duration = lambda launch: CUresult.CUDA_ERROR_ILLEGAL_ADDRESS

    with pytest.raises(DriverError, match="illegal address"):
        probed(("FFMA",), broken)


def test_what_is_not_reached_in_time_is_named() -> None:
    report, _ = probed(("FFMA", "FADD", "FMUL"), time_limit_s=3)
    assert report.skipped
    assert set(report.skipped.values()) == {"the time was up"}


def test_blocks_shrink_until_their_registers_fit() -> None:
    def registers(driver: FakeDriver) -> None:
        def most(kernel: FakeKernel, threads: int, smem: int) -> tuple[CUresult, int]:
            return CUresult.CUDA_SUCCESS, 0 if threads > 256 else 4

        driver.cuOccupancyMaxActiveBlocksPerMultiprocessor = most  # type: ignore[method-assign]
        counted.append(driver)

    counted: list[FakeDriver] = []
    report, _ = probed(("FFMA",), registers)
    blocks = {launch.block for launch in counted[0].launches if launch.name == "cost_ffma"}
    assert blocks == {(256, 1, 1)} and report.measured


# Two runs joined


def measured(value: float, spread: float = 0.001) -> Measured:
    return Measured("x", value, "GB/s", spread, 1.9, spread <= 0.03, "p")


def test_runs_that_agree_are_joined_as_stable() -> None:
    (found,) = combined([[measured(100)], [measured(102)]], 0.03)
    assert found.value == 101 and found.stable
    assert found.spread_fraction == pytest.approx(2 / 101)


def test_runs_that_differ_are_unstable_however_steady_each_was() -> None:
    (found,) = combined([[measured(100)], [measured(110)]], 0.03)
    assert not found.stable


def test_build_counts_the_longest_loop(tmp_path: Path) -> None:
    """The counting of build.py, on a listing as nvdisasm prints it."""
    import importlib.util

    path = Path(__file__).parents[2] / "kb" / "probes" / "build.py"
    spec = importlib.util.spec_from_file_location("probes_build", path)
    assert spec is not None and spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    lines = """\
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_0:
        /*0010*/                   FFMA R2, R2, R3, R4 ;
        /*0020*/              @!P0 FFMA R5, R5, R3, R4 ;
        /*0030*/               @P0 BRA `(.L_x_0) ;
        /*0040*/                   EXIT ;
.L_x_1:
        /*0050*/                   BRA `(.L_x_1);
"""
    assert build.longest_loop(lines.splitlines()) == {"BRA": 1, "FFMA": 2}
