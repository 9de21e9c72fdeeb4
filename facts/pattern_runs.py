"""Runs of narrow memory accesses that one wider access could replace."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ..parsers.listing import Operand
from ..parsers.record import dataclass
from .dep_operands import UNIFORM
from .induction import step_of
from .loop_arithmetic import sources_of
from .loop_linear import Linear, Symbol
from .mix import at_addresses
from .model import Fact
from .pattern_origins import Origins
from .pattern_scope import MERGE_FIGURES, Line, Scope, at_start, count, memory_operands, size_of

WIDEST_BYTES = 16  # of a load or store instruction of one thread that every target has


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring accesses through one register that one wider access could replace."""

    lines: tuple[Line, ...]
    bytes: int  # of the wider access

    @property
    def saved(self) -> int:
        return len(self.lines) - 1


def run_facts(name: str, lines: Sequence[Line], scope: Scope, origins: Origins) -> list[Fact]:
    if not any(f"{name}.{figure}" in scope.wanted for figure in MERGE_FIGURES):
        return []
    aligned = [(run, alignment(run, scope, origins)) for run in runs(lines, scope)]
    found = [run for run, is_aligned in aligned if is_aligned is not False]
    members = [line for run in found for line in run.lines]
    widest = max((run.bytes for run in found), default=0)
    saved = sum(run.saved for run in found)
    at = at_addresses(line.address for line in members)
    facts = [
        count(f"{name}.mergeable", members, "loads" if name != "stores" else "instructions"),
        Fact(f"{name}.mergeable_saved", saved, "instructions", at),
        Fact(f"{name}.merged_bytes", widest, "B", at),
    ]
    if name == "loads":
        doubtful = [run.lines[0] for run, is_aligned in aligned if is_aligned is None]
        facts.append(count("loads.alignment_unknown", doubtful, "loads"))
    return facts


def runs(lines: Iterable[Line], scope: Scope) -> list[Run]:
    """Find runs of accesses of one width, at consecutive offsets from the same register value.

    A run starts at a multiple of the wider access, as far as the constants in the address tell.
    """
    groups: dict[tuple[object, ...], list[tuple[int, Line]]] = {}
    for line in lines:
        operand = next(memory_operands(line.instruction), None)
        size = size_of(line)
        if operand is None or not 0 < size < WIDEST_BYTES or operand.offset is None:
            continue
        key = (line.block, size, line.instruction.predicate, *base_of(operand, line, scope))
        groups.setdefault(key, []).append((operand.offset, line))
    found = []
    for members in groups.values():
        if len(members) > 1:
            base = _resolved(members[0][1], scope)
            found += _cut(sorted(members, key=lambda pair: pair[0]), base.constant)
    return found


def base_of(operand: Operand, line: Line, scope: Scope) -> tuple[object, ...]:
    """Name the value that the offset is added to: registers, and where each was written."""
    named = [*operand.registers, *(UNIFORM + number for number in operand.uniforms)]
    written = tuple(scope.values.definition_in_block(number, line.position) for number in named)
    return (tuple(named), written, operand.suffixes)


def _resolved(line: Line, scope: Scope) -> Linear:
    """Give the address register of an access, counters of loops as they are on entering."""
    operand = next(memory_operands(line.instruction))
    if not operand.registers:
        return Linear()
    value = scope.values.before(operand.registers[0], line.position)
    for loop in reversed(scope.kernel.loops.loops):
        if line.block in loop.blocks:
            value = at_start(scope, loop, value)
    return value


def _cut(members: Sequence[tuple[int, Line]], shift: int) -> list[Run]:
    """Cut accesses, sorted by offset, into runs of 4, 2, .. that start at their own multiple."""
    found: list[Run] = []
    size = size_of(members[0][1])
    at = 0
    while at < len(members):
        width = WIDEST_BYTES // size
        while width > 1 and not _fits(members[at : at + width], width, size, shift):
            width //= 2
        if width > 1:
            taken = members[at : at + width]
            found.append(Run(tuple(line for _, line in taken), width * size))
        at += width
    return found


def _fits(members: Sequence[tuple[int, Line]], width: int, size: int, shift: int) -> bool:
    offsets = [offset for offset, _ in members]
    first = offsets[0]
    consecutive = offsets == list(range(first, first + width * size, size))
    return consecutive and (first + shift) % (width * size) == 0


def alignment(run: Run, scope: Scope, origins: Origins) -> bool | None:
    """Tell whether the wider access would be aligned; None where a stride is not in the code.

    Every multiple of an index or counter in the address must be one of the width. Pointers that
    are arguments count as aligned: allocations are, far beyond it. What an instruction makes of
    the thread index other than linearly (a mask, a shift) is taken to differ by one.
    """
    line = run.lines[0]
    operand = next(memory_operands(line.instruction))
    if not operand.registers:
        return True
    value = scope.values.before(operand.registers[0], line.position)
    terms = [*value.terms, *_resolved(line, scope).terms]
    found = {_is_multiple(symbol, factor, run.bytes, scope, origins) for symbol, factor in terms}
    if False in found:
        return False
    return None if None in found else True


def _is_multiple(
    symbol: Symbol, factor: int, width: int, scope: Scope, origins: Origins
) -> bool | None:
    """Tell whether factor x symbol is a multiple of the width for every thread and iteration.

    Of a counter, the steps are looked at; where it starts is part of the resolved address.
    """
    kind, name, _ = symbol
    if factor % width == 0 or kind == "constant":
        return True
    if kind == "result":
        if _bits_are_multiples(int(name), width // math.gcd(factor, width), scope, origins):
            return True
        return False if origins.parts_threads(int(name)) else None
    if kind == "special":
        return False
    loop = next((x for x in scope.kernel.loops.loops if x.header == name), None)
    if kind != "loop" or loop is None:
        return None
    step = step_of(scope.values, loop, Linear(0, ((symbol, 1),)))
    if step is None or not step.is_constant:
        return None
    return step.constant * factor % width == 0


def _bits_are_multiples(position: int, width: int, scope: Scope, origins: Origins) -> bool:
    """Tell whether a bitwise operation gives multiples of a power of two, since its sources are.

    LOP3 by a table that makes 0 of zeros: `threadIdx.x * 4 | blockIdx.x * 1024`.
    """
    instruction = scope.flow.function.instructions[position]
    if instruction.opcode not in ("LOP3", "ULOP3"):
        return False
    *sources, table = sources_of(instruction)
    if not isinstance(table.value, int) or table.value & 1:
        return False
    known = [scope.values.operand(source, position) for source in sources]
    return all(
        value is not None
        and value.constant % width == 0
        and all(_is_multiple(s, factor, width, scope, origins) for s, factor in value.terms)
        for value in known
    )
