"""What follows from code, launch and hardware: fill of the GPU, bytes under way, cliffs."""

from __future__ import annotations

import math
from collections.abc import Mapping

from .cliffs import largest_registers_for, largest_smem_for
from .derive import Derivation, Outputs
from .hardware import SmLimits
from .model import Value

LIMITS = "arch.max_warps_per_sm"  # present exactly where the architecture has a file


def pattern_derivations(limits: SmLimits | None) -> list[Derivation]:
    """Give `launch.sm_fill_fraction` and its like, `latency.*`, and what registers may grow to."""
    o, n = "occupancy.", "launch."
    return [
        Derivation(
            (o + "registers_to_cliff", o + "registers_without_loss", o + "registers_allowed"),
            (LIMITS, o + "registers_per_thread", n + "threads", o + "blocks_per_sm"),
            lambda f: _registers(limits, f),
        ),
        Derivation(
            ("smem.tile_that_keeps_blocks",),
            (LIMITS, o + "blocks_per_sm", "smem.per_block"),
            lambda f: _tile(limits, f),
        ),
        Derivation(
            (n + "blocks_per_busiest_sm", n + "sm_fill_fraction"),
            (n + "blocks", "device.sm_count"),
            _fill,
        ),
        Derivation((n + "tail_loss_fraction",), (n + "waves",), _tail),
        Derivation(
            (n + "resident_warps",),
            (n + "blocks_per_busiest_sm", n + "warps", o + "active_warps"),
            _resident,
        ),
        Derivation(
            ("headroom.problem",),
            (),
            _problem_headroom,
            ("roofline.attained_fraction", "baseline.gb_per_s", "roofline.peak_gb_per_s"),
        ),
        Derivation(
            ("latency.ns",),
            (),
            _latency,
            (
                "arch.loaded_dram_latency_ns",
                "arch.dram_latency_ns",
                "method.dram_latency_ns",
                "method.latency_load_factor",
            ),
        ),
        Derivation(
            ("latency.bytes_needed",),
            ("latency.ns", "roofline.peak_gb_per_s", "device.sm_count"),
            _bytes_needed,
        ),
        Derivation(
            ("loads.bytes_in_flight",),
            ("tile.loads_in_flight", "tile.load_bytes", "tile.load_ops"),
            _thread_bytes,
        ),
        Derivation(
            ("latency.bytes_in_flight",),
            (n + "resident_warps", "arch.threads_per_warp", "loads.bytes_in_flight"),
            _bytes_in_flight,
        ),
        Derivation(
            ("latency.warps_needed",),
            ("latency.bytes_needed", "arch.threads_per_warp", "loads.bytes_in_flight"),
            _warps_needed,
        ),
        Derivation(
            ("pipeline.buffers",),
            (),
            _buffers,
            ("loop.async_groups_left", "access.bulk.stage_bytes", "smem.per_block"),
        ),
        Derivation(("chain.cause_share",), ("chain.cause_ms", "baseline.time_ms"), _cause_share),
        Derivation(
            ("tile.wait_fraction",),
            (
                "tile.instructions",
                "tile.barriers",
                "tile.stages_through_shared",
                n + "resident_warps",
                "arch.sub_partitions",
                "latency.ns",
                "device.boost_ghz",
                "method.barrier_cycles",
                "method.prefetch_cover_fraction",
            ),
            _wait,
            ("loop.slowest_pipe_cycles", "loop.cover_fraction", "tile.tiles"),
        ),
    ]


def _registers(limits: SmLimits | None, f: Mapping[str, Value]) -> Outputs:
    """Inverse of the register limit: how far a thread may grow before a block is lost."""
    assert limits is not None
    registers, threads = int(f["occupancy.registers_per_thread"]), int(f["launch.threads"])
    blocks = int(f["occupancy.blocks_per_sm"])
    same = largest_registers_for(limits, blocks, threads) if blocks else None
    alone = largest_registers_for(limits, 1, threads)
    o = "occupancy.registers_"
    more = None if same is None else max(0, same - registers)
    return {
        o + "to_cliff": (more, "registers", "most registers at these blocks per SM - registers"),
        o + "without_loss": (same, "registers", "most registers at these blocks per SM"),
        o + "allowed": (alone, "registers", "most registers with which one block fits"),
    }


def _tile(limits: SmLimits | None, f: Mapping[str, Value]) -> Outputs:
    """The largest tile of which two fit in a block without losing a block per SM."""
    assert limits is not None
    blocks = int(f["occupancy.blocks_per_sm"])
    most = largest_smem_for(limits, blocks) if blocks else None
    name, rule = "smem.tile_that_keeps_blocks", "largest shared memory at these blocks per SM / 2"
    return {name: (None if most is None else most // 2, "B", rule)}


def _fill(f: Mapping[str, Value]) -> Outputs:
    """Blocks are dealt out one by one, so the busiest SM has the mean, rounded up."""
    mean = int(f["launch.blocks"]) / int(f["device.sm_count"])
    busiest = math.ceil(mean)
    return {
        "launch.blocks_per_busiest_sm": (busiest, "blocks", "blocks / SMs, rounded up"),
        "launch.sm_fill_fraction": (mean / busiest, "", "blocks / SMs / blocks of the busiest SM"),
    }


def _tail(f: Mapping[str, Value]) -> Outputs:
    waves = float(f["launch.waves"])
    loss = 1 - waves / math.ceil(waves)
    return {"launch.tail_loss_fraction": (loss, "", "1 - waves / waves rounded up")}


def _resident(f: Mapping[str, Value]) -> Outputs:
    from_grid = int(f["launch.blocks_per_busiest_sm"]) * int(f["launch.warps"])
    warps = min(from_grid, int(f["occupancy.active_warps"]))
    if not warps:
        return {"launch.resident_warps": (None, "warps", "no block fits")}
    text = "min(warps that fit, warps that the grid gives the busiest SM)"
    return {"launch.resident_warps": (warps, "warps", text)}


def _problem_headroom(f: Mapping[str, Value]) -> Outputs:
    """To the roof of the problem: what lowers a bound of the code is held by this one alone.

    Without a peak for the arithmetic, bytes at DRAM bandwidth are the least time that is known.
    """
    attained = f.get("roofline.attained_fraction")
    text = "measured time / time at the roof of the problem"
    if attained is None and {"baseline.gb_per_s", "roofline.peak_gb_per_s"} <= f.keys():
        attained = float(f["baseline.gb_per_s"]) / float(f["roofline.peak_gb_per_s"])
        text = "measured time / time of the unique bytes at DRAM bandwidth"
    return {"headroom.problem": (max(1.0, 1 / float(attained)) if attained else None, "", text)}


def _latency(f: Mapping[str, Value]) -> Outputs:
    loaded = f.get("arch.loaded_dram_latency_ns")
    if loaded is not None:
        return {"latency.ns": (float(loaded), "ns", "DRAM latency under load")}
    own, factor = f.get("arch.dram_latency_ns"), f.get("method.latency_load_factor")
    unloaded = f.get("method.dram_latency_ns") if own is None else own
    if unloaded is None or factor is None:
        return {"latency.ns": (None, "ns", "no figure for the DRAM latency")}
    value = float(unloaded) * float(factor)
    what = "DRAM latency of one load" if own is not None else "assumed DRAM latency"
    return {"latency.ns": (value, "ns", f"{what} x what load adds to it")}


def _bytes_needed(f: Mapping[str, Value]) -> Outputs:
    """Little's law; GB/s times ns are bytes."""
    whole = float(f["roofline.peak_gb_per_s"]) * float(f["latency.ns"])
    value = whole / float(f["device.sm_count"])
    return {"latency.bytes_needed": (value, "B", "bandwidth x latency / SMs")}


def _thread_bytes(f: Mapping[str, Value]) -> Outputs:
    loads = float(f["tile.load_ops"])
    if not loads:
        return {"loads.bytes_in_flight": (None, "B", "the loop loads nothing")}
    value = float(f["tile.loads_in_flight"]) * float(f["tile.load_bytes"]) / loads
    return {"loads.bytes_in_flight": (value, "B", "loads under way x mean bytes of a load")}


def _bytes_in_flight(f: Mapping[str, Value]) -> Outputs:
    threads = float(f["launch.resident_warps"]) * float(f["arch.threads_per_warp"])
    value = threads * float(f["loads.bytes_in_flight"])
    return {"latency.bytes_in_flight": (value, "B", "resident threads x bytes that each has asked")}


def _warps_needed(f: Mapping[str, Value]) -> Outputs:
    per_warp = float(f["arch.threads_per_warp"]) * float(f["loads.bytes_in_flight"])
    if not per_warp:
        return {"latency.warps_needed": (None, "warps", "nothing is loaded")}
    value = math.ceil(float(f["latency.bytes_needed"]) / per_warp)
    return {"latency.warps_needed": (value, "warps", "bytes needed / bytes that a warp has asked")}


def _buffers(f: Mapping[str, Value]) -> Outputs:
    """Groups under way at the wait, one being filled, one being read; or tiles that fit."""
    left, stage, smem = (
        f.get(name)
        for name in ("loop.async_groups_left", "access.bulk.stage_bytes", "smem.per_block")
    )
    if left is not None:
        return {"pipeline.buffers": (int(left) + 2, "", "groups left under way at the wait + 2")}
    if stage and smem is not None:
        tiles = int(float(smem) // float(stage))
        return {"pipeline.buffers": (tiles, "", "shared memory / bytes of a bulk copy")}
    return {"pipeline.buffers": (None, "", "no asynchronous copies in the loop")}


def _cause_share(f: Mapping[str, Value]) -> Outputs:
    value = float(f["chain.cause_ms"]) / float(f["baseline.time_ms"])
    return {"chain.cause_share": (value, "", "what one warp waits for longest / measured time")}


def _wait(f: Mapping[str, Value]) -> Outputs:
    """Waiting and work of one iteration, put one after the other: nothing overlaps.

    Work is that of all warps of a scheduler, in issue slots or on the slowest pipe. Latency
    counts where loads are stored to shared memory with too little of the arithmetic between, once
    for each tile of the iteration.
    """
    exposed = bool(f["tile.stages_through_shared"])
    covered = float(f.get("loop.cover_fraction", 0.0))
    exposed = exposed and covered < float(f["method.prefetch_cover_fraction"])
    latency = float(f["latency.ns"]) * float(f["device.boost_ghz"]) if exposed else 0.0
    tiles = float(f.get("tile.tiles", 1.0))
    waiting = latency * tiles + float(f["tile.barriers"]) * float(f["method.barrier_cycles"])
    warps = float(f["launch.resident_warps"]) / float(f["arch.sub_partitions"])
    slots = max(float(f["tile.instructions"]), float(f.get("loop.slowest_pipe_cycles", 0.0)))
    total = waiting + warps * slots
    value = waiting / total if total else None
    text = "(exposed latency + barriers) / (those + issue or pipe cycles of all warps)"
    return {"tile.wait_fraction": (value, "", text)}
