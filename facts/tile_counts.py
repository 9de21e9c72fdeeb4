"""Counts of one iteration of the K-tile loop by emulation, where the code alone leaves them open.

A loop inside of the tile loop (each thread copies its part of the tile) often runs as often as the
block size says, which the code does not. Executions of the launch over iterations of the loop give
the mean of all warps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from math import isfinite

from ..parsers.listing import Instruction
from .arch_table import ArchTable
from .code import CodeLoop
from .instructions import InstructionInfo
from .launch_work import LaunchWork
from .loop_roles import COMPUTE_PREFIX, GLOBAL_LOADS
from .model import Fact, Source, Value

REGISTER_BYTES = 4
Weigh = Callable[[InstructionInfo], float | None]


def _is_load(info: InstructionInfo) -> bool:
    return info.family in GLOBAL_LOADS


def _of_loads(info: InstructionInfo) -> float | None:
    return float(info.bytes_per_thread or 0) if _is_load(info) else 0.0


def _of_compute(info: InstructionInfo) -> float | None:
    return float(info.flops_per_warp or 0) if info.family.startswith(COMPUTE_PREFIX) else 0.0


COUNTS: dict[str, tuple[str, Weigh]] = {
    "tile.instructions": ("instructions", lambda info: 1.0),
    "tile.load_ops": ("loads", lambda info: float(_is_load(info))),
    "tile.load_bytes": ("B", _of_loads),
    "tile.load_registers": ("registers", lambda info: (_of_loads(info) or 0.0) / REGISTER_BYTES),
    "tile.compute_ops": (
        "instructions",
        lambda info: float(info.family.startswith(COMPUTE_PREFIX)),
    ),
    "tile.flops": ("FLOP", _of_compute),
}


def tile_counts(
    found: LaunchWork,
    code: Iterable[Instruction],
    table: ArchTable,
    loop: CodeLoop,
    wanted: Collection[str],
    operation: Value | None = None,
) -> list[Fact]:
    """Give the wanted facts of the loop; none where data decides a count, or the way through it.

    `operation` is the opcode that `tile.compute_ops` counts; without it, all arithmetic.
    """
    names = [name for name in COUNTS if name in wanted]
    counts = found.work.executed.counts
    addresses = set(loop.addresses)
    inside = [i for i in code if i.address in addresses and i.address in counts]
    if not names or not inside or not all(isfinite(counts[i.address].high) for i in inside):
        return []
    iterations = counts[loop.header].value if loop.header in counts else 0.0
    if not iterations:
        return []
    if any(counts[i.address].low <= 0 < counts[i.address].high for i in inside):
        return []  # a way that the emulation may have guessed
    source = Source("emulated", "executions / iterations of the loop")
    facts = []
    for name in names:
        unit, weigh = COUNTS[name]
        total = 0.0
        for instruction in inside:
            if name == "tile.compute_ops" and operation not in (None, instruction.opcode):
                continue
            info = table.info(instruction)
            each = (weigh(info) or 0.0) if info else 0.0
            total += counts[instruction.address].value * each
        value = total / iterations
        facts.append(Fact(name, _plain(value), unit, source))
    return facts


def _plain(value: float) -> int | float:
    """Give a whole number as one."""
    return int(round(value)) if abs(value - round(value)) < 1e-6 * max(1.0, value) else value
