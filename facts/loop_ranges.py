"""Ranges of integer values over the threads of a launch, by interval arithmetic."""

from __future__ import annotations

from ..parsers.listing import Instruction
from .flow_branches import is_always
from .loop_arithmetic import sources_of
from .loop_comparisons import BranchConditions
from .loop_linear import Interval, Known, Linear, Symbol
from .loop_values import Values

_WORD = 32
_AND = 0xC0  # the truth table of a & b in LOP3
_MINIMA = frozenset({"IMNMX", "VIMNMX", "UIMNMX", "UVIMNMX"})


class Ranges:
    """Answers "between what and what" for linear sums, with what is known of the launch."""

    def __init__(self, values: Values, known: Known) -> None:
        self.values = values
        self.known = known
        self.branches = BranchConditions(values)
        self._found: dict[Symbol, Interval | None] = {}

    def of(self, value: Linear | None) -> Interval | None:
        """Give the range of a sum, None where one of its parts is not known."""
        if value is None:
            return None
        total = Interval(value.constant, value.constant)
        for symbol, factor in value.terms:
            part = self._of_symbol(symbol)
            if part is None:
                return None
            total = total.plus(part.times(factor))
        return total

    def _of_symbol(self, symbol: Symbol) -> Interval | None:
        kind, name, detail = symbol
        if kind in ("constant", "special"):
            return self.known.of_symbol(symbol)
        if symbol not in self._found:
            self._found[symbol] = None  # a value that depends on itself stays unknown
            if kind == "result":
                self._found[symbol] = self._of_result(int(name))
            elif kind == "product":
                self._found[symbol] = self._of_product(int(name))
            elif kind == "merge":
                self._found[symbol] = self._of_merge(int(name), detail)
        return self._found[symbol]

    def _of_product(self, number: int) -> Interval | None:
        first, second = (self.of(factor) for factor in self.values.products[number])
        if first is None or second is None:
            return None
        return first.times(second.low).joined(first.times(second.high))

    def _of_merge(self, block: int, register: int) -> Interval | None:
        flow = self.values.flow
        total: Interval | None = None
        for edge in flow.predecessors[block]:
            if edge.source in flow.reachable:
                part = self.of(self.values.at_end(register, edge.source))
                if part is None:
                    return None
                total = part if total is None else total.joined(part)
        return total

    def _of_result(self, position: int) -> Interval | None:
        instruction = self.values.flow.function.instructions[position]
        if not is_always(instruction):
            return None
        operands = sources_of(instruction)
        sources = [self.of(self.values.operand(operand, position)) for operand in operands]
        return _result(instruction, sources)


def _result(instruction: Instruction, sources: list[Interval | None]) -> Interval | None:
    opcode, modifiers = instruction.opcode.removeprefix("U"), set(instruction.modifiers)
    if opcode == "LOP3" and len(sources) == 4:
        return _lop3(sources)
    first, *rest = sources or [None]
    if first is None or not rest or any(source is None for source in rest):
        return None
    others = [source for source in rest if source is not None]
    if opcode == "SHF" and "R" in modifiers and len(others) == 2:
        return _shifted_right(modifiers, first, others[0], others[1])
    if instruction.opcode in _MINIMA and len(others) == 1:
        choose = max if instruction.operands[-1].negated else min
        low, high = choose(first.low, others[0].low), choose(first.high, others[0].high)
        return Interval(low, high)
    if opcode == "IMAD" and len(others) == 2:
        return _multiplied(modifiers, first, others[0], others[1])
    return None


def _lop3(sources: list[Interval | None]) -> Interval | None:
    a, b, c, table = sources
    if table is None or not table.is_exact:
        return None
    if table.low == _AND:
        masks = [source.low for source in (a, b) if source is not None and source.is_exact]
        if len(masks) < 2 and masks and masks[0] >= 0:
            return Interval(0, masks[0])
    if a is None or b is None or c is None or not (a.is_exact and b.is_exact and c.is_exact):
        return None
    value = 0
    for bit in range(_WORD):
        row = (a.low >> bit & 1) << 2 | (b.low >> bit & 1) << 1 | (c.low >> bit & 1)
        value |= (table.low >> row & 1) << bit
    value = value - (1 << _WORD) if value >> (_WORD - 1) else value
    return Interval(value, value)


def _shifted_right(
    modifiers: set[str], lower: Interval, amount: Interval, upper: Interval
) -> Interval | None:
    value = upper if "HI" in modifiers else lower
    is_plain = "HI" in modifiers or upper == Interval(0, 0)
    if not is_plain or not amount.is_exact or not 0 <= amount.low < _WORD:
        return None
    if value.low < 0 and "S32" not in modifiers:
        return None
    return Interval(value.low >> amount.low, value.high >> amount.low)


def _multiplied(modifiers: set[str], a: Interval, b: Interval, c: Interval) -> Interval | None:
    if modifiers & {"X", "WIDE"} or min(a.low, b.low) < 0:
        return None
    if "HI" in modifiers:
        if c != Interval(0, 0):
            return None
        return Interval(a.low * b.low >> _WORD, a.high * b.high >> _WORD)
    return Interval(a.low * b.low, a.high * b.high).plus(c)
