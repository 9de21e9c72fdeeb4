"""Which lines the origins of addresses and conditions rest on: a backward pass over the function.

Most lines of a kernel compute data that no address and no condition depends on.
"""

from __future__ import annotations

from collections.abc import Container
from heapq import heappop, heappush

from ..parsers.listing import Instruction
from ..parsers.record import dataclass
from .dep_operands import Access
from .model import Wanted
from .pattern_scope import MERGE_FIGURES, SHARED, Line, Scope, chosen, memory_operands, registers_of

READS_SPECIAL = frozenset({"S2R", "S2UR", "CS2R"})
_STACK = 1  # R1 is the stack pointer; spilled values stand at fixed offsets from it
_NONE: frozenset[int] = frozenset()
_OF_STORES, _OF_SHARED = ("store_global", "store_generic"), ("load_shared",)
_ASKED_BY = {  # addresses of global loads and atomics are always asked for
    **{f"stores.{figure}": _OF_STORES for figure in MERGE_FIGURES},
    **{f"loads.shared.{figure}": _OF_SHARED for figure in MERGE_FIGURES},
    "loads.chased": _OF_SHARED,
    "gather.shared_accesses": SHARED,
}


@dataclass(frozen=True, slots=True)
class Needed:
    """A line that an answer may rest on.

    `asked` are the registers whose origins are asked for at the line, `slot` is its place on the
    stack, as a register below zero.
    """

    line: Line
    access: Access
    asked: frozenset[int]
    slot: int | None = None


Rests = tuple[dict[int, list[Needed]], dict[int, set[int]]]


def needed_lines(scope: Scope, asked_of: Container[str] = ()) -> Rests:
    """Give the lines that answers may rest on, by block and in the order of the code.

    The second are the registers that answers may rest on at the start of each block.

    Answers are about branches of the K-tile loop, addresses of any loop and of atomics, as far as a
    fact that is wanted asks for them, and what lines of the opcodes `asked_of` read; without a
    K-tile loop, about addresses anywhere. Lines that read a special register are always among them.
    """
    families = _asked_families(scope.wanted)
    seeds: dict[int, Needed] = {}
    looping = scope.looping if scope.loop else {block.index for block in scope.flow.blocks}
    accesses = scope.values.accesses.all
    for line in scope.lines:
        instruction, position = line.instruction, line.position
        opcode = instruction.opcode
        if opcode in asked_of or (line.family == "control" and line.is_in_loop):
            access = accesses[position]
            seeds[position] = Needed(line, access, access.read)
        elif opcode in READS_SPECIAL:
            seeds[position] = Needed(line, accesses[position], _NONE)
        elif line.family in families and (
            line.block in looping or line.is_in_loop or line.family.startswith("atomic")
        ):
            asked = _addresses(instruction)
            if asked:
                seeds[position] = Needed(line, accesses[position], asked)
    for line in chosen(scope.lines, ("store_local", "load_local")):
        access = accesses[line.position]
        seeds[line.position] = Needed(line, access, _NONE, _slot(line.instruction))
    found = _Pass(scope, seeds)
    return found.needed(), found.entering


def _asked_families(wanted: Wanted) -> set[str]:
    """Name the kinds of accesses whose addresses decide a fact that is wanted."""
    asked = {"load_global", "load_generic", "atomic_global", "atomic_generic"}
    for name, families in _ASKED_BY.items():
        if name in wanted:
            asked.update(families)
    return asked


class _Pass:
    """Goes against the flow until no block needs more registers from those before it."""

    def __init__(self, scope: Scope, seeds: dict[int, Needed]) -> None:
        self.scope = scope
        self.flow = scope.flow
        self.accesses = scope.values.accesses.all
        self.seeds = seeds
        self.found: set[int] = set(seeds)
        self.entering: dict[int, set[int]] = {}  # registers that matter at the start of a block

    def needed(self) -> dict[int, list[Needed]]:
        """Give the needed lines by block."""
        flow = self.flow
        ranks = self.scope.ranks
        before: dict[int, list[int]] = {}
        for block in flow.reachable:
            for target in self.scope.following[block]:
                before.setdefault(target, []).append(block)
        queued = set(flow.reachable)
        waiting = [(-ranks[block], block) for block in sorted(queued, key=lambda b: -ranks[b])]
        while waiting:
            _, block = heappop(waiting)
            queued.discard(block)
            if self._grows(block):
                for source in before.get(block, ()):
                    if source not in queued:
                        heappush(waiting, (-ranks[source], source))
                        queued.add(source)
        needed: dict[int, list[Needed]] = {}
        for line in self.scope.lines:
            if line.position in self.found:
                seed = self.seeds.get(line.position)
                access = self.accesses[line.position]
                needed.setdefault(line.block, []).append(seed or Needed(line, access, _NONE))
        return needed

    def _grows(self, block: int) -> bool:
        """Go through a block from its end; tell whether more matters at its start than before."""
        matters: set[int] = set()
        for target in self.scope.following[block]:
            matters |= self.entering.get(target, _NONE)
        span = self.flow.blocks[block]
        instructions = self.flow.function.instructions
        for position in range(span.end - 1, span.first - 1, -1):
            access = self.accesses[position]
            seed = self.seeds.get(position)
            if seed is not None:
                _pass_seed(seed, matters)
            elif not access.written.isdisjoint(matters):
                if instructions[position].never_executes:
                    continue
                self.found.add(position)
                _pass(access, access.read, matters)
        known = self.entering.get(block)
        self.entering[block] = matters
        return known is None or not matters <= known


def _pass_seed(seed: Needed, matters: set[int]) -> None:
    access, slot = seed.access, seed.slot
    if slot is not None and seed.line.family == "store_local":
        if slot in matters:
            if access.guard is None:
                matters.discard(slot)
            matters.update(access.data)
    elif slot is not None:
        if not access.written.isdisjoint(matters):
            _pass(access, (slot,), matters)
    elif not access.written.isdisjoint(matters):
        _pass(access, access.read, matters)
    matters |= seed.asked
    if access.guard is not None:
        matters.add(access.guard)


def _pass(access: Access, reads: frozenset[int] | tuple[int, ...], matters: set[int]) -> None:
    if access.replaces:
        matters -= access.written
    matters.update(reads)
    if access.guard is not None:
        matters.add(access.guard)


def _addresses(instruction: Instruction) -> frozenset[int]:
    return frozenset(n for operand in memory_operands(instruction) for n in registers_of(operand))


def _slot(instruction: Instruction) -> int | None:
    """Give a number below zero for a fixed place on the stack, None for any other address."""
    operand = next(memory_operands(instruction), None)
    if operand is None or operand.registers != (_STACK,) or operand.uniforms:
        return None
    return None if operand.offset is None or operand.offset < 0 else -1 - operand.offset
