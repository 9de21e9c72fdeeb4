"""Baseline and roofline as derived facts.

Two shares, never mixed with a verdict: how much of the arithmetic peak and how much of the
DRAM bandwidth the problem used up in the measured time (Williams et al., CACM 2009).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from .derive import Derivation, Outputs
from .model import Value
from .roofline import (
    GIGA,
    S_PER_MS,
    arithmetic_intensity,
    balance_point,
    effective_rate,
    roof_gflops,
)

SIDES = ("compute", "memory")


def share_derivations(asked: Iterable[str]) -> list[Derivation]:
    """Give `bounds.R.share` of every resource that is asked for, beside the two sides."""
    names = sorted(
        {
            name.split(".")[1]
            for name in asked
            if name.startswith("bounds.") and name.endswith(".share")
        }
    )
    return [
        Derivation(
            (f"bounds.{name}.share",),
            (f"bounds.{name}.time_ms", "baseline.time_ms"),
            partial(_share, side=name),
        )
        for name in names
        if name not in SIDES
    ]


def roofline_derivations(precisions: Sequence[str]) -> list[Derivation]:
    """Give the chain from problem, time and peaks to attained fraction and headroom.

    `precisions` are the names under which the device file may hold a peak.
    """
    peaks = tuple(f"device.peak_gflops.{name}" for name in precisions)
    dense = tuple(f"device.dense_peak_gflops.{name}" for name in precisions)
    return [
        Derivation(("baseline.gflops",), ("baseline.flops", "baseline.time_ms"), _gflops),
        Derivation(("baseline.gb_per_s",), ("baseline.bytes", "baseline.time_ms"), _gb_per_s),
        Derivation(
            ("roofline.peak_gflops", "roofline.dense_peak_gflops"),
            ("roofline.precision",),
            _peak,
            peaks + dense,
        ),
        Derivation(("roofline.peak_gb_per_s",), ("device.peak_gb_per_s",), _bandwidth),
        Derivation(
            ("roofline.arithmetic_intensity",), ("baseline.flops", "baseline.bytes"), _intensity
        ),
        Derivation(
            ("roofline.balance_point",),
            ("roofline.peak_gflops", "roofline.peak_gb_per_s"),
            _balance,
        ),
        Derivation(
            ("roofline.roof_gflops", "roofline.roof_fraction"),
            (
                "roofline.arithmetic_intensity",
                "roofline.peak_gflops",
                "roofline.peak_gb_per_s",
            ),
            _roof,
        ),
        Derivation(
            ("bounds.compute.time_ms",), ("baseline.flops",), _compute, ("roofline.peak_gflops",)
        ),
        Derivation(
            ("bounds.memory.time_ms",), ("baseline.bytes", "roofline.peak_gb_per_s"), _memory
        ),
        Derivation(
            ("bounds.compute.share",), ("bounds.compute.time_ms", "baseline.time_ms"), _c_share
        ),
        Derivation(
            ("bounds.memory.share",), ("bounds.memory.time_ms", "baseline.time_ms"), _m_share
        ),
        Derivation(
            ("roofline.attained_fraction",),
            ("baseline.time_ms", "baseline.flops", "baseline.bytes", "roofline.peak_gb_per_s"),
            _attained,
            ("roofline.peak_gflops",),
        ),
        Derivation(
            ("headroom.roof",), ("bounds.compute.share", "bounds.memory.share"), _roof_headroom
        ),
        Derivation(("headroom.compute",), ("bounds.compute.share",), _compute_headroom),
        Derivation(("headroom.memory",), ("bounds.memory.share",), _memory_headroom),
        Derivation(
            ("roofline.largest_share",),
            (),
            _largest,
            ("bounds.compute.share", "bounds.memory.share"),
        ),
        Derivation(
            ("roofline.peak_mismatch", "roofline.judged_peak_gflops"),
            ("roofline.peak_gflops", "roofline.dense_peak_gflops", "roofline.precision"),
            _mismatch,
            ("device.peaks_basis", "problem.precision", *dense),
        ),
    ]


def _gflops(f: Mapping[str, Value]) -> Outputs:
    value = effective_rate(float(f["baseline.flops"]), float(f["baseline.time_ms"]))
    return {"baseline.gflops": (value, "GFLOP/s", "FLOP of the problem / time")}


def _gb_per_s(f: Mapping[str, Value]) -> Outputs:
    value = effective_rate(float(f["baseline.bytes"]), float(f["baseline.time_ms"]))
    return {"baseline.gb_per_s": (value, "GB/s", "unique bytes of the problem / time")}


def _peak(f: Mapping[str, Value]) -> Outputs:
    """The precision is a value, so the peak is looked up under its name."""
    precision = f["roofline.precision"]
    missing = f"the device has no peak for {precision}"
    judged = f.get(f"device.peak_gflops.{precision}")
    dense = f.get(f"device.dense_peak_gflops.{precision}")
    return {
        "roofline.peak_gflops": (judged, "GFLOP/s", f"peak for {precision}" if judged else missing),
        "roofline.dense_peak_gflops": (
            dense,
            "GFLOP/s",
            f"dense peak for {precision}" if dense else missing,
        ),
    }


def _bandwidth(f: Mapping[str, Value]) -> Outputs:
    return {"roofline.peak_gb_per_s": (f["device.peak_gb_per_s"], "GB/s", "DRAM bandwidth")}


def _intensity(f: Mapping[str, Value]) -> Outputs:
    value = arithmetic_intensity(float(f["baseline.flops"]), float(f["baseline.bytes"]))
    text = "the problem moves no bytes" if value is None else "FLOP / unique DRAM bytes"
    return {"roofline.arithmetic_intensity": (value, "FLOP/B", text)}


def _balance(f: Mapping[str, Value]) -> Outputs:
    value = balance_point(float(f["roofline.peak_gflops"]), float(f["roofline.peak_gb_per_s"]))
    return {"roofline.balance_point": (value, "FLOP/B", "peak arithmetic / peak bandwidth")}


def _roof(f: Mapping[str, Value]) -> Outputs:
    peak = float(f["roofline.peak_gflops"])
    intensity = float(f["roofline.arithmetic_intensity"])
    roof = roof_gflops(intensity, peak, float(f["roofline.peak_gb_per_s"]))
    return {
        "roofline.roof_gflops": (roof, "GFLOP/s", "min(peak, intensity x bandwidth)"),
        "roofline.roof_fraction": (roof / peak, "", "roof / peak arithmetic"),
    }


def _compute(f: Mapping[str, Value]) -> Outputs:
    flops = float(f["baseline.flops"])
    if not flops:
        return {"bounds.compute.time_ms": (0.0, "ms", "the problem has no arithmetic")}
    peak = f.get("roofline.peak_gflops")
    if peak is None:
        return {"bounds.compute.time_ms": (None, "ms", "needs roofline.peak_gflops")}
    value = flops / (float(peak) * GIGA) / S_PER_MS
    return {"bounds.compute.time_ms": (value, "ms", "FLOP of the problem / peak arithmetic")}


def _memory(f: Mapping[str, Value]) -> Outputs:
    value = float(f["baseline.bytes"]) / (float(f["roofline.peak_gb_per_s"]) * GIGA) / S_PER_MS
    return {"bounds.memory.time_ms": (value, "ms", "unique bytes / DRAM bandwidth")}


def _c_share(f: Mapping[str, Value]) -> Outputs:
    return _share(f, "compute")


def _m_share(f: Mapping[str, Value]) -> Outputs:
    return _share(f, "memory")


def _share(f: Mapping[str, Value], side: str) -> Outputs:
    value = float(f[f"bounds.{side}.time_ms"]) / float(f["baseline.time_ms"])
    return {f"bounds.{side}.share": (value, "", "lower bound / measured time")}


def _attained(f: Mapping[str, Value]) -> Outputs:
    """The roofline alone: FLOP and unique bytes of the problem, whatever finer bounds say."""
    memory = float(f["baseline.bytes"]) / float(f["roofline.peak_gb_per_s"])
    compute = 0.0
    if float(f["baseline.flops"]):
        if "roofline.peak_gflops" not in f:
            return {"roofline.attained_fraction": (None, "", "needs roofline.peak_gflops")}
        compute = float(f["baseline.flops"]) / float(f["roofline.peak_gflops"])
    attained = max(memory, compute) / GIGA / (float(f["baseline.time_ms"]) * S_PER_MS)
    return {"roofline.attained_fraction": (attained, "", "time at the roof / measured time")}


def _roof_headroom(f: Mapping[str, Value]) -> Outputs:
    share = max(float(f["bounds.compute.share"]), float(f["bounds.memory.share"]))
    return {"headroom.roof": (_headroom(share), "", "1 / the larger of the two shares")}


def _compute_headroom(f: Mapping[str, Value]) -> Outputs:
    value = _headroom(float(f["bounds.compute.share"]))
    return {"headroom.compute": (value, "", "1 / compute share")}


def _memory_headroom(f: Mapping[str, Value]) -> Outputs:
    value = _headroom(float(f["bounds.memory.share"]))
    return {"headroom.memory": (value, "", "1 / memory share")}


def _headroom(share: float) -> float | None:
    """Largest time before / time after until a ceiling is reached; nothing is left above it."""
    return max(1.0, 1 / share) if share > 0 else None


def _largest(f: Mapping[str, Value]) -> Outputs:
    shares = [float(value) for value in f.values()]
    text = "the larger share that is known"
    return {"roofline.largest_share": (max(shares) if shares else None, "", text)}


def _mismatch(f: Mapping[str, Value]) -> Outputs:
    """Does the peak that the user judges by differ from the dense peak of what is executed?

    Two ways to it: published figures were asked for, or the problem names another precision than
    the SASS computes in.
    """
    judged, dense = float(f["roofline.peak_gflops"]), float(f["roofline.dense_peak_gflops"])
    named = f.get("problem.precision")
    if f.get("device.peaks_basis") != "published":
        judged = dense
    if named is not None and named != f["roofline.precision"]:
        judged = float(f.get(f"device.dense_peak_gflops.{named}", judged))
    return {
        "roofline.judged_peak_gflops": (judged, "GFLOP/s", "peak that the input asks to judge by"),
        "roofline.peak_mismatch": (
            _printed(judged) != _printed(dense),
            "",
            "judged by another peak than the dense one",
        ),
    }


def _printed(gflops: float) -> str:
    """Write a peak with the three digits that tables of peaks have; 21,749.8 is their 21,700."""
    return f"{gflops:.3g}"
