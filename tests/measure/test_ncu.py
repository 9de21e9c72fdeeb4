"""Reports of Nsight Compute, as report and as CSV, equal ncu's own text output."""

from __future__ import annotations

import lzma
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kneck.engine.measurement import counter_table
from kneck.engine.measuring import read_counters, read_launches
from kneck.facts.measure.counters import choose_launch, in_base_unit, kernel_base, number
from kneck.facts.measure.ncu_csv import read_csv
from kneck.facts.measure.ncu_rep import read_rep
from kneck.parsers.errors import KneckError, MissingProgramError

DATA = Path(__file__).parent / "data" / "ncu"
KERNELS = ("flash_attention", "hgemm", "igemm", "pointer_chase", "reduction", "saxpy_1_gib")
PAGES = ("raw.csv", "details.csv", "source.csv")


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ncu")
    for file in DATA.glob("*.xz"):
        (folder / file.stem).write_bytes(lzma.decompress(file.read_bytes()))
    return folder


def text_figures(name: str) -> dict[str, tuple[float, float]]:
    """Read ncu's own text: label or metric -> value and half its last digit, in base units."""
    found: dict[str, tuple[float, float]] = {}
    for page in ("details", "raw"):
        text = (DATA / f"{name}.{page}.txt").read_text()
        for line in text.splitlines():
            match = re.match(r"\s+(\S.*?)\s{2,}(?:(\S+)\s+)?([0-9][0-9,.]*)\s*$", line)
            if match and (value := number(match[3])) is not None:
                digits = len(match[3].partition(".")[2])
                each = (value, 0.5001 * 10**-digits)
                value, step = (in_base_unit(x, match[2] or "") for x in each)
                found.setdefault(match[1], (value, step))
    return found


def numbers(path: Path) -> dict[str, float]:
    """Read the numeric facts of a report."""
    facts = read_counters(str(path)).facts
    return {fact.name: fact.value for fact in facts if isinstance(fact.value, (int, float))}


LABELS = {
    "counters.duration_ms": ("Duration", 1e-6),
    "counters.achieved_occupancy": ("Achieved Occupancy", 0.01),
    "counters.achieved_warps": ("Achieved Active Warps Per SM", 1),
    "occupancy.theoretical_occupancy": ("Theoretical Occupancy", 0.01),
    "occupancy.active_warps": ("Theoretical Active Warps per SM", 1),
    "occupancy.block_limits.registers": ("Block Limit Registers", 1),
    "occupancy.block_limits.smem": ("Block Limit Shared Mem", 1),
    "occupancy.block_limits.warps": ("Block Limit Warps", 1),
    "occupancy.block_limits.blocks": ("Block Limit SM", 1),
    "occupancy.registers_per_thread": ("Registers Per Thread", 1),
    "occupancy.static_smem": ("Static Shared Memory Per Block", 1),
    "launch.waves": ("Waves Per SM", 1),
    "counters.instructions": ("Executed Instructions", 1),
    "counters.instructions_issued": ("Issued Instructions", 1),
    "counters.throughput.compute": ("Compute (SM) Throughput", 0.01),
    "counters.throughput.dram": ("DRAM Throughput", 0.01),
    "counters.throughput.l2": ("L2 Cache Throughput", 0.01),
    "counters.l1_hit_fraction": ("L1/TEX Hit Rate", 0.01),
    "counters.l2_hit_fraction": ("L2 Hit Rate", 0.01),
    "counters.dram_read_bytes": ("dram__bytes_read.sum", 1),
    "counters.dram_write_bytes": ("dram__bytes_write.sum", 1),
    "counters.global_load_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 1),
}


@pytest.mark.parametrize("name", KERNELS)
def test_every_figure_of_a_report_equals_the_text_output(reports: Path, name: str) -> None:
    check_against_text(reports / f"{name}.ncu-rep", name, set(LABELS))


@pytest.mark.parametrize("name", KERNELS)
def test_every_figure_of_the_raw_page_equals_the_text_output(reports: Path, name: str) -> None:
    check_against_text(reports / f"{name}.raw.csv", name, set(LABELS))


@pytest.mark.parametrize("name", KERNELS)
def test_every_figure_of_the_details_page_equals_the_text_output(reports: Path, name: str) -> None:
    counted_only = {
        "counters.dram_read_bytes",
        "counters.dram_write_bytes",
        "counters.global_load_sectors",
    }
    check_against_text(reports / f"{name}.details.csv", name, set(LABELS) - counted_only)


def check_against_text(path: Path, name: str, wanted: set[str]) -> None:
    printed = text_figures(name)
    facts = {fact.name: fact for fact in read_counters(str(path)).facts}
    for fact, (label, scale) in LABELS.items():
        if fact in wanted:
            value = facts[fact].value
            assert isinstance(value, (int, float))
            expected, step = printed[label]
            assert abs(value - expected * scale) <= step * scale, fact


@pytest.mark.parametrize("name", KERNELS)
def test_instruction_counts_are_exact(reports: Path, name: str) -> None:
    printed, _ = text_figures(name)["Executed Instructions"]
    raw = {fact.name: fact.value for fact in read_counters(str(reports / f"{name}.raw.csv")).facts}
    source = read_counters(str(reports / f"{name}.source.csv"))
    assert raw["counters.instructions"] == printed
    assert sum(source.launch.opcodes.values()) == printed


def test_dram_bytes_of_the_details_page_follow_from_rate_and_time(reports: Path) -> None:
    raw = {f.name: f.value for f in read_counters(str(reports / "saxpy_1_gib.raw.csv")).facts}
    found = {f.name: f.value for f in read_counters(str(reports / "saxpy_1_gib.details.csv")).facts}
    assert found["counters.dram_bytes"] == pytest.approx(raw["counters.dram_bytes"], rel=0.01)


def test_saxpy_reads_two_arrays_and_writes_one(reports: Path) -> None:
    facts = numbers(reports / "saxpy_1_gib.raw.csv")
    array = 4 * 134_217_728
    assert facts["counters.dram_read_bytes"] == pytest.approx(2 * array, rel=0.01)
    assert facts["counters.dram_write_bytes"] == pytest.approx(array, rel=0.06)  # rest stays in L2
    assert facts["counters.sectors_per_request.load"] == 4
    assert facts["counters.throughput.dram"] > facts["counters.throughput.compute"]


def test_opcodes_of_a_report_and_of_its_source_page_are_the_same(reports: Path) -> None:
    for name in KERNELS:
        report = read_counters(str(reports / f"{name}.ncu-rep"))
        page = read_counters(str(reports / f"{name}.source.csv"))
        assert report.launch.opcodes == page.launch.opcodes
        executed = {f.name: f.value for f in report.facts}
        assert executed["mix.EXIT.executed"] == page.launch.opcodes["EXIT"]


@pytest.mark.parametrize("ending", ["source.csv", "ncu-rep"])
def test_stalls_name_the_instruction_where_warps_wait(reports: Path, ending: str) -> None:
    first = read_counters(str(reports / f"hgemm.{ending}")).stalls[0]
    assert first == (1824, "BAR.SYNC.DEFER_BLOCKING 0x0", "long_scoreboard", 53252)


def test_the_pointer_chase_waits_for_memory(reports: Path) -> None:
    facts = numbers(reports / "pointer_chase.raw.csv")
    stalls = {name: value for name, value in facts.items() if name.startswith("counters.stall.")}
    assert max(stalls, key=lambda name: stalls[name]) == "counters.stall.long_scoreboard"
    assert facts["counters.achieved_warps"] == pytest.approx(1, abs=0.01)


# Several kernels and launches


@pytest.mark.parametrize("page", PAGES)
def test_kernels_and_launches_are_told_apart(reports: Path, page: str) -> None:
    launches = read_launches(str(reports / f"several.{page}"))
    names = [kernel_base(launch.kernel) for launch in launches]
    assert names == ["saxpy", "read_all", "saxpy", "read_all"]


def test_several_kernels_and_none_named_are_listed(reports: Path) -> None:
    with pytest.raises(KneckError, match="the report has 2 kernels") as caught:
        read_counters(str(reports / "several.raw.csv"))
    assert "read_all(const float4 *, unsigned long, float *)" in str(caught.value)
    assert caught.value.help == "name one with --kernel"


@pytest.mark.parametrize(
    "kernel",
    ["read_all", "read_all(const float4 *, unsigned long, float *)", "_Z8read_allPK6float4"],
)
def test_a_kernel_is_found_by_part_demangled_or_mangled_name(reports: Path, kernel: str) -> None:
    reading = read_counters(str(reports / "several.raw.csv"), kernel)
    assert kernel_base(reading.launch.kernel) == "read_all"
    assert reading.launches == 2


def test_an_unknown_kernel_is_answered_with_the_known_ones(reports: Path) -> None:
    with pytest.raises(KneckError, match='has no kernel "gemm", only'):
        read_counters(str(reports / "several.raw.csv"), "gemm")


def test_of_several_launches_the_median_one_is_read(reports: Path) -> None:
    launches = read_launches(str(reports / "several.raw.csv"))
    times = sorted(
        launch.metrics["gpu__time_duration.sum"] for launch in launches if launch.kernel == "saxpy"
    )
    chosen, count = choose_launch(launches, "saxpy", "x")
    assert chosen.metrics["gpu__time_duration.sum"] == times[1] and count == 2


# Old versions, units


@pytest.mark.parametrize(
    ("value", "unit", "base"),
    [
        (1.5, "Gbyte", 1.5e9),
        (2, "Kbyte/block", 2000),
        (3, "byte", 3),
        (472.74, "us", 472_740),
        (1.2, "msecond", 1.2e6),
        (0.5, "usecond", 500),
        (3.2, "Gbyte/second", 3.2e9),
        (3.2, "Tbyte/s", 3.2e12),
        (1.98, "cycle/nsecond", 1.98e9),
        (1.98, "cycle/usecond", 1.98e6),
        (1.98, "Ghz", 1.98e9),
        (196.4, "sector/ns", 1.964e11),
        (85.2, "%", 85.2),
        (0.8, "inst/cycle", 0.8),
        (88, "register/thread", 88),
        (7, "", 7),
    ],
)
def test_units_become_base_units(value: float, unit: str, base: float) -> None:
    assert in_base_unit(value, unit) == pytest.approx(base)


def old_page() -> str:
    """A details page as versions of 2019 printed it: other units, labels and columns."""
    columns = (
        "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context",
        "Stream", "Section Name", "Metric Name", "Metric Unit", "Metric Value",
    )  # fmt: skip
    stall = "smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct"
    rows = (
        ("GPU Speed Of Light", "SOL SM", "%", "61.50"),
        ("GPU Speed Of Light", "SOL Memory", "%", "20.25"),
        ("GPU Speed Of Light", "Duration", "usecond", "1,497.57"),
        ("GPU Speed Of Light", "SM Frequency", "cycle/nsecond", "1.44"),
        ("Command line profiler metrics", "sm__inst_executed.sum", "inst", "161,038"),
        ("Command line profiler metrics", stall, "%", "40.5"),
    )
    launch = (
        "0",
        "4711",
        "a.out",
        "127.0.0.1",
        "void gemm<float>(float const*, int)",
        "",
        "1",
        "7",
    )
    table = [columns, *((*launch, *row) for row in rows)]
    lines = [",".join(f'"{cell}"' for cell in row) for row in table]
    return "==PROF== Connected to process 4711\n" + "\n".join(lines) + "\n"


def test_the_details_page_of_an_old_version_is_read(tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    path.write_text(old_page())
    reading = read_counters(str(path), "gemm")
    facts = {fact.name: fact.value for fact in reading.facts}
    assert facts["counters.throughput.compute"] == pytest.approx(0.615)
    assert facts["counters.throughput.memory"] == pytest.approx(0.2025)
    assert facts["counters.duration_ms"] == pytest.approx(1.49757)
    assert facts["counters.sm_clock_ghz"] == pytest.approx(1.44)
    assert facts["counters.instructions"] == 161_038
    assert facts["counters.stall.long_scoreboard"] == pytest.approx(0.405)


def test_what_a_report_lacks_is_missing_and_not_zero(tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    path.write_text(old_page())
    reading = read_counters(str(path))
    missing = {gap.name: gap.because for gap in reading.missing}
    assert "counters.dram_bytes" in missing
    assert "counters.dram_bytes" not in {fact.name for fact in reading.facts}
    assert "has none of" in missing["counters.dram_bytes"]


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("saxpy", "saxpy"),
        ("void blas::scale<float, 4>(float*, float, int)", "scale"),
        ("read_all(const float4 *, unsigned long, float *)", "read_all"),
        ("", ""),
    ],
)
def test_names_lose_types_and_arguments(name: str, base: str) -> None:
    assert kernel_base(name) == base


# Faults


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"hello\n", "this is no CSV page of Nsight Compute"),
        (b"", "this is no CSV page of Nsight Compute"),
        (b"\xff\xfe\x00", "neither an .ncu-rep report nor CSV text"),
        (b'"ID","Kernel Name","a__b.sum"\n', "the page has no launch"),
        (b'"ID","Kernel Name","a__b.sum"\n"",""\n"0","k","1"\n', "row of units is cut off"),
        (b'"ID","Kernel Name","a__b.sum"\n"","","%"\n"0","k"\n', "2 fields, where the first row"),
    ],
)
def test_faulty_files_are_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(KneckError, match=words) as caught:
        read_counters(str(path))
    assert caught.value.place is not None and caught.value.help


def test_a_missing_file_and_a_false_report_are_refused(tmp_path: Path) -> None:
    with pytest.raises(KneckError, match="no such file"):
        read_counters(str(tmp_path / "none.csv"))
    path = tmp_path / "x.ncu-rep"
    path.write_bytes(b"text")
    with pytest.raises(KneckError, match="this is no report of Nsight Compute"):
        read_counters(str(path))


def test_without_the_package_a_report_ends_with_status_3(
    reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ncu_report", None)
    with pytest.raises(MissingProgramError, match="ncu-report") as caught:
        read_counters(str(reports / "hgemm.ncu-rep"))
    assert caught.value.exit_status == 3
    assert "kneck[ncu]" in (caught.value.help or "") and "--csv" in (caught.value.help or "")


def test_a_report_of_a_newer_version_says_what_to_update() -> None:
    def fails(path: str) -> None:
        raise RuntimeError("unsupported version")

    package = SimpleNamespace(load_report=fails)
    with pytest.raises(KneckError, match="cannot be read: unsupported version") as caught:
        read_rep("x.ncu-rep", package)
    assert "pip install -U ncu-report" in (caught.value.help or "")


def test_a_report_is_read_through_the_package_s_own_calls() -> None:
    class Metric:
        def __init__(self, value: Any, unit: str = "", instances: dict[str, int] | None = None):
            self._value, self._unit, self._instances = value, unit, instances or {}

        def value(self) -> Any:
            return self._value

        def unit(self) -> str:
            return self._unit

        def has_correlation_ids(self) -> bool:
            return bool(self._instances)

        def num_instances(self) -> int:
            return len(self._instances)

        def correlation_ids(self) -> Any:
            names = list(self._instances)
            return SimpleNamespace(
                as_string=lambda i: names[i], as_uint64=lambda i: int(names[i], 16)
            )

        def as_uint64(self, i: int) -> int:
            return list(self._instances.values())[i]

    metrics = {
        "gpu__time_duration.sum": Metric(500_000.0, "ns"),
        "launch__block_dim_x": Metric(64),
        "launch__block_dim_y": Metric(2),
        "launch__block_dim_z": Metric(1),
        "device__attribute_display_name": Metric("NVIDIA H200"),
        "broken": Metric(float("nan"), "%"),
        "sass__inst_executed_per_opcode": Metric(7, "inst", {"FFMA": 5, "EXIT": 2}),
        "inst_executed": Metric(7, "inst", {"0x110": 2, "0x100": 5}),
        "smsp__pcsamp_warps_issue_stalled_wait": Metric(3, "warp", {"0x100": 3}),
        "smsp__pcsamp_warps_issue_stalled_wait_not_issued": Metric(1, "warp", {"0x100": 1}),
    }
    action = SimpleNamespace(
        NameBase_DEMANGLED=1,
        name=lambda base: "gemm(float)",
        metric_names=lambda: list(metrics),
        metric_by_name=metrics.get,
        sass_by_pc=lambda pc: "  FFMA R0, R0, R0, R0" if pc == 0x100 else "  EXIT",
    )
    (launch,) = read_rep("x.ncu-rep", SimpleNamespace(load_report=lambda path: [[action]]))
    assert launch.kernel == "gemm(float)" and launch.block == (64, 2, 1) and launch.grid is None
    assert launch.metrics["gpu__time_duration.sum"] == 500_000 and "broken" not in launch.metrics
    assert launch.texts == {"device__attribute_display_name": "NVIDIA H200"}
    assert launch.opcodes == {"FFMA": 5, "EXIT": 2}
    assert [(row.offset, row.executed, row.samples) for row in launch.rows] == [
        (0, 5, 3),
        (16, 2, 0),
    ]


def test_a_source_page_without_counts_gives_no_counts(reports: Path) -> None:
    launch = read_launches(str(reports / "several.source.csv"))[0]
    assert launch.rows and launch.opcodes == {} and launch.metrics == {}


def test_every_formula_of_the_table_is_unique_and_has_a_meaning() -> None:
    table = counter_table()
    names = [entry.name for entry in table.facts]
    assert len(names) == len(set(names)) > 60
    assert all(entry.meaning and entry.formulas for entry in table.facts)
    metrics = {name for entry in table.facts for f in entry.formulas for name in f.names}
    unused = {metric for metric in table.labels.values() if metric not in metrics}
    assert not unused


def test_the_three_pages_are_recognized_whatever_stands_before_them(reports: Path) -> None:
    for page in PAGES:
        text = "==PROF== Connected\n\n" + (reports / f"hgemm.{page}").read_text()
        assert len(read_csv(text, page, {})) == 1
