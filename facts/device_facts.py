"""The device's peaks as facts, in the basis that verdicts use."""

from __future__ import annotations

from .hardware import Device, Peak, PeaksBasis
from .model import Fact, Source

BANDWIDTH = "dram_gb_per_s"


def device_facts(device: Device, basis: PeaksBasis | None) -> list[Fact]:
    """Give `device.*`: what the device file says, and the peaks of the basis asked for.

    Without a basis a measured peak is used where the file has one, else the dense figure; each
    fact's source says which of them it is.
    """
    facts = list(device.facts)
    for name in sorted({name for peaks in device.peaks.values() for name in peaks}):
        judged, dense = device.peak(name, basis), device.peaks["dense"].get(name)
        if name == BANDWIDTH:
            if judged is not None:
                facts.append(_peak("device.peak_gb_per_s", judged, device))
            continue
        if judged is not None and judged.unit != "GB/s":
            facts.append(_peak(f"device.peak_gflops.{name}", judged, device))
        if dense is not None:
            facts.append(_peak(f"device.dense_peak_gflops.{name}", dense, device))
    basis_name = peaks_basis(device, basis)
    facts.append(Fact("device.peaks_basis", basis_name, "", Source("kb", device.path)))
    return facts


def peaks_basis(device: Device, basis: PeaksBasis | None) -> PeaksBasis:
    """Name the basis in force: the one asked for, else measured where there is any."""
    if basis is not None:
        return basis
    return "measured" if device.peaks.get("measured") else "dense"


def _peak(name: str, peak: Peak, device: Device) -> Fact:
    detail = f"{device.path}, {peak.basis}, {peak.status}: {peak.source}"
    unit = "GB/s" if peak.unit == "GB/s" else "GFLOP/s"
    return Fact(name, peak.value, unit, Source("kb", detail))
