"""The comparison that decides a branch, traced back from its predicate."""

from __future__ import annotations

from ..parsers.listing import Instruction
from ..parsers.record import dataclass
from .dep_operands import PREDICATE, UNIFORM_PREDICATE
from .flow_blocks import Edge
from .flow_branches import is_always
from .loop_linear import Linear
from .loop_values import Values

NEGATED = {"LT": "GE", "GE": "LT", "LE": "GT", "GT": "LE", "NE": "EQ", "EQ": "NE"}
_PREDICATE_LOGIC = frozenset({"PLOP3", "UPLOP3"})
_COMPARISONS = frozenset({"ISETP", "UISETP"})


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left - right` compared with zero, as an instruction computes it."""

    position: int
    operator: str
    difference: Linear


class BranchConditions:
    """The comparisons that decide the branches of a function, each traced back once."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self._taken: dict[int, Comparison | None] = {}

    def of(self, edge: Edge) -> Comparison | None:
        """Give the comparison under which control takes an edge, None where it is not a plain one.

        The other edge out of the block is taken under the opposite one.
        """
        if edge.source not in self._taken:
            self._taken[edge.source] = _when_taken(self.values, edge.source)
        found = self._taken[edge.source]
        if found is None or edge.kind != "fallthrough":
            return found
        return Comparison(found.position, NEGATED[found.operator], found.difference)


def _when_taken(values: Values, block: int) -> Comparison | None:
    """Give the comparison under which the branch at the end of a block is taken."""
    position = values.flow.blocks[block].end - 1
    branch = values.flow.function.instructions[position]
    condition = _condition_register(branch.predicate)
    for operand in branch.operands:
        named = [PREDICATE + n for n in operand.predicates]
        named += [UNIFORM_PREDICATE + n for n in operand.uniform_predicates]
        if named and condition is not None:
            return None
        if named:
            condition = (named[0], operand.negated)
    if condition is None:
        return None
    register, is_negated = condition
    found = _comparison(values, register, position)
    if found is None or not is_negated:
        return found
    return Comparison(found.position, NEGATED[found.operator], found.difference)


def compared(
    values: Values, register: int, position: int, loop: int, seen: frozenset[int] = frozenset()
) -> list[Linear] | None:
    """Give the differences that a predicate is made of, None where data have a say in it.

    Comparisons and their combinations are followed back as far as the loop (by index) sets them;
    what it leaves alone is the same in every iteration and adds nothing.
    """
    if not values.is_written_in(register, loop):
        return []
    definition = values.definition(register, position)
    if definition is None or definition in seen:  # a predicate made of its own last value
        return None
    instruction = values.flow.function.instructions[definition]
    if not is_always(instruction) or instruction.opcode not in _COMPARISONS | _PREDICATE_LOGIC:
        return None
    found: list[Linear] = []
    plain = [o for o in instruction.operands if o.kind not in ("predicate", "uniform_predicate")]
    if instruction.opcode in _COMPARISONS:
        sides = [values.operand(operand, definition) for operand in plain[:2]]
        if len(sides) < 2 or sides[0] is None or sides[1] is None:
            return None
        found.append(sides[0].plus(sides[1], -1))
    for source in values.access(definition).reads:
        if source >= PREDICATE:
            parts = compared(values, source, definition, loop, seen | {definition})
            if parts is None:
                return None
            found += parts
    return found


def _comparison(
    values: Values, register: int, position: int, seen: frozenset[int] = frozenset()
) -> Comparison | None:
    definition = values.definition(register, position)
    if definition is None or definition in seen:
        return None
    seen |= {definition}
    instruction = values.flow.function.instructions[definition]
    if instruction.opcode in _PREDICATE_LOGIC and is_always(instruction):
        return _copied(values, instruction, definition, seen)
    if instruction.opcode not in _COMPARISONS or not is_always(instruction):
        return None
    if values.access(definition).writes[:1] != (register,):
        return None
    if "EX" in instruction.modifiers:  # the upper words of a 64-bit comparison; the lower decide
        chained = instruction.operands[-1]
        named = [PREDICATE + n for n in chained.predicates]
        named += [UNIFORM_PREDICATE + n for n in chained.uniform_predicates]
        lower = _comparison(values, named[0], definition, seen) if named else None
        operator = _operator(instruction.modifiers)
        if lower is None or operator is None:
            return None
        return Comparison(lower.position, operator, lower.difference)
    operator = _operator(instruction.modifiers)
    plain = [o for o in instruction.operands if o.kind not in ("predicate", "uniform_predicate")]
    combined = [o for o in instruction.operands[2:] if o.predicates or o.uniform_predicates]
    if operator is None or combined or len(plain) != 2:
        return None
    left, right = (values.operand(operand, definition) for operand in plain)
    if left is None or right is None:
        return None
    return Comparison(definition, operator, left.plus(right, -1))


def _copied(
    values: Values, instruction: Instruction, position: int, seen: frozenset[int]
) -> Comparison | None:
    """Follow `PLOP3.LUT P2, PT, PT, PT, UP0, 0x80, 0x0`, which hands on one predicate."""
    sources = instruction.operands[2:5]
    table = next((o.value for o in instruction.operands if o.kind == "immediate"), None)
    named = [(n, o) for n, o in enumerate(sources) if o.predicates or o.uniform_predicates]
    if len(named) != 1 or not isinstance(table, int):
        return None
    place, operand = named[0]
    outcomes = []
    for truth in (False, True):
        bits = [(truth if n == place else True) != o.negated for n, o in enumerate(sources)]
        outcomes.append(bool(table >> (bits[0] << 2 | bits[1] << 1 | bits[2]) & 1))
    if outcomes[0] == outcomes[1]:
        return None
    registers = [PREDICATE + n for n in operand.predicates]
    registers += [UNIFORM_PREDICATE + n for n in operand.uniform_predicates]
    found = _comparison(values, registers[0], position, seen)
    if found is None or outcomes[1]:
        return found
    return Comparison(found.position, NEGATED[found.operator], found.difference)


def _operator(modifiers: tuple[str, ...]) -> str | None:
    return next((m for m in modifiers if m in NEGATED), None)


def _condition_register(predicate: str | None) -> tuple[int, bool] | None:
    name = (predicate or "").lstrip("!")
    is_negated = (predicate or "").startswith("!")
    if name.startswith("UP") and name[2:].isdigit():
        return UNIFORM_PREDICATE + int(name[2:]), is_negated
    if name.startswith("P") and name[1:].isdigit():
        return PREDICATE + int(name[1:]), is_negated
    return None
