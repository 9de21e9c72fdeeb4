"""Global atomics that every element pays for, and loads that two loops repeat."""

from __future__ import annotations

from .induction import step_of
from .loop_linear import Linear
from .loops import Loop
from .model import Fact
from .pattern_origins import Origins
from .pattern_scope import Line, Scope, at_start, chosen, count, memory_operands

GLOBAL_LOADS = ("load_global", "load_generic")
GLOBAL_ATOMICS = ("atomic_global", "atomic_generic")


def atomic_facts(scope: Scope, origins: Origins) -> list[Fact]:
    everywhere = chosen(scope.lines, GLOBAL_ATOMICS)
    looping = [line for line in everywhere if line.block in scope.looping]
    per_element = looping
    if not scope.kernel.loops.loops:
        per_element = [line for line in everywhere if not _is_elected(line, scope)]
    shared = chosen(scope.lines, ("atomic_shared",))
    by_data = [line for line in per_element if origins.of_address(line) & origins.memory]
    return [
        count("atomics.global_in_loops", looping),
        count("atomics.global_per_element", per_element),
        count("atomics.global_by_data", by_data),
        count("atomics.shared_in_loops", [x for x in shared if x.block in scope.looping]),
    ]


def _is_elected(line: Line, scope: Scope) -> bool:
    """Tell whether a test for equality lets few threads come here: `if (threadIdx.x == 0)`.

    The guard itself, and every conditional branch or exit that stands before it, is looked at.
    """
    flow = scope.flow
    guards = [(line.position, scope.access(line).guard)]
    block: int | None = flow.dominators[line.block]
    while block is not None:
        position = flow.blocks[block].end - 1
        guards.append((position, scope.values.access(position).guard))
        block = flow.dominators[block]
    return any(
        guard is not None and _tests_equality(guard, position, scope) for position, guard in guards
    )


def _tests_equality(predicate: int, position: int, scope: Scope) -> bool:
    definition = scope.values.definition(predicate, position)
    if definition is None:
        return False
    instruction = scope.flow.function.instructions[definition]
    return instruction.opcode in ("ISETP", "UISETP") and bool(
        {"EQ", "NE"} & set(instruction.modifiers)
    )


# The same addresses in two loops


def repeated(scope: Scope) -> list[Line]:
    """Find global loads of a loop that go over the addresses of another loop's load again."""
    seen: dict[tuple[Linear, Linear], Line] = {}
    found = []
    for loop in scope.kernel.loops.loops:
        if loop.children:
            continue
        for line in chosen(scope.lines, GLOBAL_LOADS):
            if line.block not in loop.blocks:
                continue
            walk = _walk(line, loop, scope)
            if walk is None:
                continue
            first = seen.setdefault(walk, line)
            if first.block not in loop.blocks:
                found.append(line)
    return found


def _walk(line: Line, loop: Loop, scope: Scope) -> tuple[Linear, Linear] | None:
    """Give where the address of a load starts and by how much it moves in each iteration."""
    operand = next(memory_operands(line.instruction), None)
    if operand is None or not operand.registers or operand.offset is None:
        return None
    value = scope.values.before(operand.registers[0], line.position)
    step = step_of(scope.values, loop, value)
    if step is None or step == Linear():
        return None
    start = at_start(scope, loop, value).plus(Linear(operand.offset))
    kinds = {symbol[0] for symbol, _ in start.terms}
    return None if kinds & {"loop", "merge", "result"} else (start, step)
