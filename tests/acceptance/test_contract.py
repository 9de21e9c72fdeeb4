"""What users and other programs may rely on: the JSON, the command line, the Python functions."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kneck
from kneck.engine.assemble import assemble
from kneck.engine.diagnosis import MixRow
from kneck.engine.extraction import Extraction
from kneck.engine.infer import infer
from kneck.engine.knowledge import load_setting
from kneck.engine.session import _subject, gather
from kneck.facts.model import FactBase
from kneck.facts.request import Request
from kneck.parsers import tools

from .cases import KERNELS, ROOT, cubin, diagnosed, options, run, value

NUMBER = (int, float, type(None))
TEXT = (str, type(None))
CLAIM = (bool, type(None))

# The document of docs and contract: key -> type, a tuple of types, or a nested document; a list
# holds what each of its elements looks like.
TREE: dict[str, Any] = {"rule": str, "file": str, "status": str, "conditions": list}
FACT = {"name": str, "value": (bool, int, float, str), "unit": str, "source": dict}
DOCUMENT: dict[str, Any] = {
    "schema": str,
    "tool": {
        "version": str, "kb": [{"path": str, "hash": str}], "input_hash": str, "command": str,
    },
    "kernel": {"name": str, "demangled": str, "arch": str, "source": str},
    "launch": {
        "grid": (list, type(None)), "block": (list, type(None)), "dynamic_smem": NUMBER,
        "threads": NUMBER, "warps": NUMBER, "waves": NUMBER,
    },
    "device": {"id": TEXT, "name": TEXT, "arch": TEXT, "peaks_basis": str},
    "baseline": {
        "time_ms": NUMBER, "time_source": TEXT, "problem": TEXT, "flops": NUMBER, "bytes": NUMBER,
        "gflops": NUMBER, "gb_per_s": NUMBER, "expected_fraction": NUMBER,
    },
    "roofline": {
        "arithmetic_intensity": NUMBER, "balance_point": NUMBER, "precision": TEXT, "side": str,
        "attained_fraction": NUMBER, "peak_gflops": NUMBER, "peak_gb_per_s": NUMBER,
    },
    "bound": str,
    "bound_detail": {
        "resource": TEXT, "cause": TEXT, "predicted": bool, "confidence": str,
        "unexplained_share": NUMBER, "reasons": [str],
    },
    "bounds": [
        {"resource": str, "class": str, "time_ms": NUMBER, "share": NUMBER, "basis": str}
    ],
    "occupancy": {
        "registers_per_thread": NUMBER, "threads_per_block": NUMBER, "static_smem": NUMBER,
        "dynamic_smem": NUMBER, "warps_per_block": NUMBER,
        "block_limits": {
            "registers": NUMBER, "smem": NUMBER, "warps": NUMBER, "blocks": NUMBER,
            "barriers": NUMBER,
        },
        "blocks_per_sm": NUMBER, "active_warps": NUMBER, "theoretical_occupancy": NUMBER,
        "limiters": [str], "sufficient_to_hide_latency": CLAIM,
    },
    "tile": {
        "loop": {
            "first": str, "last": str, "depth": int, "instructions": int, "chosen_because": str,
        },
        "compute_op": TEXT, "compute_ops": NUMBER, "load_ops": NUMBER, "load_bytes": NUMBER,
        "ratio": NUMBER, "class": str, "flops_per_byte": NUMBER, "cp_async": str,
        # beyond the contract: both currencies of the ratio, and which of them decided
        "cp_async_by_ratio": str, "cp_async_by_bytes": str, "cp_async_decided_by": str,
        "cp_async_because": str, "copies": str,
    },
    "mix": [
        {
            "mnemonic": str, "opcode": str, "count": int, "in_loop": NUMBER, "executed": NUMBER,
            "stalls": (dict, type(None)), "note": str,
        }
    ],
    "stalls": [
        {
            "mnemonic": str, "stall": int, "count": int, "independent": NUMBER,
            "required": NUMBER, "reducible_cycles": NUMBER,
        }
    ],
    "smem": {
        "per_block": NUMBER, "cliff": NUMBER, "over_cliff": CLAIM, "blocks_per_sm": NUMBER,
        "cliffs": dict, "doubled": {"per_block": NUMBER, "blocks_per_sm": NUMBER},
    },
    "strategies": [
        {
            "id": str, "title": str, "action": str, "rank": int,
            "gain": {"low": NUMBER, "high": NUMBER, "basis": str}, "status": str,
            "limited_by": TEXT, "conflicts": [str], "unlocks": [str], "evidence": [str],
            "experiment": TEXT, "wrong_when": [str], "file": str, "why": TREE,
        }
    ],
    "not_chosen": [
        {
            "id": str, "title": str, "unknown": [str],
            "why_not": [
                {
                    "condition": str, "fact": str, "needed": str, "margin": NUMBER,
                    "value": (bool, int, float, str, type(None)),
                }
            ],
        }
    ],
    "pitfalls": [{"id": str, "title": str, "severity": str, "why": TREE}],
    "conflicts": [{"between": [str], "kind": str, "because": str}],
    "plan": {"strategies": [str], "gain": {"low": NUMBER, "high": NUMBER}},
    "missing": [{"fact": str, "would_decide": [str], "how": str}],
    "checklist": [{"step": str, "done": bool, "missing": [str]}],
    "limits": [{"id": str, "text": str}],
    "facts": [FACT],
}  # fmt: skip

CHOICES = {
    "bound": {"compute", "memory", "latency", "unknown"},
    "roofline.side": {"memory", "compute", "unknown"},
    "bound_detail.confidence": {"high", "medium", "low", "unknown"},
    "tile.class": {"high", "medium", "low", "unknown"},
    "tile.cp_async": {"beneficial", "neutral", "detrimental", "unknown"},
    "bounds[].class": {"compute", "memory"},
    "strategies[].gain.basis": {"model", "evidence", "ceiling"},
    "pitfalls[].severity": {"error", "warning", "note"},
    "conflicts[].kind": {"conflicts", "enables", "supersedes", "competes"},
}


def faults(found: Any, wanted: Any, path: str = "") -> list[str]:
    """Name every place where a document differs from its description."""
    if isinstance(wanted, dict):
        if not isinstance(found, dict):
            return [f"{path}: {type(found).__name__} is no object"]
        if list(found) != list(wanted) and set(found) != set(wanted):
            return [f"{path}: keys {sorted(set(found) ^ set(wanted))}"]
        return [
            fault
            for key, part in wanted.items()
            for fault in faults(found[key], part, f"{path}.{key}".lstrip("."))
        ]
    if isinstance(wanted, list):
        if not isinstance(found, list):
            return [f"{path}: {type(found).__name__} is no list"]
        return [fault for part in found for fault in faults(part, wanted[0], f"{path}[]")]
    types = wanted if isinstance(wanted, tuple) else (wanted,)
    if isinstance(found, bool) and bool not in types:
        return [f"{path}: {found}"]
    if not isinstance(found, types):
        return [f"{path}: {found!r} is no {wanted}"]
    if path in CHOICES and found not in CHOICES[path]:
        return [f"{path}: {found!r}"]
    return []


def listing_of(id: str, arch: str = "sm_86") -> str:
    """Give the text of a test kernel as `cuobjdump -sass` prints it."""
    command = [tools.find_tool("cuobjdump").path, "-sass", str(cubin(id, arch))]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def disassembly_of(id: str, *flags: str) -> str:
    """Give the text of a test kernel as `nvdisasm -c` prints it."""
    command = [tools.find_tool("nvdisasm").path, "-c", *flags, str(cubin(id))]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def as_architecture(listing: str, arch: str) -> str:
    """Rename the architecture of a listing."""
    upper = arch.replace("_", "").upper()
    return listing.replace("sm_86", arch).replace("SM86", upper)


# JSON


@pytest.mark.parametrize(
    "id", ["saxpy", "hgemm_30k", "hgemm_over_cliff", "igemm", "switch_brx", "histogram_shared"]
)
def test_the_json_has_the_keys_and_types_of_the_contract(id: str) -> None:
    document = json.loads(diagnosed(id).to_json())
    description = dict(DOCUMENT)
    if document["tile"] is None:
        description["tile"] = type(None)
    assert faults(document, description) == []
    assert list(document) == list(DOCUMENT)


def test_a_kernel_without_a_loop_has_no_tile_and_unknown_counts() -> None:
    document = json.loads(diagnosed("saxpy").to_json())
    assert document["tile"] is None
    assert {row["in_loop"] for row in document["mix"]} == {None}


def test_what_is_not_known_is_null_and_never_zero() -> None:
    document = json.loads(kneck.infer(str(cubin("igemm"))).to_json())
    assert faults(document, DOCUMENT) == []
    assert document["launch"] == {
        "grid": None, "block": None, "dynamic_smem": None, "threads": None, "warps": None,
        "waves": None,
    }  # fmt: skip
    baseline = dict(document["baseline"])
    assert set(baseline.values()) == {None}
    assert document["bound"] == document["roofline"]["side"] == "unknown"
    assert document["occupancy"]["blocks_per_sm"] is None
    assert document["occupancy"]["registers_per_thread"] == 70
    assert document["smem"]["over_cliff"] is None
    missing = {gap["fact"]: gap["how"] for gap in document["missing"]}
    assert missing["launch.block"] == "--block"
    assert missing["baseline.flops"] == "--problem"


def test_what_is_missing_comes_cheapest_first_and_names_what_it_would_decide() -> None:
    gaps = kneck.infer(str(cubin("igemm"))).missing
    facts = [gap.fact for gap in gaps]
    assert facts.index("launch.block") < facts.index("baseline.warmup_launches")
    assert all(gap.would_decide and gap.how for gap in gaps)


def test_every_number_has_a_source_that_leads_back_to_an_input() -> None:
    diagnosis = diagnosed("hgemm_30k")
    known = {row.name for row in diagnosis.facts}
    for row in diagnosis.facts:
        assert row.source["detail"], row.name
        if row.source["kind"] == "derived":
            inputs = row.source["inputs"]
            assert inputs and set(inputs) <= known, row.name


def test_the_checklist_of_the_method_says_what_was_done_and_what_is_missing() -> None:
    done = diagnosed("hgemm_30k").checklist
    assert len(done) == 8
    assert all(item.done and not item.missing for item in done)
    bare = kneck.infer(str(cubin("hgemm_30k"))).checklist
    assert "baseline.time_ms" in bare[0].missing and not bare[0].done


# Peaks


@pytest.mark.parametrize(
    ("id", "precision", "balance"),
    [
        ("saxpy", "fp32_ffma", 35.7),
        ("hgemm_large_tile", "fp16_tensor_fp32acc", 286.2),
        ("igemm", "int8_tensor", 1144.7),
    ],
)
def test_the_published_peaks_give_the_methods_own_balance_points(
    id: str, precision: str, balance: float
) -> None:
    diagnosis = diagnosed(id, gpu="rtx-3070-ti", peaks="published")
    assert diagnosis.roofline.precision == precision
    assert diagnosis.device.peaks_basis == "published"
    assert diagnosis.roofline.balance_point is not None
    assert round(diagnosis.roofline.balance_point, 1) == balance
    assert f"balance point {balance:,}" in diagnosis.to_text()
    assert f"Balance point: {balance:,}" in diagnosis.to_markdown()


def test_without_an_option_the_dense_peak_of_the_accumulator_judges() -> None:
    diagnosis = diagnosed("hgemm_large_tile")
    assert diagnosis.device.peaks_basis == "dense"
    peak = diagnosis.roofline.peak_gflops
    assert peak is not None and round(peak / 1000, 1) == 43.5


# Devices and architectures


def test_without_gpu_the_default_device_judges_where_it_can_run_the_code() -> None:
    assert diagnosed("saxpy").device.id == "rtx-3070-ti"
    elsewhere = diagnosed("saxpy", "sm_90")
    assert elsewhere.device.id is None
    assert elsewhere.occupancy.blocks_per_sm == 8  # limits come from the code's architecture
    assert elsewhere.bound == "unknown"
    assert {gap.how for gap in elsewhere.missing if gap.fact.startswith("device.")} == {"--gpu"}


@pytest.mark.parametrize("arch", ["sm_88", "sm_110"])
def test_an_architecture_without_a_file_is_read_and_its_limits_are_named_as_missing(
    arch: str, tmp_path: Path
) -> None:
    text = tmp_path / "kernel.sass"
    text.write_text(as_architecture(listing_of("hgemm_30k"), arch))
    log = tmp_path / "kernel.log"
    log.write_text(cubin("hgemm_30k").with_suffix(".log").read_text().replace("sm_86", arch))
    diagnosis = kneck.infer(str(text), block=128, dynamic_smem=0, resources=str(log))
    assert diagnosis.kernel.arch == arch
    assert diagnosis.occupancy.registers_per_thread == 118
    assert diagnosis.occupancy.blocks_per_sm is None
    assert diagnosis.smem.cliff is None and diagnosis.smem.cliffs == {}
    assert diagnosis.tile is not None and diagnosis.tile.ratio == 4
    assert "arch.max_warps_per_sm" in [gap.fact for gap in diagnosis.missing]


def test_adding_an_architecture_is_adding_one_file(tmp_path: Path) -> None:
    folder = tmp_path / "mine" / "architectures"
    folder.mkdir(parents=True)
    shipped = (ROOT / "kb" / "architectures" / "sm_86.yaml").read_text(encoding="utf-8")
    own = shipped.replace("arch: sm_86", "arch: sm_99").replace('"8.6"', '"9.9"')
    own = own.replace("smem_bytes_per_sm: 102400", "smem_bytes_per_sm: 204800")
    own = own.replace("[0, 8, 16, 32, 64, 100]", "[0, 8, 16, 32, 64, 200]")
    (folder / "sm_99.yaml").write_text(own, encoding="utf-8")
    text = tmp_path / "kernel.sass"
    text.write_text(as_architecture(listing_of("hgemm_30k"), "sm_99"))
    log = tmp_path / "kernel.log"
    log.write_text(cubin("hgemm_30k").with_suffix(".log").read_text().replace("sm_86", "sm_99"))
    given: dict[str, Any] = {"block": 128, "dynamic_smem": 0, "resources": str(log)}
    assert kneck.infer(str(text), **given).occupancy.blocks_per_sm is None
    diagnosis = kneck.infer(str(text), kb=str(tmp_path / "mine"), **given)
    assert diagnosis.occupancy.blocks_per_sm == 4  # by registers: shared memory is doubled
    assert diagnosis.smem.cliff == 204_800 // 2 - 1024
    mine = diagnosis.fact("arch.smem_bytes_per_sm")
    assert mine is not None and "mine/architectures/sm_99.yaml:" in str(mine.source["detail"])
    done = run("occupancy", "--arch", "sm_99", "--registers", "118", "--block", "128",
               "--smem", "30720", "--kb", tmp_path / "mine")  # fmt: skip
    assert done.out.startswith("sm_99: 4 blocks/SM")
    assert run("kb", "check", tmp_path / "mine").status == 0


# Python


def test_infer_in_python_is_infer_on_the_command_line() -> None:
    target = str(cubin("hgemm_30k"))
    diagnosis = kneck.infer(
        target,
        gpu="rtx-3070-ti",
        problem="gemm:M=4096,N=4096,K=3072,dtype=f16",
        grid=(64, 64),
        block=128,
        time_ms=5.2,
    )
    line = ("infer", target, "--gpu", "rtx-3070-ti", "--grid", "64,64", "--block", "128",
            "--problem", "gemm:M=4096,N=4096,K=3072,dtype=f16", "--time-ms", "5.2")  # fmt: skip
    document = json.loads(run(*line, "--format", "json").out)
    own = diagnosis.to_dict()
    del document["tool"]["command"], own["tool"]["command"]
    assert document == json.loads(json.dumps(own))
    assert run(*line).out == diagnosis.to_text()
    assert run(*line, "--format", "markdown").out == diagnosis.to_markdown()
    assert (diagnosis.bound, diagnosis.strategies[0].id) == ("latency", "cp-async-pipelining")


@pytest.mark.parametrize(
    ("arch", "registers", "threads", "smem", "barriers", "blocks"),
    [
        ("sm_86", 64, 256, 8192, 1, 4),
        ("sm_86", 32, 128, 50_176, 1, 2),
        ("sm_86", 32, 128, 50_177, 1, 1),
        ("sm_86", 85, 256, 0, 1, 2),
        ("sm_86", 65, 928, 0, 1, 0),
        ("sm_90", 32, 128, 0, 16, 4),
    ],
)
def test_occupancy_in_python(
    arch: str, registers: int, threads: int, smem: int, barriers: int, blocks: int
) -> None:
    found = kneck.occupancy(
        arch, registers=registers, threads=threads, static_smem=smem, barriers=barriers
    )
    assert found.blocks_per_sm == blocks
    assert found.active_warps == blocks * -(-threads // 32)
    assert set(found.block_limits) == {"registers", "smem", "warps", "blocks", "barriers"}
    assert found.limiters or not blocks


def test_parse_sass_in_python() -> None:
    listing = kneck.parse_sass(listing_of("hgemm_30k"))
    (function,) = listing.functions
    assert (function.name, function.arch) == ("hgemm_30k", "sm_86")
    hmma = next(i for i in function.instructions if i.opcode == "HMMA")
    assert (hmma.mnemonic, hmma.address, hmma.predicate) == ("HMMA.16816.F32", 0x930, None)
    assert len(hmma.operands) == 4
    assert hmma.control is not None
    control = hmma.control
    assert 0 <= control.stall < 16
    names = ("yield_", "write_barrier", "read_barrier", "wait_mask", "reuse")
    assert all(hasattr(control, name) for name in names)
    bare = kneck.parse_sass(disassembly_of("hgemm_30k"))
    assert {i.control for i in bare.functions[0].instructions} == {None}


def test_parse_resources_in_python() -> None:
    log = cubin("hgemm_30k").with_suffix(".log").read_text(encoding="utf-8")
    (record,) = kneck.parse_resources(log)
    assert (record.name, record.arch, record.is_entry) == ("hgemm_30k", "sm_86", True)
    assert (record.registers, record.static_smem, record.barriers) == (118, 30_720, 1)
    assert (record.stack, record.spill_stores, record.spill_loads) == (0, 0, 0)
    assert record.constant == 388


def test_an_error_in_python_carries_what_where_and_the_next_step() -> None:
    with pytest.raises(kneck.KneckError) as raised:
        kneck.infer("nothing.cubin")
    error = raised.value
    assert (error.what, error.exit_status) == ("no such file", 2)
    assert str(error.place) == "nothing.cubin"
    assert error.help
    with pytest.raises(TypeError):
        kneck.infer("nothing.cubin", blok=3)


# The command line


def test_fail_on_a_condition_that_holds_exits_with_1_after_the_report(tmp_path: Path) -> None:
    target = cubin("hgemm_30k")
    output = tmp_path / "report.json"
    args = ("infer", target, "--block", "128", "--format", "json", "-o", output)
    assert run(*args, "--fail-on", "occupancy.blocks_per_sm < 4").status == 1
    assert json.loads(output.read_text())["occupancy"]["blocks_per_sm"] == 3
    assert run(*args, "--fail-on", "occupancy.blocks_per_sm < 3").status == 0
    assert run(*args, "--fail-on", "roofline.precision == fp16_tensor_fp32acc").status == 1


def test_fail_on_a_wrong_condition_prints_nothing() -> None:
    done = run("infer", cubin("saxpy"), "--fail-on", "nothing > 1")
    assert (done.status, done.out) == (2, "")


@pytest.mark.parametrize("format", ["text", "markdown", "json", "html"])
def test_a_report_goes_to_a_file_as_it_goes_to_the_terminal(format: str, tmp_path: Path) -> None:
    output = tmp_path / "report"
    args = ("infer", "example:hgemm-30k", "--format", format)
    printed = run(*args)
    written = run(*args, "-o", output)
    assert (printed.status, written.status, written.out) == (0, 0, "")
    assert output.read_text(encoding="utf-8") == printed.out
    assert len(printed.out) > 1000
    assert list(tmp_path.iterdir()) == [output]


def test_an_output_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    output = tmp_path / "report.txt"
    output.write_text("x" * 100_000)
    run("infer", "example:saxpy", "-o", output)
    assert output.read_text() == run("infer", "example:saxpy").out


def test_what_the_user_gives_goes_before_what_an_example_brings() -> None:
    document = json.loads(run("infer", "example:saxpy", "--time-ms", "1.5", "--format", "json").out)
    assert document["baseline"]["time_ms"] == 1.5
    assert document["launch"]["block"] == [256, 1, 1]


def test_a_listing_on_standard_input_is_read_with_and_without_encodings() -> None:
    for text, encoded in [
        (listing_of("igemm"), True),
        (disassembly_of("igemm", "-hex"), True),
        (disassembly_of("igemm"), False),
    ]:
        done = run("infer", "-", "--format", "json", stdin=text)
        document = json.loads(done.out)
        assert document["kernel"]["name"] == "igemm"
        assert document["kernel"]["source"] == "-"
        assert document["tile"]["ratio"] == 4
        limits = [limit["id"] for limit in document["limits"]]
        assert ("no-encodings" in limits) is not encoded
        (imma,) = [row for row in document["mix"] if row["opcode"] == "IMMA"]
        assert (imma["stalls"] is not None) is encoded
        assert bool(document["stalls"]) is encoded


@pytest.mark.parametrize("id", ["saxpy", "hgemm_30k", "igemm", "sgemm_load_loop", "nbody"])
def test_text_and_cubin_give_the_same_facts(id: str, tmp_path: Path) -> None:
    given = options(id)
    del given["args"]  # where parameters stand is known from a cubin only
    whole = kneck.infer(str(cubin(id)), **given)
    whole_facts = {row.name: row.value for row in whole.facts}
    from_code = {row.name for row in whole.facts if row.source["kind"] == "sass"}
    assert len(from_code) > 30
    for kind, text in [("cuobjdump", listing_of(id)), ("nvdisasm", disassembly_of(id, "-hex"))]:
        target = tmp_path / f"{kind}.sass"
        target.write_text(text)
        read = kneck.infer(str(target), **given)
        assert (static(read.mix), read.stalls, read.tile) == (
            static(whole.mix),
            whole.stalls,
            whole.tile,
        )
        facts = {row.name: row.value for row in read.facts}
        told = {row.name for row in read.facts if row.source["kind"] == "sass"}
        assert {name: facts[name] for name in told} == {name: whole_facts[name] for name in told}
        assert from_code <= set(facts)
        assert "occupancy.registers_per_thread" not in facts


def static(mix: list[MixRow]) -> list[tuple[object, ...]]:
    """Leave out how often rows ran: literals in constant memory are known from a cubin only."""
    return [(row.mnemonic, row.count, row.in_loop, row.stalls) for row in mix]


def test_text_with_its_resource_log_gives_the_verdict_of_the_cubin(tmp_path: Path) -> None:
    text = tmp_path / "kernel.sass"
    text.write_text(listing_of("hgemm_30k"))
    log = cubin("hgemm_30k").with_suffix(".log")
    read = kneck.infer(str(text), **options("hgemm_30k", resources=str(log)))
    own = diagnosed("hgemm_30k")
    assert read.occupancy == own.occupancy
    assert (read.bound, read.plan, read.conflicts) == (own.bound, own.plan, own.conflicts)


def test_an_option_that_changes_a_fact_is_inferred_again() -> None:
    diagnosis = diagnosed("hgemm_30k", what_if=["smem.per_block=61440"])
    assert "over-smem-cliff" in [pitfall.id for pitfall in diagnosis.pitfalls]
    fact = diagnosis.fact("smem.per_block")
    assert fact is not None and fact.source["kind"] == "what-if"
    assert fact.source["detail"] == "smem.per_block=61440 instead of 30720"
    assert diagnosis.occupancy.blocks_per_sm == 1


# Why and why not


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the 30 KB kernel's diagnosis as a file."""
    path = tmp_path_factory.mktemp("saved") / "hgemm_30k.json"
    path.write_text(diagnosed("hgemm_30k").to_json(), encoding="utf-8")
    return path


def explained(saved: Path, *args: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(
        run("explain", *args, "--from", saved, "--format", "json").out
    )
    return document


def test_what_was_chosen_is_explained_down_to_addresses_and_citations(saved: Path) -> None:
    text = run("explain", "cp-async-pipelining", "--from", saved).out
    for part in (
        "cp-async-pipelining: fired, measured    kb/strategies/cp-async-pipelining.yaml",
        "set by latency-bound: fired",
        "tile.load_bytes = 192 B    [sass: 0x0640 0x0650",
        "method.saturation_fraction = 0.6    [kb: kb/method.yaml:",
        "baseline.time_ms = 5.2 ms    [option: --time-ms 5.2]",
        "arch.has_async_copy = true    [kb: kb/architectures/sm_86.yaml:",
        "Gain        +",
        "Isolate",
    ):
        assert part in text, part


def test_what_was_not_chosen_is_explained_down_to_its_margin(saved: Path) -> None:
    failed = explained(saved, "shrink-smem-tile")["why_not"]["failed"]
    warps = next(row for row in failed if row["fact"] == "occupancy.active_warps")
    assert warps["value"] == 12
    assert warps["needed"] == "< 8 (arch.min_warps_for_latency)"
    assert (warps["margin"], round(warps["relative_margin"], 3)) == (4, 0.333)
    text = run("explain", "shrink-smem-tile", "--from", saved).out
    assert "off by 4 (33 %)" in text
    assert "with smem.per_block = 50,177, occupancy.active_warps = 7 it fires" in text


@pytest.mark.parametrize(
    ("rule", "fact", "found", "needed", "margin"),
    [
        ("shrink-smem-tile", "smem.per_block", 30_720, "> 50,176 (smem.cliff)", 19_456),
        ("raise-occupancy", "occupancy.active_warps", 12, "< 8 (arch.min_warps_for_latency)", 4),
        (
            "tensor-tile-reuse",
            "bounds.compute.share",
            0.456,
            ">= 0.6 (method.saturation_fraction)",
            0.144,
        ),
    ],
)
def test_the_diagnosis_itself_says_why_not_with_value_need_and_margin(
    rule: str, fact: str, found: float, needed: str, margin: float
) -> None:
    diagnosis = diagnosed("hgemm_30k")
    (entry,) = [entry for entry in diagnosis.not_chosen if entry.id == rule]
    row = next(row for row in entry.why_not if row.fact == fact)
    assert isinstance(row.value, (int, float)) and row.margin is not None
    assert (round(row.value, 3), row.needed, round(row.margin, 3)) == (found, needed, margin)


def test_what_a_rule_that_fired_keeps_away_is_explained_by_that_rules_condition(
    tmp_path: Path,
) -> None:
    diagnosis = diagnosed("hgemm_over_cliff")
    (entry,) = [entry for entry in diagnosis.not_chosen if entry.id == "cp-async-pipelining"]
    first, behind = entry.why_not
    assert (first.fact, first.value, first.needed) == ("smem.over_cliff", True, "== false")
    assert (behind.fact, behind.value) == ("smem.per_block", 61_440)
    assert (behind.needed, behind.margin) == ("<= 50,176 (smem.cliff)", 11_264)
    path = tmp_path / "saved.json"
    path.write_text(diagnosis.to_json(), encoding="utf-8")
    text = run("explain", "cp-async-pipelining", "--from", path).out
    assert "with smem.per_block = 50,176 it fires" in text


def test_a_rule_that_lacks_a_fact_names_it(saved: Path) -> None:
    document = explained(saved, "no-warm-up")
    assert document["state"] == "undecided"
    assert document["why_not"]["unknown"] == ["baseline.warmup_launches"]


def test_the_overview_names_every_strategy_and_pitfall_with_its_state(saved: Path) -> None:
    overview = explained(saved)
    states = {row["id"]: row.get("state", "fired") for row in overview["fired"]}
    states |= {row["id"]: row["state"] for row in overview["not_fired"]}
    assert states["cp-async-pipelining"] == "fired"
    assert states["shrink-smem-tile"] == "silent"
    assert states["no-warm-up"] == "undecided"
    shipped = load_setting(Request(target="")).knowledge.rules
    assert set(states) == {rule.id for rule in shipped if rule.kind in ("strategy", "pitfall")}


def test_explain_what_if_says_what_would_change(saved: Path) -> None:
    document = explained(saved, "--what-if", "smem.per_block=61440")
    facts = {row["name"]: (row["before"], row["after"]) for row in document["facts"]}
    assert facts["occupancy.blocks_per_sm"] == (3, 1)
    rules = {row["id"]: (row["before"], row["after"]) for row in document["rules"]}
    assert rules["over-smem-cliff"] == ("silent", "fired")
    assert rules["cp-async-pipelining"] == ("fired", "silent")


def test_the_last_diagnosis_is_explained_without_naming_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KNECK_CACHE_DIR", str(tmp_path))
    run("infer", "example:igemm")
    assert run("explain", "cp-async-pipelining").out.startswith("Overlap global loads")
    run("infer", "example:saxpy")
    assert "silent" in run("explain", "cp-async-pipelining").out


def test_the_30_kb_kernel_shows_the_edge_that_doubling_derives() -> None:
    diagnosis = diagnosed("hgemm_30k")
    assert diagnosis.smem.per_block == 30_720
    assert diagnosis.smem.doubled == {"per_block": 61_440, "blocks_per_sm": 1}
    (edge,) = [edge for edge in diagnosis.conflicts if "over-smem-cliff" in edge.between]
    assert edge.between == ["cp-async-pipelining", "over-smem-cliff"]
    assert edge.kind == "conflicts"
    assert edge.because.startswith("smem.per_block 30,720 -> 61,440 B: ")
    assert "occupancy.blocks_per_sm 3 -> 1" in edge.because
    assert edge.because.endswith("over-smem-cliff fires")
    (strategy,) = [s for s in diagnosis.strategies if s.id == "cp-async-pipelining"]
    assert "over-smem-cliff" in strategy.conflicts


# The same question, the same answer


def shuffled(extraction: Extraction, seed: int) -> FactBase:
    """Give the same facts and gaps in another order."""
    order = random.Random(seed)
    facts, gaps = list(extraction.facts.facts.values()), list(extraction.facts.missing.values())
    order.shuffle(facts)
    order.shuffle(gaps)
    return FactBase({f.name: f for f in facts}, {gap.name: gap for gap in gaps})


@pytest.mark.parametrize("id", ["hgemm_30k", "hgemm_over_cliff"])
def test_the_order_of_the_facts_does_not_matter(id: str) -> None:
    given = options(id)
    given["grid"] = ",".join(map(str, given["grid"]))
    given["block"] = ",".join(map(str, given["block"]))
    request = Request(target=str(cubin(id)), **given)
    setting = load_setting(request)
    extraction = gather(request, setting)
    texts = {
        assemble(
            _subject(extraction, setting),
            infer(shuffled(extraction, seed), setting.knowledge),
            extraction.derivations,
        ).to_json()
        for seed in range(6)
    }
    assert len(texts) == 1


def test_two_hash_seeds_give_the_same_json_byte_for_byte() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-m", "kneck", "infer", "example:hgemm-30k", "--format", "json"],
            env={**os.environ, "PYTHONHASHSEED": seed, "KNECK_CACHE_DIR": cache},
            capture_output=True,
            check=True,
        ).stdout
        for seed, cache in [("1", "off"), ("2", "off"), ("3", os.environ["KNECK_CACHE_DIR"])]
    }
    assert len(outputs) == 1


def test_a_cached_analysis_gives_the_same_json_as_a_fresh_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KNECK_CACHE_DIR", "off")
    fresh = diagnosed("sgemm_load_loop").to_json()
    monkeypatch.setenv("KNECK_CACHE_DIR", str(tmp_path))
    assert diagnosed("sgemm_load_loop").to_json() == fresh
    assert diagnosed("sgemm_load_loop").to_json() == fresh
    other = diagnosed("sgemm_load_loop", block=(64, 4, 1))
    assert other.launch.block == [64, 4, 1]
    monkeypatch.setenv("KNECK_CACHE_DIR", "off")
    assert diagnosed("sgemm_load_loop", block=(64, 4, 1)).to_json() == other.to_json()


def test_memory_is_flat_after_the_first_hundred_diagnoses() -> None:
    script = ROOT / "tests" / "benchmarks" / "many_diagnoses.py"
    done = subprocess.run(
        [sys.executable, str(script), "250"], capture_output=True, text=True, check=True
    )
    rows = json.loads(done.stdout)
    assert rows[-1]["diagnoses"] == 250
    first = next(row["kib"] for row in rows if row["diagnoses"] == 100)
    assert rows[-1]["kib"] - first < 2048, rows


def test_a_fact_is_named_by_its_path_in_the_json() -> None:
    diagnosis = diagnosed("hgemm_30k")
    document = diagnosis.to_dict()
    for name in ("smem.per_block", "tile.ratio", "occupancy.active_warps", "bound"):
        at: Any = document
        for part in name.split("."):
            at = at[part]
        assert at == value(diagnosis, name)


def test_the_examples_need_neither_compiler_nor_gpu() -> None:
    for folder in sorted((ROOT / "kb" / "examples").iterdir()):
        assert run("infer", f"example:{folder.name}").status == 0
    assert KERNELS.exists()
