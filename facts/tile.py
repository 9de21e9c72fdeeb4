"""The K tile: what one iteration of the main loop computes and loads, as executed.

Counts are those of one warp. Instructions whose guard is never true are filler and not counted;
other guarded instructions are, since the warp issues them all the same. An inner loop counts with
its trip count, a routine with its calls. Where the code alone does not settle a count it is a
range, and `expected` gives the one of an ordinary iteration where that can be told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..parsers.listing import Instruction
from .loop_choice import Rejected, choose
from .loop_conditions import Conditions
from .loop_ranges import Ranges
from .loop_roles import Role, Roles
from .loop_weights import NEVER, Times, Weights, total, weights
from .loops import Loop, Loops


@dataclass(frozen=True, slots=True)
class Counted:
    """A count and the addresses that it was counted at."""

    times: Times
    addresses: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TileLoop:
    """The chosen loop and one iteration of it.

    `compute_op` is the opcode that carries most of the FLOP, None where the loop has none, and
    `compute_ops` counts its instructions. `load_ops` counts LDG, LDGSTS and generic loads. Bytes
    are those of a thread, FLOP those of a warp, dense; None where a mnemonic does not tell.
    `bulk_copies` are counted apart by mnemonic, since their size stands in no instruction.
    """

    loop: Loop
    chosen_because: str
    rejected: tuple[Rejected, ...]
    weights: Weights
    instructions: Times
    compute_op: str | None
    compute_ops: Counted
    load_ops: Counted
    load_bytes: Times | None
    flops: Times | None
    flops_by_opcode: Mapping[str, Times | None]
    bulk_copies: Mapping[str, Counted]
    unknown_opcodes: Mapping[str, int]

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Say what was taken for granted in the expected counts."""
        return self.weights.assumptions

    @property
    def flop_fractions(self) -> dict[str, float]:
        """Give the share of each opcode in the FLOP of an iteration; empty where not known."""
        known = {op: t.expected for op, t in self.flops_by_opcode.items() if t is not None}
        if len(known) < len(self.flops_by_opcode) or None in known.values():
            return {}
        whole = sum(value or 0 for value in known.values())
        return {opcode: (value or 0) / whole for opcode, value in known.items()} if whole else {}


@dataclass(frozen=True, slots=True)
class _Line:
    """An instruction of the loop with its role and how often it runs."""

    instruction: Instruction
    role: Role
    times: Times


def tile_loop(loops: Loops, roles: Roles, ranges: Ranges) -> TileLoop | None:
    """Choose the K-tile loop and count one iteration of it, None where there is no such loop."""
    choice = choose(loops, roles, ranges)
    if choice is None:
        return None

    def work(block: int) -> int:
        found = [roles.of(i) for i in loops.flow.instructions(block) if not i.never_executes]
        return sum(1 + (role.is_compute or role.is_load) * len(found) for role in found)

    found = weights(loops, choice.loop, ranges, Conditions(ranges, work))
    lines = [
        _Line(instruction, roles.of(instruction), times)
        for block, times in sorted(found.times.items())
        if times.high != 0
        for instruction in loops.flow.instructions(block)
        if not instruction.never_executes
    ]
    flops = _flops_by_opcode(lines)
    compute_op = _heaviest(flops, lines)
    loads = [line for line in lines if line.role.is_load]
    copies: dict[str, list[_Line]] = {}
    for line in lines:
        if line.role.is_bulk_copy:
            copies.setdefault(line.instruction.mnemonic, []).append(line)
    return TileLoop(
        loop=choice.loop,
        chosen_because=choice.because,
        rejected=choice.rejected,
        weights=found,
        instructions=total(line.times for line in lines),
        compute_op=compute_op,
        compute_ops=_counted([line for line in lines if _is_op(line, compute_op)]),
        load_ops=_counted(loads),
        load_bytes=_sized(loads, lambda line: line.role.load_bytes),
        flops=_added(flops),
        flops_by_opcode=flops,
        bulk_copies={mnemonic: _counted(members) for mnemonic, members in copies.items()},
        unknown_opcodes=_unknown(lines),
    )


def _is_op(line: _Line, opcode: str | None) -> bool:
    return line.role.is_compute and line.instruction.opcode == opcode


def _counted(lines: list[_Line]) -> Counted:
    return Counted(
        total(line.times for line in lines), tuple(line.instruction.address for line in lines)
    )


def _sized(lines: list[_Line], size: Callable[[_Line], int | None]) -> Times | None:
    """Add up count times size; None where one of the sizes is not known."""
    result = NEVER
    for line in lines:
        each = size(line)
        if each is None:
            return None
        result = result.plus(line.times.times(Times(each, each, each)))
    return result


def _flops_by_opcode(lines: list[_Line]) -> dict[str, Times | None]:
    groups: dict[str, list[_Line]] = {}
    for line in lines:
        if line.role.is_compute:
            groups.setdefault(line.instruction.opcode, []).append(line)
    return {op: _sized(members, lambda line: line.role.flops) for op, members in groups.items()}


def _added(flops: Mapping[str, Times | None]) -> Times | None:
    known = [times for times in flops.values() if times is not None]
    return total(known) if len(known) == len(flops) else None


def _heaviest(flops: Mapping[str, Times | None], lines: list[_Line]) -> str | None:
    """Give the opcode with most FLOP; one whose FLOP cannot be read goes first."""
    if not flops:
        return None

    def weight(opcode: str) -> tuple[bool, int, int]:
        times = flops[opcode]
        count = sum(line.instruction.opcode == opcode for line in lines)
        if times is None:
            return (True, 0, count)
        return (False, times.low if times.expected is None else times.expected, count)

    return max(sorted(flops), key=weight)


def _unknown(lines: list[_Line]) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in lines:
        if not line.role.is_known:
            opcode = line.instruction.opcode
            found[opcode] = found.get(opcode, 0) + 1
    return found
