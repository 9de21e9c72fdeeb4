"""Ratios of the K-tile loop, and what its stall counts can give, as derived facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .derive import Derivation, Outputs
from .model import Value

NO_LOOP = "the kernel has no K-tile loop"


def tile_derivations(tightened: tuple[str, ...]) -> list[Derivation]:
    """Give the ratios, the re-read factor, and the gain of tightened stalls for these opcodes."""
    return [
        Derivation(("tile.ratio",), ("tile.compute_ops", "tile.load_ops"), _ratio),
        Derivation(
            ("tile.flops_per_byte",),
            ("tile.flops", "tile.load_bytes", "arch.threads_per_warp"),
            _flops_per_byte,
        ),
        Derivation(
            ("tile.reread_factor",),
            ("roofline.arithmetic_intensity", "tile.flops_per_byte"),
            _reread_factor,
        ),
        Derivation(
            ("tile.issue_fill",),
            ("occupancy.warps_per_scheduler", "tile.instructions", "tile.cycles"),
            _issue_fill,
        ),
        *(
            Derivation(
                (f"stalls.{opcode}.gain_fraction",),
                ("tile.issue_fill", "tile.cycles", f"stalls.{opcode}.reducible_cycles"),
                _gain(opcode),
            )
            for opcode in tightened
        ),
    ]


def _ratio(f: Mapping[str, Value]) -> Outputs:
    loads = float(f["tile.load_ops"])
    if not loads:
        return {"tile.ratio": (None, "", "the loop has no global load")}
    value = float(f["tile.compute_ops"]) / loads
    return {"tile.ratio": (value, "", "compute instructions / global loads")}


def _flops_per_byte(f: Mapping[str, Value]) -> Outputs:
    loaded = float(f["tile.load_bytes"]) * float(f["arch.threads_per_warp"])
    if not loaded:
        return {"tile.flops_per_byte": (None, "FLOP/B", "the loop loads no bytes")}
    text = "FLOP of a warp / (bytes per thread x threads per warp)"
    return {"tile.flops_per_byte": (float(f["tile.flops"]) / loaded, "FLOP/B", text)}


def _reread_factor(f: Mapping[str, Value]) -> Outputs:
    """Both intensities share the FLOP, so their quotient is loaded bytes / unique bytes."""
    per_byte = float(f["tile.flops_per_byte"])
    if not per_byte:
        return {"tile.reread_factor": (None, "", "the loop has no arithmetic")}
    value = float(f["roofline.arithmetic_intensity"]) / per_byte
    return {"tile.reread_factor": (value, "", "intensity of unique bytes / of loaded bytes")}


def _issue_fill(f: Mapping[str, Value]) -> Outputs:
    """From 1 on the warps of a scheduler issue more than one warp's stalls leave room for."""
    cycles = float(f["tile.cycles"])
    if not cycles:
        return {"tile.issue_fill": (None, "", "the loop has no stall counts")}
    value = float(f["occupancy.warps_per_scheduler"]) * float(f["tile.instructions"]) / cycles
    return {"tile.issue_fill": (value, "", "warps per scheduler x instructions / stall cycles")}


def _gain(opcode: str) -> Callable[[Mapping[str, Value]], Outputs]:
    """An iteration takes the longer of one warp's stalls and the issue slots of all warps."""

    def compute(f: Mapping[str, Value]) -> Outputs:
        cycles = float(f["tile.cycles"])
        issue = float(f["tile.issue_fill"]) * cycles
        tightened = cycles - float(f[f"stalls.{opcode}.reducible_cycles"])
        text = "max(stall cycles, issue slots) now / without the reducible cycles, minus 1"
        value = max(cycles, issue) / max(tightened, issue) - 1
        return {f"stalls.{opcode}.gain_fraction": (value, "", text)}

    return compute
