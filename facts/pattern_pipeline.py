"""How loads and arithmetic of the K-tile loop follow each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain

from .dep_operands import Access
from .dep_sequence import once, ordinary_sequence
from .loop_values import Values
from .mix import at_addresses
from .model import Fact, Missing
from .pattern_scope import Line, Scope, chosen, count, executed
from .tile_facts import NO_LOOP

REGISTER_BYTES = 4
_GLOBAL = ("load_global", "load_generic")
_LOADS = (*_GLOBAL, "load_shared")
_PASSES_ON = ("conversion", "move")
_GROUP_WAIT = "DEPBAR"
_HOPS = 3  # conversions and moves between a load and the product that uses it


def pipeline_facts(scope: Scope) -> tuple[list[Fact], list[Missing]]:
    """Give what covers the loads, what a copy leaves under way, products of loaded values."""
    facts: list[Fact] = []
    missing: list[Missing] = []
    for name, find in _PARTS.items():
        if name in scope.wanted:
            found = find(scope)
            if isinstance(found, Fact):
                facts.append(found)
            else:
                missing.append(found)
    return facts, missing


def _fusable(scope: Scope) -> Fact:
    return count("loop.fusable_pairs", fusable_pairs(scope))


def _cover(scope: Scope) -> Fact | Missing:
    """Measure how much of the loop's arithmetic stands between a load and its first use."""
    tile = scope.kernel.tile
    if tile is None:
        return _nothing("loop.cover_fraction", NO_LOOP)
    order = list(once(ordinary_sequence(scope.kernel.loops, tile.loop, tile.weights)))
    known = {line.position: line for line in scope.loop}
    lines = [known[position] for position in order if position in known]
    computing = [line.family.startswith("compute_") for line in lines]
    loads = [at for at, line in enumerate(lines) if line.family in _GLOBAL]
    if not any(computing) or not loads:
        reason = "the loop computes nothing" if loads else "the loop has no load into registers"
        return _nothing("loop.cover_fraction", reason)
    accesses = [scope.access(line) for line in lines]
    before = list(accumulate(computing, initial=0))
    between = [_until_use(at, accesses, before) for at in loads]
    share = sum(between) / len(between) / before[-1]
    at = at_addresses(lines[load].address for load in loads)
    return Fact("loop.cover_fraction", share, "", at)


def _until_use(at: int, accesses: Sequence[Access], before: Sequence[int]) -> int:
    """Count compute instructions from a load to the first use of its value, round the loop.

    `before` counts those in front of each instruction, and all of them at its end.
    """
    loaded = set(accesses[at].writes)
    for index in chain(range(at + 1, len(accesses)), range(at + 1)):
        access = accesses[index]
        if not loaded.isdisjoint(access.read):
            return before[index] - before[at + 1] + (before[-1] if index <= at else 0)
        if access.guard is None:
            loaded -= access.written
        if not loaded:
            return 0
    return before[-1]


def _groups_left(scope: Scope) -> Fact | Missing:
    """Read from `DEPBAR.LE SB0, n` how many groups of copies may stay under way at the wait."""
    waits = [line for line in scope.loop if line.instruction.opcode == _GROUP_WAIT]
    if not chosen(scope.loop, ("async_copy",)):
        return _nothing("loop.async_groups_left", "the loop has no asynchronous copy")
    left = [
        int(o.value)
        for line in waits
        for o in line.instruction.operands
        if o.kind == "immediate" and isinstance(o.value, int)
    ]
    if not left:
        reason = "no wait for a group of copies stands in the loop"
        return Missing("loop.async_groups_left", reason)
    at = at_addresses(line.address for line in waits)
    return Fact("loop.async_groups_left", max(left), "", at)


def _load_registers(scope: Scope) -> Fact | Missing:
    loads = chosen(scope.loop, (*_GLOBAL, "async_copy"))
    if not loads:
        return _nothing("tile.load_registers", "the loop loads nothing from global memory")
    loaded = executed(loads, lambda line: line.info.bytes_per_thread if line.info else None)
    if loaded is None:
        return Missing("tile.load_registers", "how much an iteration loads is not known")
    at = at_addresses(line.address for line in loads)
    return Fact("tile.load_registers", loaded / REGISTER_BYTES, "registers", at)


def _loaded_products(scope: Scope) -> Fact | Missing:
    """Find multiply-adds both of whose factors were loaded in the loop, as in a matrix product."""
    products = [x for x in chosen(scope.loop, ("compute_fma",)) if _is_multiply_add(x)]
    if not products:
        reason = "the loop has no multiply-add outside of the tensor cores"
        return _nothing("loop.loaded_products_fraction", reason)
    loaded = _Factors(scope).loaded(products)
    at = at_addresses(line.address for line in loaded)
    return Fact("loop.loaded_products_fraction", len(loaded) / len(products), "", at)


def _is_multiply_add(line: Line) -> bool:
    opcode = line.instruction.opcode
    return opcode.startswith(("FFMA", "DFMA", "HFMA2", "IDP"))


class _Factors:
    """Tells whether the factors of products were loaded in the loop."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.inside = {line.position: line for line in scope.loop}
        self.outside: dict[tuple[int, int], bool] = {}  # by block and register
        self.written: dict[int, bool] = {}  # by position of the write

    def loaded(self, products: Sequence[Line]) -> list[Line]:
        """Give those, in the order of the code, all of whose factors a load in the loop brings."""
        found, accesses, written = [], self.scope.values.accesses.all, self.written
        block, at = -1, 0
        last: dict[int, int] = {}  # register -> its last write in the block so far
        for line in products:
            if line.block != block:
                block, at, last = line.block, self.scope.flow.blocks[line.block].first, {}
            for position in range(at, line.position):
                for register in accesses[position].writes:
                    last[register] = position
            at = line.position
            for operand in line.instruction.operands[1:3]:
                if not operand.registers:
                    break
                write = last.get(operand.registers[0])
                if write is None:
                    is_loaded = self._from_outside(operand.registers[0], line)
                elif write in written:
                    is_loaded = written[write]
                else:
                    is_loaded = written[write] = self._brings({write}, _HOPS)
                if not is_loaded:
                    break
            else:
                found.append(line)
        return found

    def _from_outside(self, register: int, line: Line) -> bool:
        key = (line.block, register)
        if key not in self.outside:
            writes = reaching(self.scope.values, register, line.position)
            self.outside[key] = self._brings(writes, _HOPS)
        return self.outside[key]

    def _brings(self, writes: set[int], hops: int) -> bool:
        """Tell whether all writes in the loop are loads, or pass on what a load brought."""
        writers = [self.inside[write] for write in writes if write in self.inside]
        if not writers or not hops:
            return False
        for writer in writers:
            if writer.family in _LOADS:
                continue
            sources = self.scope.access(writer).data
            if writer.family not in _PASSES_ON or not sources:
                return False
            reached = reaching(self.scope.values, sources[0], writer.position)
            if not self._brings(reached, hops - 1):
                return False
        return True


def reaching(values: Values, register: int, position: int) -> set[int]:
    """Give the positions of all writes of a register that may reach an instruction."""
    found = values.definition_in_block(register, position)
    if found is not None:
        return {found}
    flow = values.flow
    start = flow.block_of[position]
    waiting, seen, writes = [start], set[int](), set[int]()
    while waiting:
        block = waiting.pop()
        for edge in flow.predecessors[block]:
            if edge.source in seen or edge.source not in flow.reachable:
                continue
            seen.add(edge.source)
            end = flow.blocks[edge.source].end
            last = _last_write(values, register, end)
            if last is None:
                waiting.append(edge.source)
            else:
                writes.add(last)
    return writes


def _last_write(values: Values, register: int, end: int) -> int | None:
    last = end - 1
    if register in values.access(last).writes:
        return last
    return values.definition_in_block(register, last)


# Multiplications and additions that one instruction could do


def fusable_pairs(scope: Scope) -> list[Line]:
    """Find FMUL whose only use is one FADD of the same block: FFMA does both at once."""
    found = []
    by_block: dict[int, list[Line]] = {}
    for line in scope.body:
        by_block.setdefault(line.block, []).append(line)
    for lines in by_block.values():
        for at, line in enumerate(lines):
            if line.instruction.opcode == "FMUL" and line.instruction.predicate is None:
                if _only_user_adds(at, lines, scope):
                    found.append(line)
    return found


def _only_user_adds(at: int, lines: Sequence[Line], scope: Scope) -> bool:
    """Tell whether one FADD alone reads the result before it is written again.

    In a loop of one block the lines above it come behind it.
    """
    accesses = scope.values.accesses.all
    written = accesses[lines[at].position].writes
    if not written:
        return False  # it goes to RZ
    register = written[0]
    is_read = False
    goes_round = any(
        edge.target == lines[at].block for edge in scope.flow.successors[lines[at].block]
    )
    rest = lines[at + 1 :] if not goes_round else [*lines[at + 1 :], *lines[: at + 1]]
    for line in rest:
        access = accesses[line.position]
        if register in access.read:
            if is_read or line.instruction.opcode != "FADD":
                return False
            is_read = True
        if register in access.written and access.guard is None:
            return is_read
    return False


_PARTS: dict[str, Callable[[Scope], Fact | Missing]] = {
    "loop.fusable_pairs": _fusable,
    "loop.cover_fraction": _cover,
    "loop.async_groups_left": _groups_left,
    "loop.loaded_products_fraction": _loaded_products,
    "tile.load_registers": _load_registers,
}


def _nothing(name: str, reason: str) -> Missing:
    """Say that a question does not arise for this loop."""
    return Missing(name, reason, applies=False)
