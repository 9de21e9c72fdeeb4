"""The launch: threads, warps, blocks and waves from grid and block."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from .derive import Derivation, Outputs
from .model import Value

AXES = 3


def axes(text: Value) -> tuple[int, ...]:
    """Read `X`, `X,Y` or `X,Y,Z`; raises ValueError for anything else.

    >>> axes("32,4")
    (32, 4, 1)
    """
    parts = [int(part) for part in str(text).replace("x", ",").split(",")]
    if not 1 <= len(parts) <= AXES or min(parts) < 1:
        raise ValueError(f"{text!r} is not one to three positive sizes")
    return (*parts, *[1] * (AXES - len(parts)))


def launch_derivations() -> list[Derivation]:
    """Give what follows from `launch.grid` and `launch.block`."""
    return [
        Derivation(("launch.threads",), ("launch.block",), _threads),
        Derivation(("launch.blocks",), ("launch.grid",), _blocks),
        Derivation(("launch.warps",), ("launch.threads", "arch.threads_per_warp"), _warps),
        Derivation(
            ("launch.waves", "launch.last_wave_fraction"),
            ("launch.blocks", "device.sm_count", "occupancy.blocks_per_sm"),
            _waves,
        ),
    ]


def _threads(f: Mapping[str, Value]) -> Outputs:
    return {"launch.threads": (prod(axes(f["launch.block"])), "threads", "product of the block")}


def _blocks(f: Mapping[str, Value]) -> Outputs:
    return {"launch.blocks": (prod(axes(f["launch.grid"])), "blocks", "product of the grid")}


def _warps(f: Mapping[str, Value]) -> Outputs:
    warps = -(-int(f["launch.threads"]) // int(f["arch.threads_per_warp"]))
    return {"launch.warps": (warps, "warps", "threads per block / threads per warp, rounded up")}


def _waves(f: Mapping[str, Value]) -> Outputs:
    """A wave is as many blocks as the whole GPU holds at once."""
    per_wave = int(f["device.sm_count"]) * int(f["occupancy.blocks_per_sm"])
    if per_wave == 0:
        reason = "no block fits on an SM"
        return {"launch.waves": (None, "waves", reason)}
    blocks = int(f["launch.blocks"])
    last = (blocks % per_wave or per_wave) / per_wave
    return {
        "launch.waves": (blocks / per_wave, "waves", "blocks / (SMs x blocks per SM)"),
        "launch.last_wave_fraction": (last, "", "share of the GPU that the last wave fills"),
    }
