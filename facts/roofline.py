"""The roofline (Williams, Waterman, Patterson, CACM 2009): rates, intensities, shares.

Times in ms, work in operations and bytes, rates in GFLOP/s and GB/s (1e9). Every function gives
None where the division has no meaning, so that an unknown stays unknown.
"""

from __future__ import annotations

from typing import Literal

GIGA = 1e9
S_PER_MS = 1e-3

Side = Literal["memory", "compute"]


def effective_rate(work: float, time_ms: float) -> float | None:
    """Give work per second in units of 1e9: GFLOP/s from operations, GB/s from bytes.

    >>> round(effective_rate(2 * 4096**3, 3.9))
    35241
    """
    return work / (time_ms * S_PER_MS) / GIGA if time_ms > 0 else None


def arithmetic_intensity(flops: float, unique_bytes: float) -> float | None:
    """Give operations per byte that must cross DRAM once (FLOP/B).

    >>> round(arithmetic_intensity(17179869184, 142868480), 1)
    120.2
    """
    return flops / unique_bytes if unique_bytes > 0 else None


def balance_point(peak_gflops: float, peak_gb_per_s: float) -> float | None:
    """Give the intensity at which both roofs meet (FLOP/B).

    >>> [f"{balance_point(peak, 608):.1f}" for peak in (21700, 174000, 696000)]
    ['35.7', '286.2', '1144.7']
    """
    return peak_gflops / peak_gb_per_s if peak_gb_per_s > 0 else None


def side(intensity: float, balance: float) -> Side:
    """Tell which roof lies above an intensity; needs no time, and is not the bound.

    >>> side(120.2, 286.2), side(1365.0, 71.5)
    ('memory', 'compute')
    """
    return "memory" if intensity < balance else "compute"


def roof_gflops(intensity: float, peak_gflops: float, peak_gb_per_s: float) -> float:
    """Give the highest rate at an intensity: the lower of the two roofs (GFLOP/s).

    >>> roof_gflops(0.25, 21750, 608)
    152.0
    """
    return min(peak_gflops, intensity * peak_gb_per_s)


def attained_fraction(effective: float, roof: float) -> float | None:
    """Give the share of a roof that is reached; above 1 something in the input is wrong.

    >>> round(attained_fraction(31_900, 37_800), 2)
    0.84
    """
    return effective / roof if roof > 0 else None


def headroom(fraction: float) -> float | None:
    """Give the largest possible time before / time after under a roof.

    >>> headroom(0.5)
    2.0
    """
    return 1 / fraction if fraction > 0 else None


def bytes_in_flight_per_sm(gb_per_s: float, latency_ns: float, sm_count: int) -> float:
    """Give the bytes that each SM must have under way to keep a memory busy (Little's law).

    >>> round(bytes_in_flight_per_sm(608, 280, 48))
    3547
    """
    return gb_per_s * latency_ns / sm_count


def warps_to_fill(bytes_per_sm: float, bytes_per_thread: int, threads_per_warp: int) -> float:
    """Give the warps, one load each, that hold so many bytes in flight.

    >>> [round(warps_to_fill(3547, width, 32), 1) for width in (16, 4)]
    [6.9, 27.7]
    """
    return bytes_per_sm / (bytes_per_thread * threads_per_warp)
