"""Occupancy and shared memory as derived facts; the arithmetic is in occupancy.py and cliffs.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .cliffs import doubling, largest_threads_for, next_block, smem_cliffs
from .derive import Derivation, Outputs
from .hardware import SmLimits
from .model import Value
from .occupancy import Occupancy, occupancy

RESOURCES = ("registers", "smem", "warps", "blocks", "barriers")
LIMITS = "arch.max_warps_per_sm"  # present exactly where the architecture has a file


def occupancy_derivations(limits: SmLimits | None) -> list[Derivation]:
    """Give what follows from registers, shared memory and threads on this architecture.

    Without limits (an architecture that has no file) every step names the missing figure.
    """
    o = "occupancy."
    launch = (LIMITS, o + "registers_per_thread", "launch.threads", "smem.per_block")
    optional = (o + "barriers", o + "carveout")
    results = (
        *(f"{o}block_limits.{name}" for name in RESOURCES),
        *(f"{o}limited_by.{name}" for name in RESOURCES),
        *(o + name for name in ("blocks_per_sm", "active_warps", "theoretical_occupancy")),
        *(o + name for name in ("limiters", "limiter_count", "warps_per_scheduler")),
        o + "cannot_launch_because",
    )
    following = tuple(
        f"{o}next.{name}"
        for name in ("blocks", "warps", "resource", "give_up", "registers", "smem")
    )
    return [
        Derivation(
            (o + "threads_per_block",), ("launch.threads",), _same("launch.threads", "threads")
        ),
        Derivation(
            (o + "dynamic_smem",), ("launch.dynamic_smem",), _same("launch.dynamic_smem", "B")
        ),
        Derivation((o + "warps_per_block",), ("launch.warps",), _same("launch.warps", "warps")),
        Derivation(("smem.per_block",), (o + "static_smem", "launch.dynamic_smem"), _per_block),
        Derivation(results, launch, lambda f: _occupancy(limits, f), optional),
        Derivation(following, (*launch, o + "blocks_per_sm"), lambda f: _next(limits, f), optional),
        Derivation(
            (o + "largest_block",),
            (LIMITS, o + "registers_per_thread"),
            lambda f: _largest_block(limits, f),
        ),
        Derivation(("smem.cliff",), (LIMITS,), lambda f: _cliffs(limits, f)),
        Derivation(
            ("smem.blocks_per_sm", "smem.doubled.per_block", "smem.doubled.blocks_per_sm"),
            (LIMITS, "smem.per_block"),
            lambda f: _doubled(limits, f),
            ("occupancy.carveout",),
        ),
    ]


def _same(name: str, unit: str) -> Callable[[Mapping[str, Value]], Outputs]:
    """Copy a launch figure to the name that the occupancy table gives it."""
    own = {"launch.warps": "warps_per_block", "launch.threads": "threads_per_block"}
    target = "occupancy." + own.get(name, name.removeprefix("launch."))
    return lambda f: {target: (f[name], unit, name)}


def _per_block(f: Mapping[str, Value]) -> Outputs:
    total = int(f["occupancy.static_smem"]) + int(f["launch.dynamic_smem"])
    return {"smem.per_block": (total, "B", "static + dynamic shared memory")}


def _compute(limits: SmLimits, f: Mapping[str, Value], **changed: int) -> Occupancy:
    given = {
        "registers": int(f["occupancy.registers_per_thread"]),
        "threads": int(f["launch.threads"]),
        "static_smem": int(f["smem.per_block"]),
        "barriers": int(f.get("occupancy.barriers", 1)),
        **changed,
    }
    carveout = f.get("occupancy.carveout")
    return occupancy(limits, carveout=None if carveout is None else int(carveout), **given)


def _occupancy(limits: SmLimits | None, f: Mapping[str, Value]) -> Outputs:
    assert limits is not None
    found = _compute(limits, f)
    o, rule = "occupancy.", "occupancy calculator, all limits"
    refused = found.reason
    largest = largest_threads_for(limits, int(f[o + "registers_per_thread"]))
    if refused is not None and found.block_limits["registers"] == 0 and largest:
        refused += f"; the largest block with so many registers is {largest} threads"
    results: dict[str, tuple[Value | None, str, str]] = {
        o + "blocks_per_sm": (found.blocks_per_sm, "blocks", rule),
        o + "active_warps": (found.active_warps, "warps", "blocks per SM x warps per block"),
        o + "theoretical_occupancy": (
            found.theoretical_occupancy,
            "",
            "active warps / most warps of an SM",
        ),
        o + "warps_per_scheduler": (
            found.active_warps / limits.sub_partitions,
            "warps",
            "active warps / sub-partitions",
        ),
        o + "limiters": (" and ".join(found.limiters), "", "limits equal to blocks per SM"),
        o + "limiter_count": (len(found.limiters), "resources", "limits equal to blocks per SM"),
        o + "cannot_launch_because": (refused, "", refused or "the launch fits"),
    }
    for name in RESOURCES:
        limit = found.block_limits.get(name)
        text = f"blocks per SM that {name} allow"
        results[f"{o}block_limits.{name}"] = (
            limit,
            "blocks",
            text if limit else f"{name}: no limit",
        )
        results[f"{o}limited_by.{name}"] = (
            name in found.limiters,
            "",
            "limit equals blocks per SM",
        )
    return results


def _next(limits: SmLimits | None, f: Mapping[str, Value]) -> Outputs:
    """Say what one more block costs; where two resources must give, both are named."""
    assert limits is not None
    registers, smem = int(f["occupancy.registers_per_thread"]), int(f["smem.per_block"])
    threads, barriers = int(f["launch.threads"]), int(f.get("occupancy.barriers", 1))
    found = next_block(limits, registers, threads, smem, barriers=barriers)
    if not found.reachable:
        reason = "no block more fits, whatever registers and shared memory give up"
        return {"occupancy.next.blocks": (None, "blocks", reason)}
    gives = []
    if found.registers is not None:
        fewer = registers - found.registers
        gives.append(
            ("registers", f"{fewer} registers per thread ({registers} to {found.registers})")
        )
    if found.smem_bytes is not None:
        less = smem - found.smem_bytes
        text = f"{less:,} B of shared memory per block ({smem:,} to {found.smem_bytes:,})"
        gives.append(("shared memory", text))
    n, rule = "occupancy.next.", "largest value that admits one more block"
    return {
        n + "blocks": (found.blocks, "blocks", "blocks per SM + 1"),
        n + "warps": (found.active_warps, "warps", "next blocks x warps per block"),
        n + "resource": (" and ".join(name for name, _ in gives) or None, "", rule),
        n + "give_up": (" and ".join(text for _, text in gives) or None, "", rule),
        n + "registers": (found.registers, "registers", rule if found.registers else "not needed"),
        n + "smem": (found.smem_bytes, "B", rule if found.smem_bytes else "not needed"),
    }


def _largest_block(limits: SmLimits | None, f: Mapping[str, Value]) -> Outputs:
    assert limits is not None
    largest = largest_threads_for(limits, int(f["occupancy.registers_per_thread"]))
    text = "largest whole number of warps that the register file lets start"
    return {"occupancy.largest_block": (largest, "threads", text)}


def _cliffs(limits: SmLimits | None, f: Mapping[str, Value]) -> Outputs:
    assert limits is not None
    text = "largest block that fits so many times: capacity / n, rounded down, without the reserve"
    sizes = smem_cliffs(limits)
    cliffs: dict[str, tuple[Value | None, str, str]] = {
        f"smem.cliffs.{count}": (size, "B", text) for count, size in sizes.items()
    }
    return {"smem.cliff": (sizes.get(2), "B", text.replace("so many times", "twice")), **cliffs}


def _doubled(limits: SmLimits | None, f: Mapping[str, Value]) -> Outputs:
    assert limits is not None
    carveout = f.get("occupancy.carveout")
    found = doubling(limits, int(f["smem.per_block"]), None if carveout is None else int(carveout))
    text = "blocks per SM by shared memory alone"
    return {
        "smem.blocks_per_sm": (found.blocks_now, "blocks", text),
        "smem.doubled.per_block": (found.smem_bytes, "B", "2 x shared memory per block"),
        "smem.doubled.blocks_per_sm": (found.blocks_doubled, "blocks", f"{text}, were it doubled"),
    }
