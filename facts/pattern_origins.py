"""Where values come from: thread index, block index, memory. A forward pass over the function.

A value is described by a set of origins, held as the bits of an integer. A thread index that goes
through an operation which can give several threads the same value (a right shift, a mask, a
comparison) turns into an origin of its own, named after the place of that operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property, lru_cache
from heapq import heappop, heappush

from ..parsers.listing import Instruction, Operand
from ..parsers.record import dataclass
from .dep_operands import PREDICATE
from .pattern_scope import Line, Scope, memory_operands, registers_of
from .pattern_slice import READS_SPECIAL, Needed, needed_lines

REMAPS = "kernel.remaps_blocks"  # asks for the origins of what LOSSY opcodes read
LOSSY = frozenset({"SHF", "USHF", "LOP3", "ULOP3", "I2F", "I2FP", "MUFU", "IMNMX", "VIMNMX"})
_THREAD = "SR_TID."
_LANE = ("SR_LANEID", "SR_LTMASK", "SR_EQMASK", "SR_LEMASK", "SR_GTMASK", "SR_GEMASK")
_BLOCK = "SR_CTAID."
_DIMENSIONS = ("X", "Y", "Z")
_LOADS = frozenset({"load_global", "load_generic", "load_shared", "load_texture"})
# Different operands give different results, so that threads stay apart.
_KEEPS_APART = frozenset({"IADD3", "UIADD3", "IADD", "VIADD", "UIADD", "IMAD", "UIMAD", "LEA",
                          "ULEA", "MOV", "UMOV", "R2UR"})  # fmt: skip
_SHIFTS = frozenset({"SHF", "USHF", "SHL"})
_NONE: frozenset[int] = frozenset()


@dataclass(slots=True)
class _State:
    """Origins by register, those that have any. Slots of the stack are registers below zero.

    After a guarded write the old value may stay, so both are kept; but what runs under the same
    guard sees the new one, as long as neither register nor predicate is written again.
    """

    masks: dict[int, int]
    guarded: dict[int, tuple[str, int, int]] = field(default_factory=dict)

    def read(self, register: int, guard: str | None) -> int:
        under = self.guarded.get(register)
        if under is not None and under[0] == guard:
            return under[2]
        return self.masks.get(register, 0)

    def write(self, register: int, mask: int, guard: str | None, predicate: int | None) -> None:
        if register >= PREDICATE and self.guarded:
            self.guarded = {r: g for r, g in self.guarded.items() if g[1] != register}
        if guard is None or predicate is None:
            if mask:
                self.masks[register] = mask
            else:
                self.masks.pop(register, None)
            self.guarded.pop(register, None)
            return
        before = self.guarded.get(register)
        if before is not None and before[1] == predicate and before[0] != guard:
            self.masks[register] = before[2] | mask  # `@P0` and `@!P0`: one of them wrote
        else:
            self.masks[register] = self.masks.get(register, 0) | mask
        self.guarded[register] = (guard, predicate, mask)


@dataclass(frozen=True, slots=True)
class _Move:
    """What the pass needs of a line, worked out once; `under` is its guard as it is written."""

    position: int
    instruction: Instruction
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    guard: int | None
    under: str | None
    kind: str  # how the origins of results follow from those of operands
    slot: int | None  # place on the stack
    stored: tuple[int, ...] | None  # registers that go there
    asked: frozenset[int]  # registers whose origins somebody may ask for
    touched: frozenset[int]  # all registers of the line, with its place on the stack

    @property
    def results(self) -> tuple[int, ...]:
        return self.writes if self.slot is None else (*self.writes, self.slot)


class Origins:
    """Answers "what does this operand depend on" for every instruction of a function."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self._bits: dict[tuple[str, object], int] = {}
        self._names: list[tuple[str, object]] = []
        self._kinds: dict[str, int] = {}  # all bits of each kind
        self._whole = 0  # those of indices that are no parts
        self._before: dict[int, dict[int, int]] = {}
        self._run()

    # Origins that a mask may hold

    def mask(self, kind: str) -> int:
        """Give the bits of all origins of a kind: thread, part, block, block part, load."""
        return self._kinds.get(kind, 0)

    def of_kind(self, mask: int, kind: str) -> set[object]:
        """Name the origins of a kind in a mask: dimensions, or positions of instructions."""
        left, found = mask & self.mask(kind), set()
        while left:
            lowest = left & -left
            found.add(self._names[lowest.bit_length() - 1][1])
            left ^= lowest
        return found

    @cached_property
    def threads(self) -> int:
        """Give the bits that say: differs between the threads of a block."""
        return self.mask("thread") | self.mask("part")

    @cached_property
    def memory(self) -> int:
        """Give the bits that say: was loaded."""
        return self.mask("load")

    def parts_threads(self, position: int) -> bool:
        """Tell whether an instruction makes something of the thread index that is not linear."""
        return ("part", position) in self._bits

    @cached_property
    def dimensions(self) -> set[object]:
        """Name the dimensions of the thread index that the function reads."""
        return {key for kind, key in self._names if kind == "thread"}

    # Answers

    def before(self, line: Line) -> dict[int, int]:
        """Give the origins of the registers of an address, or of what a branch reads.

        With `kernel.remaps_blocks` wanted, also of what a LOSSY opcode reads. `needed_lines` says
        of which lines; of others nothing is known.
        """
        return self._before.get(line.position, {})

    def address(self, line: Line, operand: Operand) -> int:
        """Give the origins of an address: of its low word, an upper word adds nothing."""
        known = self.before(line)
        return self._joined(known.get(number, 0) for number in registers_of(operand))

    def of_address(self, line: Line) -> int:
        """Give the origins of the address that a memory instruction goes to."""
        return self._joined(self.address(line, o) for o in memory_operands(line.instruction))

    def guard(self, line: Line) -> int:
        """Give the origins of the condition of a branch: its guard, and what it reads."""
        return self._joined(self.before(line).values())

    # The pass

    def _run(self) -> None:
        """Go over the blocks until nothing changes; masks only grow, so that ends.

        The one that stands first in the flow goes first: it is visited once for all ways that meet
        in it, not once for each.
        """
        scope, asked_of = self.scope, LOSSY if REMAPS in self.scope.wanted else ()
        needed, matters = needed_lines(scope, asked_of)
        by_block = {block: [_move(each) for each in lines] for block, lines in needed.items()}
        entering: dict[int, dict[int, int]] = {root: {} for root in scope.flow.roots}
        waiting = sorted((scope.ranks[root], root) for root in entering)
        queued = set(entering)
        changed: dict[int, set[int]] = {}  # by block: registers that differ since its last visit
        written: dict[int, set[int]] = {}  # by block, from its second visit on
        visited: set[int] = set()
        while waiting:
            _, block = heappop(waiting)
            queued.discard(block)
            moves = by_block.get(block, ())
            new = changed.pop(block, _NONE)
            if block not in visited:
                visited.add(block)
                masks = self._masks_behind(moves, entering[block])
            elif all(move.touched.isdisjoint(new) for move in moves):
                masks = {each: entering[block][each] for each in new}  # they pass through it
            else:
                if block not in written:
                    written[block] = {each for move in moves for each in move.results}
                found = self._masks_behind(moves, entering[block])
                masks = {each: found[each] for each in written[block] | new if each in found}
            for target in scope.following[block]:
                grown = _merge(entering, target, masks, matters[target])
                if grown is None:
                    continue
                changed.setdefault(target, set()).update(grown)
                if target not in queued:
                    heappush(waiting, (scope.ranks[target], target))
                    queued.add(target)

    def _masks_behind(self, moves: Iterable[_Move], entering: Mapping[int, int]) -> dict[int, int]:
        state = _State(dict(entering))
        for move in moves:
            self._step(move, state)
        return state.masks

    def _step(self, move: _Move, state: _State) -> None:
        masks, guard, guarded = state.masks, move.guard, state.guarded
        mask = 0
        if guarded:
            for number in move.reads:
                mask |= state.read(number, move.under)
        else:
            for number in move.reads:
                mask |= masks.get(number, 0)
        if move.asked or guard is not None:
            known = {number: state.read(number, move.under) for number in move.asked}
            if guard is not None:
                known[guard] = masks.get(guard, 0)
            self._before[move.position] = known
        condition = 0 if guard is None else masks.get(guard, 0)
        if move.stored is not None and move.slot is not None:
            stored = self._joined(state.read(number, move.under) for number in move.stored)
            state.write(move.slot, stored | condition, move.under, guard)
        result, other = self._results(move, mask, masks)
        for register in move.writes:
            if guard is None and not guarded:
                if result:
                    masks[register] = result
                else:
                    masks.pop(register, None)
            else:
                state.write(register, result | condition, move.under, guard)
            result = other

    def _results(self, move: _Move, mask: int, masks: dict[int, int]) -> tuple[int, int]:
        """Give the origins of the first result and of the others.

        `mask` has those of everything that is read.
        """
        kind, position = move.kind, move.position
        if kind == "mixed" or kind == "distinct":
            if not mask:
                return 0, 0
            if kind == "distinct" and len(move.writes) == 1:
                return mask, mask
            blurred = self._blurred(mask, position)
            return mask if kind == "distinct" else blurred, blurred
        if kind == "stack":
            found = 0 if move.slot is None else masks.get(move.slot, 0)
        elif kind == "special":
            found = self._joined(self._special(o) for o in move.instruction.operands)
        elif kind == "load":
            found = self._bit("load", position) | self._blurred(mask, position)
        elif kind == "vote":
            found = mask & ~(self.mask("thread") | self.mask("part"))
        else:
            found = mask | self._bit("part", position)  # a shuffle
        return found, found

    def _blurred(self, mask: int, position: int) -> int:
        """Turn whole indices into parts of them, named after the place where that happens."""
        kinds = self._kinds
        if not mask & self._whole:
            return mask
        for whole, part in (("thread", "part"), ("block", "block part")):
            bits = kinds.get(whole, 0) & mask
            if bits:
                mask = mask & ~bits | self._bit(part, position)
        return mask

    def _special(self, operand: Operand) -> int:
        name = operand.text
        for prefix, kind in ((_THREAD, "thread"), (_BLOCK, "block")):
            if name.startswith(prefix) and name[len(prefix) :] in _DIMENSIONS:
                return self._bit(kind, name[len(prefix) :])
        return self._bit("part", name) if name.startswith(_LANE) else 0

    def _bit(self, kind: str, key: object) -> int:
        known = self._bits.get((kind, key))
        if known is None:
            known = self._bits[kind, key] = 1 << len(self._names)
            self._names.append((kind, key))
            self._kinds[kind] = self._kinds.get(kind, 0) | known
            if kind in ("thread", "block"):
                self._whole |= known
        return known

    @staticmethod
    def _joined(masks: Iterable[int]) -> int:
        found = 0
        for mask in masks:
            found |= mask
        return found


def _merge(
    entering: dict[int, dict[int, int]], target: int, masks: dict[int, int], matters: set[int]
) -> Iterable[int] | None:
    """Add what matters in a block to what enters it; give what is more than before."""
    if len(masks) < len(matters):
        found = {each: mask for each, mask in masks.items() if each in matters}
    else:
        found = {each: masks[each] for each in matters if each in masks}
    known = entering.get(target)
    if known is None:
        entering[target] = found
        return found
    grown = []
    for register, mask in found.items():
        old = known.get(register, 0)
        if mask is not old and mask | old != old:
            known[register] = mask | old
            grown.append(register)
    return grown or None


def _move(needed: Needed) -> _Move:
    """Work out once what each visit of a line needs."""
    line, access = needed.line, needed.access
    instruction, family = line.instruction, line.family
    kind = _kind(family, instruction.opcode, instruction.modifiers)
    touched = access.touched if needed.slot is None else access.touched | {needed.slot}
    data = access.data if family == "store_local" and needed.slot is not None else None
    return _Move(
        line.position, instruction, access.reads, access.writes, access.guard,
        instruction.predicate, kind, needed.slot, data, needed.asked, touched,
    )  # fmt: skip


@lru_cache(maxsize=1 << 12)
def _kind(family: str, opcode: str, modifiers: tuple[str, ...]) -> str:
    """Say how the origins of a result follow from those of the operands."""
    if family == "load_local":
        return "stack"
    if opcode in READS_SPECIAL:
        return "special"
    if family in _LOADS:
        return "load"
    if family in ("vote", "shuffle"):
        return family
    is_whole = not {"HI", "R", "X"} & set(modifiers)
    return "distinct" if is_whole and opcode in _KEEPS_APART | _SHIFTS else "mixed"
