"""The K tile: what one iteration of the main loop computes and loads, as executed.

Counts are those of one warp. Instructions whose guard is never true are filler and not counted;
other guarded instructions are, since the warp issues them all the same. An inner loop counts with
its trip count, a routine with its calls. Where the code alone does not settle a count it is a
range, and `expected` gives the one of an ordinary iteration where that can be told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property

from ..parsers.collector import collector_paused
from ..parsers.listing import Instruction
from ..parsers.record import dataclass
from .loop_choice import Choice, Rejected, choose, executed
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


@dataclass(frozen=True)
class _Block:
    """The instructions of a block that execute, with their roles, and how often it runs."""

    lines: tuple[tuple[Instruction, Role], ...]
    times: Times

    @cached_property
    def in_a_role(self) -> list[tuple[Instruction, Role]]:
        """Give those that compute or bring something, often a few of many."""
        return [(i, role) for i, role in self.lines if role.is_any]


def tile_loop(loops: Loops, roles: Roles, ranges: Ranges) -> TileLoop | None:
    """Choose the K-tile loop and count one iteration of it, None where there is no such loop."""
    with collector_paused():
        choice = choose(loops, roles, ranges)
        return None if choice is None else _tile(choice, loops, roles, ranges)


def _tile(choice: Choice, loops: Loops, roles: Roles, ranges: Ranges) -> TileLoop:
    @cache
    def work(block: int) -> int:
        found = [roles.of(i) for i in loops.flow.instructions(block) if not i.never_executes]
        return sum(1 + (role.is_compute or role.is_load) * len(found) for role in found)

    found = weights(loops, choice.loop, ranges, Conditions(ranges, work))
    blocks = [
        _Block(tuple((i, roles.of(i)) for i in executed(loops.flow.instructions(block))), times)
        for block, times in sorted(found.times.items())
        if times.high != 0
    ]
    flops = _flops_by_opcode(blocks)
    compute_op = _heaviest(flops, blocks)
    copies = {i.mnemonic for block in blocks for i, role in block.in_a_role if role.is_bulk_copy}
    return TileLoop(
        loop=choice.loop,
        chosen_because=choice.because,
        rejected=choice.rejected,
        weights=found,
        instructions=total(
            block.times.times(_exactly(len(block.lines))) for block in blocks if block.lines
        ),
        compute_op=compute_op,
        compute_ops=_count(blocks, lambda i, role: role.is_compute and i.opcode == compute_op),
        load_ops=_count(blocks, lambda i, role: role.is_load),
        load_bytes=_load_bytes(blocks),
        flops=_added(flops),
        flops_by_opcode=flops,
        bulk_copies={name: _count(blocks, _named(name)) for name in sorted(copies)},
        unknown_opcodes=_unknown(blocks),
    )


def _named(mnemonic: str) -> Callable[[Instruction, Role], bool]:
    return lambda i, role: role.is_bulk_copy and i.mnemonic == mnemonic


def _count(blocks: Sequence[_Block], wanted: Callable[[Instruction, Role], bool]) -> Counted:
    times, addresses = NEVER, []
    for block in blocks:
        here = [i.address for i, role in block.in_a_role if wanted(i, role)]
        if here:
            times = times.plus(block.times.times(_exactly(len(here))))
            addresses += here
    return Counted(times, tuple(addresses))


def _load_bytes(blocks: Sequence[_Block]) -> Times | None:
    """Add up the bytes of a thread's loads; None where one of the sizes is not known."""
    result = NEVER
    for block in blocks:
        sizes = [role.load_bytes for _, role in block.in_a_role if role.is_load]
        known = [each for each in sizes if each is not None]
        if len(known) < len(sizes):
            return None
        if known:
            result = result.plus(block.times.times(_exactly(sum(known))))
    return result


def _flops_by_opcode(blocks: Sequence[_Block]) -> dict[str, Times | None]:
    found: dict[str, Times | None] = {}
    for block in blocks:
        sizes: dict[str, int | None] = {}
        for i, role in block.in_a_role:
            if role.is_compute:
                sizes[i.opcode] = _sum(sizes.get(i.opcode, 0), role.flops)
        for opcode, size in sizes.items():
            before = found.get(opcode, NEVER)
            if before is None or size is None:
                found[opcode] = None
            else:
                found[opcode] = before.plus(block.times.times(_exactly(size)))
    return dict(sorted(found.items()))


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


def _exactly(count: int) -> Times:
    return Times(count, count, count)


def _added(flops: Mapping[str, Times | None]) -> Times | None:
    known = [times for times in flops.values() if times is not None]
    return total(known) if len(known) == len(flops) else None


def _heaviest(flops: Mapping[str, Times | None], blocks: Sequence[_Block]) -> str | None:
    """Give the opcode with most FLOP; one whose FLOP cannot be read goes first."""
    if not flops:
        return None

    def weight(opcode: str) -> tuple[bool, int, int]:
        times = flops[opcode]
        count = sum(i.opcode == opcode for block in blocks for i, _ in block.in_a_role)
        if times is None:
            return (True, 0, count)
        return (False, times.low if times.expected is None else times.expected, count)

    return max(sorted(flops), key=weight)


def _unknown(blocks: Sequence[_Block]) -> dict[str, int]:
    names = (i.opcode for block in blocks for i, role in block.lines if not role.is_known)
    return dict(Counter(names))
