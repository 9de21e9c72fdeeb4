"""Remedies of what runs: shuffles for barriers, full lanes, more products per load."""

from __future__ import annotations

from ..parsers.record import replace
from .executed import lane_shares
from .remedies_memory import LOADS
from .remedy_draft import Draft, Figures, looping
from .spans import NOTHING, exactly

BARRIER = "BAR"


def shuffled(draft: Draft, _: Figures) -> bool:
    """Let a shuffle do what stores, loads and a barrier did: one per barrier and warp."""
    code = draft.found.emulation.program.function.instructions
    barriers = [i.address for i in code if i.opcode == BARRIER]
    steps = sum(draft.counts.get(address, NOTHING).value for address in barriers)
    shared = [a for a in draft.accesses.values() if a.space == "shared"]
    loads = [a for a in shared if a.kind == "load"]
    loaded = sum(a.executions for a in loads)
    if not steps or not loaded:
        return False
    for address in (*barriers, *(a.address for a in shared if a.kind != "load")):
        draft.drop(address)
    for access in loads:
        draft.scale(access.address, min(1.0, steps / loaded))
        one = draft.accesses[access.address]
        draft.accesses[access.address] = replace(one, wavefronts=exactly(one.executions))
    return True


def full_lanes(draft: Draft, _: Figures) -> bool:
    """Let all lanes of a warp go the same way: as many lanes in fewer warp instructions."""
    changed = False
    for address, share in lane_shares(draft.found.emulation).items():
        if 0.0 < share < 1.0:
            draft.scale(address, share)
            changed = True
    return changed


def register_tile(draft: Draft, figures: Figures) -> bool:
    """Let a load feed as many operations as a square tile of outputs in registers lets it."""
    return _feed(draft, figures.ops_per_load, None)


def register_row(draft: Draft, figures: Figures) -> bool:
    """Let a thread compute a row of outputs: one of the two operands serves them all."""
    return _feed(draft, figures.ops_per_load, figures.loads_of_row)


def _feed(draft: Draft, wanted: float, factor: float | None) -> bool:
    """Scale the loads of the products, and everything in the loop that serves as many outputs.

    The tile of a block grows with those of its threads, so what is copied per product shrinks as
    the loads do: n x m outputs need n + m operands in registers and in shared memory alike.
    """
    found = draft.found
    in_loop = looping(found.emulation)
    loads = [a for a in draft.accesses.values() if a.kind == "load" and in_loop(a.address)]
    feeding = [a for a in loads if a.space == "shared"] or [a for a in loads if a.space == "global"]
    ops = found.products(draft.counts)
    loaded = sum(a.executions for a in feeding)
    if not ops or not loaded or ops / loaded >= wanted:
        return False
    if factor is None:
        factor = ops / loaded / wanted
    for instruction in found.work.function.instructions:
        if in_loop(instruction.address) and not found.flops_of(instruction):
            draft.scale(instruction.address, factor)
    return True


def larger_tile(draft: Draft, figures: Figures) -> bool:
    """Let a tile twice as long on one side be loaded, stored to shared memory and read again."""
    in_loop = looping(draft.found.emulation)
    feeding = [
        a.address
        for a in draft.accesses.values()
        if in_loop(a.address) and (a.kind in LOADS or a.space == "shared")
    ]
    for address in feeding:
        draft.scale(address, figures.traffic_of_larger_tile)
    return bool(feeding)
