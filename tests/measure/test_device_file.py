"""What a probe measured stands in the device file beside the datasheet, and can be read back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.engine.measuring import local_device_id, probe_file
from kneck.facts.gpu import Gpu
from kneck.facts.measure.device import DeviceInfo
from kneck.facts.measure.device_file import (
    best_of,
    id_of,
    new_device_file,
    rounded,
    same_product,
    split_peaks,
    with_measured,
)
from kneck.facts.measure.probe_types import Measured, ProbeReport
from kneck.parsers.errors import KneckError
from kneck.rules.hardware import load_device

from .fake_driver import FakeDriver

KB = Path(__file__).parents[2] / "kb"


def measured(name: str, value: float, stable: bool = True) -> Measured:
    return Measured(name, value, "GB/s", 0.004, 1.98, stable, "p")


def device() -> DeviceInfo:
    with Gpu(driver=FakeDriver()) as gpu:
        return gpu.info


@pytest.mark.parametrize(
    ("name", "other", "same"),
    [
        ("NVIDIA H200", "H200", True),
        ("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB", True),
        ("NVIDIA GeForce RTX 3070 Ti", "GeForce RTX 3070 Ti", True),
        ("NVIDIA GeForce RTX 3070 Ti Laptop GPU", "GeForce RTX 3070 Ti Laptop GPU", True),
        ("NVIDIA GeForce RTX 3070 Ti", "GeForce RTX 3070", False),
        ("NVIDIA GeForce RTX 3070 Ti Laptop GPU", "GeForce RTX 3070 Ti", False),
        ("Tesla T4", "T4", True),
        ("Tesla V100-SXM2-16GB", "V100-SXM2", True),
        ("NVIDIA H100 80GB HBM3", "H100 SXM5 80GB", True),
        ("NVIDIA H100", "H200", False),
        ("NVIDIA L40", "L4", False),
    ],
)
def test_products_are_told_apart(name: str, other: str, same: bool) -> None:
    assert same_product(name, other) is same


def test_the_gpu_of_this_machine_is_found_in_the_knowledge_base() -> None:
    known = {"h100": ("H100 SXM5 80GB", "sm_90"), "h200": ("H200", "sm_90")}
    assert local_device_id(device(), known) == "h200"
    with pytest.raises(KneckError, match="no device for NVIDIA H200") as caught:
        local_device_id(device(), {"h200": ("H200", "sm_100")})
    assert "kneck probe" in (caught.value.help or "")


def test_figures_replace_what_an_earlier_probe_wrote_and_nothing_else() -> None:
    text = (KB / "devices" / "h100.yaml").read_text(encoding="utf-8")
    peaks, others = [measured("fp32_ffma", 60000)], [measured("cost.FFMA", 1)]
    once = with_measured(text, peaks, others, "c", "K3")
    assert once.startswith(text.rstrip("\n"))
    assert with_measured(once, peaks, others, "c", "K3") == once
    again = with_measured(once, [measured("fp32_ffma", 61000)], [], "c", "K3")
    assert "value: 61000" in again and "value: 60000" not in again and "cost.FFMA" not in again
    assert with_measured(once, [], [], "c", "K3") == text


def test_the_written_file_is_a_device_with_measured_peaks(tmp_path: Path) -> None:
    text = (KB / "devices" / "h100.yaml").read_text(encoding="utf-8")
    written = with_measured(
        text,
        [measured("dram_gb_per_s", 3100.4)],
        [measured("cost.FFMA", 1.01), measured("empty_launch_us", 3.4, stable=False)],
        "kneck probe",
        "K3",
    )
    (tmp_path / "devices").mkdir()
    (tmp_path / "devices" / "h100.yaml").write_text(written, encoding="utf-8")
    found = load_device("h100", [KB, tmp_path])
    peak = found.peak("dram_gb_per_s")
    assert peak is not None and (peak.value, peak.basis) == (3100.4, "measured")
    facts = {fact.name: fact for fact in found.facts}
    assert facts["device.measured.cost.FFMA"].value == 1.01
    assert "unstable" in facts["device.measured.empty_launch_us"].source.detail


def test_a_known_device_keeps_its_datasheet() -> None:
    report = ProbeReport(device(), [measured("dram_gb_per_s", 4300), measured("cost.FFMA", 1.0)])
    known = {"h200": ("H200", "sm_90")}
    text = (KB / "devices" / "h200.yaml").read_text(encoding="utf-8")
    name, written = probe_file(report, known, lambda device_id: text, "kneck probe", "K3")
    assert name == "h200"
    assert "dram_gb_per_s: 4800" in written and "value: 4300" in written


def test_an_unknown_device_gets_a_file_of_its_own(tmp_path: Path) -> None:
    report = ProbeReport(device(), [measured("dram_gb_per_s", 4300), measured("cost.FFMA", 1.0)])
    name, written = probe_file(report, {}, lambda device_id: "", "kneck probe", "K3")
    assert name == "h200"
    (tmp_path / "devices").mkdir()
    (tmp_path / "devices" / "h200.yaml").write_text(written, encoding="utf-8")
    found = load_device("h200", [KB, tmp_path])
    assert (found.sm_count, found.l2_bytes, found.boost_ghz) == (132, 62_914_560, 1.98)
    dense = found.peak("dram_gb_per_s", "dense")
    assert dense is not None and dense.value == pytest.approx(4916.7, abs=0.1)


def test_the_best_of_several_figures_becomes_the_peak() -> None:
    figures = [measured("a_mma_sync", 600), measured("a_wgmma", 800)]
    found = {f.name: f for f in best_of(figures, {"a": ["a_mma_sync", "a_wgmma", "a_other"]})}
    assert found["a"].value == 800 and "a_mma_sync, a_wgmma" in found["a"].note


def test_a_best_may_be_made_of_another_best() -> None:
    figures = [measured("copy1", 3), measured("copy2", 4), measured("read", 5)]
    found = best_of(figures, {"copy": ["copy1", "copy2"], "dram": ["copy", "read"]})
    assert {f.name: f.value for f in found}["dram"] == 5


def test_peaks_and_other_figures_are_parted() -> None:
    peaks, others = split_peaks([measured("a", 1), measured("b", 2)], ["b", "c"])
    assert ([f.name for f in peaks], [f.name for f in others]) == (["b"], ["a"])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NVIDIA GeForce RTX 4070 Ti", "rtx-4070-ti"),
        ("NVIDIA H200", "h200"),
        ("NVIDIA RTX A6000", "rtx-a6000"),
        ("NVIDIA", "gpu"),
    ],
)
def test_ids_are_short_names(name: str, expected: str) -> None:
    assert id_of(name) == expected


def test_a_new_file_has_what_the_driver_tells() -> None:
    text = new_device_file(device(), "h200", "datacenter", "K1")
    assert "sm_count: 132" in text and "l2_bytes: 62914560" in text


@given(st.floats(1e-6, 1e12))
def test_written_numbers_keep_five_digits_without_an_exponent(value: float) -> None:
    text = rounded(value)
    assert "e" not in text
    assert float(text) == pytest.approx(value, rel=5.1e-5)
