"""Hardware knowledge: what the files say, and what happens to a wrong one."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kneck.parsers.errors import KneckError, KnowledgeError
from kneck.rules.hardware import (
    architecture_names,
    device_ids,
    load_architecture,
    load_architectures,
    load_device,
    load_devices,
    load_instructions,
    load_method,
    load_problem_models,
    load_sources,
    shipped_folder,
)

KB = [shipped_folder()]
ARCHITECTURES = load_architectures(KB)
DEVICES = load_devices(KB)
IDS = (
    "rtx-3070-ti rtx-3070-ti-laptop rtx-3070 rtx-3090 a10 a100 l4 rtx-4090 h100 h200 b200 "
    "rtx-5090 t4 v100 orin"
)
RATES = {
    "fp32_ffma": "fp32_ffma",
    "fp16_hfma2": "fp16_hfma2",
    "fp64": "fp64",
    "int32": "int32_imad",
}


def test_all_eleven_compute_capabilities_have_a_file() -> None:
    assert architecture_names(KB) == [
        f"sm_{number}" for number in (70, 75, 80, 86, 87, 89, 90, 100, 103, 120, 121)
    ]


def test_all_fifteen_devices_have_a_file_and_an_architecture() -> None:
    assert device_ids(KB) == sorted(IDS.split())
    assert {device.arch for device in DEVICES.values()} <= set(ARCHITECTURES)


def test_a_target_suffix_means_the_same_hardware() -> None:
    found = load_architecture("sm_90a", KB)
    assert found is not None and found.name == "sm_90"


@pytest.mark.parametrize("name", ["sm_88", "sm_110", "sm_99", "sm_9"])
def test_an_architecture_without_a_file_is_unknown(name: str) -> None:
    assert load_architecture(name, KB) is None


def test_an_unknown_device_is_refused_with_a_suggestion() -> None:
    with pytest.raises(KneckError) as caught:
        load_device("rtx-3070ti", KB)
    assert caught.value.what == 'unknown device "rtx-3070ti"'
    assert caught.value.help == 'did you mean "rtx-3070-ti"?'
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("id", sorted(DEVICES))
def test_dense_peaks_are_clock_times_rate(id: str) -> None:
    device = DEVICES[id]
    architecture = ARCHITECTURES[device.arch]
    clocks = 2 * device.sm_count * device.boost_ghz
    for name, peak in device.peaks["dense"].items():
        if name == "dram_gb_per_s":
            continue
        rate = (
            architecture.rates[RATES[name]]
            if name in RATES
            else architecture.tensor_rate(name, device.product_class)
        )
        assert rate is not None, name
        assert peak.value == pytest.approx(clocks * rate, abs=0.06), name


@pytest.mark.parametrize(
    ("id", "precision", "tflops"),
    [
        ("rtx-3070-ti", "fp32_ffma", 21.7),
        ("rtx-3070-ti", "fp16_tensor_fp16acc", 87.0),
        ("rtx-3070-ti", "fp16_tensor_fp32acc", 43.5),
        ("rtx-3070-ti", "int8_tensor", 174.0),
        ("rtx-3090", "fp16_tensor_fp16acc", 142.3),
        ("rtx-3090", "fp16_tensor_fp32acc", 71.2),
        ("a10", "fp16_tensor_fp32acc", 125.0),
        ("a100", "fp16_tensor_fp32acc", 311.9),
        ("a100", "fp64", 9.7),
        ("a100", "fp64_tensor", 19.5),
        ("l4", "fp8_tensor", 242.3),
        ("rtx-4090", "fp16_tensor_fp32acc", 165.2),
        ("rtx-4090", "fp8_tensor", 330.3),
        ("h100", "fp16_tensor_fp32acc", 989.4),
        ("h200", "fp8_tensor", 1978.9),
        ("b200", "fp4_tensor", 8971.9),
        ("rtx-5090", "fp32_ffma", 104.8),
        ("t4", "int8_tensor", 130.3),
        ("v100", "fp16_tensor_fp32acc", 125.3),
        ("orin", "int8_tensor", 85.2),
    ],
)
def test_peaks_equal_the_printed_figures(id: str, precision: str, tflops: float) -> None:
    peak = DEVICES[id].peak(precision, "dense")
    assert peak is not None and round(peak.value / 1000, 1) == tflops


def test_a_precision_that_a_device_lacks_is_absent() -> None:
    assert DEVICES["v100"].peak("int8_tensor") is None
    assert DEVICES["a100"].peak("fp8_tensor") is None
    assert DEVICES["orin"].peak("fp16_hfma2") is None


@pytest.mark.parametrize(
    ("id", "doubles"), [("rtx-3070-ti", True), ("a10", False), ("h100", False)]
)
def test_fp16_accumulate_doubles_the_rate_on_geforce_only(id: str, doubles: bool) -> None:
    facts = {fact.name: fact for fact in DEVICES[id].facts}
    assert facts["device.fp16_accumulate_doubles"].value is doubles


def test_published_peaks_are_kept_with_what_refutes_them() -> None:
    peak = DEVICES["rtx-3070-ti"].peak("int8_tensor", "published")
    assert peak is not None
    assert (peak.value, peak.basis, peak.status) == (696000, "published", "refuted")
    assert "sparse INT4" in peak.source and "[W1, D6]" in peak.source


def test_a_basis_without_the_figure_falls_back_to_dense_and_says_so() -> None:
    peak = DEVICES["rtx-3090"].peak("int8_tensor", "published")
    assert peak is not None and peak.basis == "dense"


def test_facts_of_an_architecture_lead_to_line_and_citation() -> None:
    facts = {fact.name: fact for fact in ARCHITECTURES["sm_86"].facts}
    fact = facts["arch.smem_bytes_per_sm"]
    assert (fact.value, fact.unit) == (102400, "B")
    place = re.fullmatch(
        r"kb/architectures/sm_86\.yaml:(\d+):\d+ \[H1, N1\], documented", fact.source.detail
    )
    assert place is not None
    line = (KB[0] / "architectures" / "sm_86.yaml").read_text().splitlines()[int(place[1]) - 1]
    assert line.strip().startswith("smem_bytes_per_sm: 102400")
    assert facts["arch.min_warps_for_latency"].value == 8
    assert facts["arch.has_async_copy"].value is True
    assert "arch.has_wgmma" in facts and facts["arch.has_wgmma"].value is False


def test_capabilities_grow_with_the_generations() -> None:
    having = {
        name: [arch for arch in architecture_names(KB) if ARCHITECTURES[arch].capabilities[name]]
        for name in ("has_async_copy", "has_wgmma", "has_tcgen05", "res_usage_includes_reserve")
    }
    assert having == {
        "has_async_copy": architecture_names(KB)[2:],
        "has_wgmma": ["sm_90"],
        "has_tcgen05": ["sm_100", "sm_103"],
        "res_usage_includes_reserve": architecture_names(KB)[6:],
    }


def test_every_source_that_is_cited_is_listed() -> None:
    sources = load_sources(KB)
    assert {"H1", "N1", "C2", "R2"} <= set(sources)
    assert all(citation for citation in sources.values())


def test_thresholds_are_facts_with_source_and_status() -> None:
    facts = {fact.name: fact for fact in load_method(KB)}
    assert facts["method.ratio_low"].value == 5
    assert facts["method.ratio_low"].source.detail.endswith("[R1], contested")
    assert facts["method.saturation_fraction"].value == 0.60
    assert facts["method.sweep_sizes"].value == "1024,2048,4096,8192"


# -- overlays --------------------------------------------------------------------------------


def copy(kind: str, name: str, overlay: Path, *changes: tuple[str, str], new: str = "") -> Path:
    """Write a shipped file into an overlay folder, with changes."""
    text = (KB[0] / kind / f"{name}.yaml").read_text(encoding="utf-8")
    for old, replacement in changes:
        assert old in text, old
        text = text.replace(old, replacement, 1)
    path = overlay / kind / f"{new or name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_adding_an_architecture_is_adding_one_file(tmp_path: Path) -> None:
    copy("architectures", "sm_86", tmp_path, ("arch: sm_86", "arch: sm_99"), new="sm_99")
    folders = [*KB, tmp_path]
    assert architecture_names(folders)[7] == "sm_99"
    found = load_architecture("sm_99", folders)
    assert found is not None and found.limits == ARCHITECTURES["sm_86"].limits
    assert found.path == f"{tmp_path.as_posix()}/architectures/sm_99.yaml"
    info = load_instructions(folders).info("FFMA", "sm_99")
    assert info is not None and (info.latency_cycles, info.issue_interval_cycles) == (4, 1)


def test_an_architecture_needs_its_limits_only(tmp_path: Path) -> None:
    text = (KB[0] / "architectures" / "sm_86.yaml").read_text(encoding="utf-8")
    start = text[: text.index("rates:")].replace("sm_86", "sm_99")
    path = tmp_path / "architectures" / "sm_99.yaml"
    path.parent.mkdir()
    path.write_text(start, encoding="utf-8")
    found = load_architecture("sm_99", [*KB, tmp_path])
    assert found is not None and found.rates == {} and found.capabilities == {}
    info = load_instructions([*KB, tmp_path]).info("LDG.E.128", "sm_99")
    assert info is not None and (info.bytes_per_thread, info.issue_interval_cycles) == (16, None)


def test_a_later_folder_replaces_a_device(tmp_path: Path) -> None:
    copy("devices", "a100", tmp_path, ("dram_gb_per_s: 2039", "dram_gb_per_s: 1555"))
    peak = load_device("a100", [*KB, tmp_path]).peak("dram_gb_per_s")
    assert peak is not None and peak.value == 1555
    assert load_device("a100", KB).peak("dram_gb_per_s") != peak


def test_measured_ceilings_are_preferred_and_keep_command_and_spread(tmp_path: Path) -> None:
    measured = """
  measured:
    dram_gb_per_s: {value: 4312, unit: GB/s, spread: 0.004, clock_ghz: 1.98, command: kneck probe,
                    source: K1}
"""
    path = copy("devices", "h100", tmp_path)
    path.write_text(path.read_text(encoding="utf-8").rstrip() + measured, encoding="utf-8")
    device = load_device("h100", [*KB, tmp_path])
    peak = device.peak("dram_gb_per_s")
    assert peak is not None and (peak.value, peak.basis) == (4312, "measured")
    assert "kneck probe" in peak.source and "0.4%" in peak.source
    dense = device.peak("dram_gb_per_s", "dense")
    assert dense is not None and dense.value == 3350
    tensor = device.peak("fp16_tensor_fp32acc")
    assert tensor is not None and tensor.basis == "dense"


def test_an_overlay_replaces_single_thresholds(tmp_path: Path) -> None:
    (tmp_path / "method.yaml").write_text(
        "ratio_low: {value: 6, unit: '', source: kneck, status: hypothesis}\n", encoding="utf-8"
    )
    facts = {fact.name: fact.value for fact in load_method([*KB, tmp_path])}
    assert (facts["method.ratio_low"], facts["method.ratio_high"]) == (6, 20)


def test_an_overlay_adds_an_opcode(tmp_path: Path) -> None:
    path = tmp_path / "instructions" / "own.yaml"
    path.parent.mkdir()
    path.write_text(
        "source: kneck\n"
        "entries:\n"
        "  - {match: XDOT, family: compute_fma, timing: fma, flops_per_warp: 96}\n",
        encoding="utf-8",
    )
    info = load_instructions([*KB, tmp_path]).info("XDOT.FTZ", "sm_86")
    assert info is not None and info.flops_per_warp == 96


# -- faults ----------------------------------------------------------------------------------

FAULTS = [
    (
        "architectures",
        "sm_86",
        ("smem_bytes_per_sm:", "smem_per_sm:"),
        'unknown key "smem_per_sm"',
        'did you mean "smem_bytes_per_sm"?',
    ),
    (
        "architectures",
        "sm_86",
        ("  max_warps_per_sm: 48\n", ""),
        'missing "max_warps_per_sm"',
        'add "max_warps_per_sm:"',
    ),
    (
        "architectures",
        "sm_86",
        ("max_warps_per_sm: 48", "max_warps_per_sm: many"),
        "limits.max_warps_per_sm",
        None,
    ),
    (
        "architectures",
        "sm_86",
        ("max_warps_per_sm: 48", "max_warps_per_sm: 40"),
        "max_warps_per_sm x threads_per_warp must be max_threads_per_sm",
        None,
    ),
    (
        "architectures",
        "sm_86",
        ("64, 100]", "64, 96]"),
        "the largest of smem_carveouts_kb must be smem_bytes_per_sm / 1024",
        None,
    ),
    ("architectures", "sm_86", ("[H1, N1]", "[H1, N9]"), 'unknown source "N9"', None),
    (
        "architectures",
        "sm_86",
        ("arch: sm_86", "arch: sm_87"),
        '"sm_87" stands in sm_86.yaml',
        "name the file sm_87.yaml",
    ),
    ("architectures", "sm_86", ("arch: sm_86", "arch: ga104"), "write it like sm_86", None),
    ("architectures", "sm_86", ("generation: Ampere", "generation: Ampere\narch: x"), "dup", None),
    ("devices", "a10", ("boost_ghz: 1.695", "boost_ghz: nan"), "chip.boost_ghz", None),
    ("devices", "a10", ("sm_count: 72", "sm_count: 0"), "chip.sm_count", None),
    ("devices", "a10", ("fp32_ffma:", "fp32_fma:"), 'unknown key "fp32_fma"', None),
    (
        "devices",
        "a10",
        ("product_class: datacenter", "product_class: tesla"),
        "product_class",
        None,
    ),
    ("problems", "gemm", ("2 * batch * M", "2 * batch * m"), 'unknown name "m" in a formula', None),
    ("problems", "gemm", ("2 * batch * M", "2 * * M"), "does not fit here", None),
    ("problems", "gemm", ("default: dtype.result", "default: dtpe"), 'unknown type "dtpe"', None),
    (
        "instructions",
        "float",
        ("timing: fma,", "timing: fmma,"),
        'unknown timing class "fmma"',
        'did you mean "fma"?',
    ),
    (
        "instructions",
        "tensor",
        ("2 * 16 * n * k", "2 * 16 * n * j"),
        'the pattern captures no "j"',
        "write {j} in match",
    ),
    ("instructions", "float", ("family: special", "family: magic"), "entries.6.family", None),
]


@pytest.mark.parametrize(("kind", "name", "change", "what", "help"), FAULTS)
def test_a_wrong_file_is_refused_with_place_and_next_step(
    kind: str, name: str, change: tuple[str, str], what: str, help: str | None, tmp_path: Path
) -> None:
    path = copy(kind, name, tmp_path, change)
    folders = [*KB, tmp_path]
    loaders: dict[str, Callable[[], object]] = {
        "architectures": lambda: load_architecture(name, folders),
        "devices": lambda: load_device(name, folders),
        "problems": lambda: load_problem_models(folders),
        "instructions": lambda: load_instructions(folders),
    }
    with pytest.raises(KnowledgeError) as caught:
        loaders[kind]()
    error = caught.value
    assert what in error.what
    assert error.place is not None and error.place.path == path.as_posix()
    assert error.place.line > 0
    if help is not None:
        assert error.help == help
    assert error.exit_status == 4


def test_a_timing_group_may_name_known_classes_only(tmp_path: Path) -> None:
    copy("architectures", "sm_86", tmp_path, ("{fma: 4,", "{fmaa: 4,"))
    with pytest.raises(KnowledgeError) as caught:
        load_instructions([*KB, tmp_path])
    assert caught.value.what == 'timing: unknown class "fmaa"'
    assert caught.value.help == 'did you mean "fma"?'


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "devices" / "a10.yaml"
    path.parent.mkdir()
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(KnowledgeError, match="not UTF-8"):
        load_device("a10", [*KB, tmp_path])


@pytest.mark.parametrize("key", ["nan", "inf"])
def test_a_threshold_is_a_finite_number(key: str, tmp_path: Path) -> None:
    (tmp_path / "method.yaml").write_text(
        f"ratio_low: {{value: {key}, unit: '', source: kneck, status: hypothesis}}\n",
        encoding="utf-8",
    )
    with pytest.raises(KnowledgeError, match="finite"):
        load_method([*KB, tmp_path])
