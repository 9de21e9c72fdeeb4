"""Which registers an instruction reads and writes, from rules that are data.

The rules come as the plain document of kb/instructions/operands.yaml, where their meaning stands.
Registers are small integers, one range for each register file, so that sets of them are cheap.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from ..parsers.listing import Instruction, Operand
from ..parsers.record import dataclass, replace

UNIFORM = 256  # R0..R254 are 0..254, UR0 is 256, P0 is 512, UP0 is 528
PREDICATE = 512
UNIFORM_PREDICATE = 528
_MEMO_LIMIT = 1 << 13  # texts; a scan of many kernels must not grow without end
_SHAPE = re.compile(r"[0-9]+x([0-9]+)x[0-9]+")  # rows, columns, depth
_SUFFIX_WIDTHS = {"64": 2, "F32x2": 2, "F32": 1, "U32": 1}


@dataclass(frozen=True, slots=True)
class Access:
    """Registers of one instruction; `data` are the read ones that are no part of an address.

    `guard` is the predicate in front of the instruction. `replaces` tells that all of `writes` get
    a new value: not so under a guard, nor where only an upper bound of the width is known.
    """

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    data: tuple[int, ...]
    guard: int | None
    replaces: bool
    read: frozenset[int]
    written: frozenset[int]
    touched: frozenset[int]  # read, written and guard


@dataclass(frozen=True, slots=True)
class _Rule:
    at_most: bool = False
    destinations: int | None = None
    width: int | None = None
    destination_width: int | None = None
    data_width: int | None = None
    widths: tuple[int, ...] = ()
    columns_per_register: int | None = None
    address_width: int = 1
    uniform_width: int = 1


_Form = tuple[str, tuple[object, ...]]  # mnemonic, kinds of operands, in a tuple if negated


class _Slot:
    """A place among the operands of one form of instruction; names are worked out once."""

    __slots__ = ("is_data", "is_first", "is_written", "known", "position", "rule")

    def __init__(self, rule: _Rule, operand: Operand, position: int, is_first: bool) -> None:
        self.rule = rule
        self.position = position  # among those that are no predicate
        self.is_first = is_first  # stands where results stand
        self.is_written = is_first and operand.kind != "memory"
        self.is_data = operand.kind in ("register", "uniform")
        self.known: dict[str, tuple[int, ...]] = {}

    def named(self, operand: Operand) -> tuple[int, ...]:
        """Give the registers that an operand stands for here."""
        if len(self.known) >= _MEMO_LIMIT:
            self.known.clear()
        found = self.known[operand.text] = _named(self.rule, operand, self.position, self.is_first)
        return found


def _slots_of(rule: _Rule, operands: Sequence[Operand]) -> tuple[_Slot, ...]:
    results = _destination_count(rule, operands)
    found = []
    position = -1
    for number, operand in enumerate(operands):
        position += operand.kind not in ("predicate", "uniform_predicate")
        found.append(_Slot(rule, operand, position, number < results))
    return tuple(found)


@dataclass(frozen=True)
class OperandRules:
    """All rules, by opcode; asking is cached per mnemonic."""

    by_opcode: Mapping[str, tuple[tuple[tuple[str, ...], Mapping[str, Any]], ...]]
    _compiled: dict[str, _Rule] = field(default_factory=dict, compare=False, repr=False)
    _slots: dict[_Form, tuple[_Slot, ...]] = field(default_factory=dict, compare=False, repr=False)
    known: dict[str, Access] = field(default_factory=dict, compare=False, repr=False)

    def access(self, instruction: Instruction) -> Access:
        """Give what an instruction reads and writes; the guard is not among the reads."""
        text = instruction.text  # tells everything that is asked here
        found = self.known.get(text)
        if found is None:
            found = self._access(instruction)
            if text:
                if len(self.known) >= _MEMO_LIMIT:
                    self.known.clear()
                self.known[text] = found
        return found

    def _access(self, instruction: Instruction) -> Access:
        operands = instruction.operands
        form: _Form = (
            instruction.mnemonic,
            tuple([(o.kind,) if o.negated else o.kind for o in operands]),
        )
        slots = self._slots.get(form)
        if slots is None:
            if len(self._slots) >= _MEMO_LIMIT:
                self._slots.clear()
            slots = self._slots[form] = _slots_of(self._rule(instruction), operands)
        reads: tuple[int, ...] = ()
        writes: tuple[int, ...] = ()
        data: tuple[int, ...] = ()
        for slot, operand in zip(slots, operands, strict=True):
            named = slot.known.get(operand.text)
            if named is None:
                named = slot.named(operand)
            if slot.is_written:
                writes += named
                continue
            reads += named
            if slot.is_data:
                data += named
        guard = None if instruction.predicate is None else _guard(instruction.predicate)
        read, written = frozenset(reads), frozenset(writes)
        touched = read.union(writes, () if guard is None else (guard,))
        replaces = guard is None and (not slots or not slots[0].rule.at_most)
        return Access(reads, writes, data, guard, replaces, read, written, touched)

    def _rule(self, instruction: Instruction) -> _Rule:
        rule = self._compiled.get(instruction.mnemonic)
        if rule is None:
            merged: dict[str, Any] = {}
            for modifiers, values in self.by_opcode.get(instruction.opcode, ()):
                present = iter(instruction.modifiers)
                if all(modifier in present for modifier in modifiers):  # in this order
                    merged.update(values)
            rule = self._compiled[instruction.mnemonic] = _of_shape(_Rule(**merged), instruction)
        return rule


def _of_shape(rule: _Rule, instruction: Instruction) -> _Rule:
    """Give the widths of a matrix instruction whose name tells its shape."""
    shapes = [found for each in instruction.modifiers if (found := _SHAPE.fullmatch(each))]
    if rule.columns_per_register is None or not rule.widths or len(shapes) != 1:
        return rule
    width = int(shapes[0][1]) // rule.columns_per_register
    widths = tuple(width if each == rule.widths[0] else each for each in rule.widths)
    return replace(rule, widths=widths, at_most=False)


def operand_rules(document: Mapping[str, Any]) -> OperandRules:
    """Read the rules from the plain document; raises TypeError for a key that no rule has."""
    by_opcode: dict[str, list[tuple[tuple[str, ...], Mapping[str, Any]]]] = {}
    for rule in document["rules"]:
        values = {k: v for k, v in rule.items() if k not in ("opcodes", "modifiers")}
        if "widths" in values:
            values["widths"] = tuple(values["widths"])
        _Rule(**values)
        for opcode in rule["opcodes"]:
            entry = (tuple(map(str, rule.get("modifiers", ()))), values)
            by_opcode.setdefault(opcode, []).append(entry)
    return OperandRules({opcode: tuple(rules) for opcode, rules in by_opcode.items()})


class Accesses:
    """What each instruction of a function reads and writes, by position, worked out once."""

    def __init__(self, instructions: Sequence[Instruction], rules: OperandRules) -> None:
        known = rules.known
        self.all = [known.get(each.text) or rules.access(each) for each in instructions]

    def at(self, position: int) -> Access:
        """Give what the instruction at a position reads and writes."""
        return self.all[position]


def register_name(number: int) -> str:
    """Give the SASS name of a register number.

    >>> register_name(12), register_name(UNIFORM + 4), register_name(PREDICATE)
    ('R12', 'UR4', 'P0')
    """
    for first, letters in ((UNIFORM_PREDICATE, "UP"), (PREDICATE, "P"), (UNIFORM, "UR"), (0, "R")):
        if number >= first:
            return f"{letters}{number - first}"
    raise ValueError(f"no register {number}")


def _named(rule: _Rule, operand: Operand, position: int, is_written: bool) -> tuple[int, ...]:
    """Give the registers that an operand stands for."""
    if operand.kind in ("predicate", "uniform_predicate"):
        return tuple(_predicates(operand))
    if is_written and operand.kind in ("register", "uniform"):
        return tuple(_registers(operand, _written_width(rule, operand, position)))
    return tuple(_read(rule, operand, position))


def _destination_count(rule: _Rule, operands: Sequence[Operand]) -> int:
    if rule.destinations is not None:
        count = rule.destinations
        return max(0, len(operands) + count) if count < 0 else min(count, len(operands))
    count = 0
    while count < len(operands) and _is_plain_predicate(operands[count]):
        count += 1
    if count == len(operands) or operands[count].kind not in ("register", "uniform"):
        return count if count < len(operands) else 0
    count += 1
    while count < len(operands) and _is_plain_predicate(operands[count]):
        count += 1
    return count if count < len(operands) else _first_register(operands) + 1


def _first_register(operands: Sequence[Operand]) -> int:
    return next(n for n, operand in enumerate(operands) if operand.kind in ("register", "uniform"))


def _is_plain_predicate(operand: Operand) -> bool:
    return operand.kind in ("predicate", "uniform_predicate") and not operand.negated


def _written_width(rule: _Rule, operand: Operand, position: int) -> int:
    if rule.destination_width is not None:
        return rule.destination_width
    return _width(rule, operand, position)


def _width(rule: _Rule, operand: Operand, position: int) -> int:
    for suffix in operand.suffixes:
        if suffix in _SUFFIX_WIDTHS:
            return _SUFFIX_WIDTHS[suffix]
    if position < len(rule.widths):
        return rule.widths[position]
    return rule.width or 1


def _read(rule: _Rule, operand: Operand, position: int) -> list[int]:
    if operand.kind == "memory":
        width = _address_width(rule, operand)
        found = [first + n for first in operand.registers for n in range(width)]
        found += [
            UNIFORM + first + n for first in operand.uniforms for n in range(rule.uniform_width)
        ]
        return found
    width = _width(rule, operand, position)
    if rule.data_width is not None and operand.kind in ("register", "uniform"):
        width = rule.data_width
    if operand.kind == "other":
        width = max(width, rule.uniform_width)
    found = _registers(operand, width) + _predicates(operand)
    return found


def _address_width(rule: _Rule, operand: Operand) -> int:
    for suffix in operand.suffixes:
        if suffix in _SUFFIX_WIDTHS:
            return _SUFFIX_WIDTHS[suffix]
    return rule.address_width


def _registers(operand: Operand, width: int) -> list[int]:
    general = [first + n for first in operand.registers for n in range(width)]
    uniform = [UNIFORM + first + n for first in operand.uniforms for n in range(width)]
    return general + uniform


def _predicates(operand: Operand) -> list[int]:
    named = [PREDICATE + number for number in operand.predicates]
    return named + [UNIFORM_PREDICATE + number for number in operand.uniform_predicates]


def _guard(predicate: str) -> int | None:
    name = predicate.lstrip("!")
    if name.startswith("UP") and name[2:].isdigit():
        return UNIFORM_PREDICATE + int(name[2:])
    if name.startswith("P") and name[1:].isdigit():
        return PREDICATE + int(name[1:])
    return None
