"""Is a window of iterations steady, and for how long: labels of registers, step by step."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from ...parsers.record import dataclass
from .compare import relation
from .parts import immediate
from .program import ORDERS, Program, Step
from .turns import NEVER, as_signed, change_of, is_zero, until_turn
from .values import Array, Cell, Partly, same, unknown
from .window import Window

_SUMS = frozenset(
    {"IADD3", "UIADD3", "IADD", "UIADD", "VIADD", "UVIADD", "IADD32I", "MOV", "UMOV", "R2UR",
     "UR2R", "SEL", "USEL", "LDC", "ULDC", "LDCU", "S2R", "S2UR", "CS2R", "SHFL"}
)  # fmt: skip
_PRODUCTS = frozenset({"IMAD", "UIMAD", "LEA", "ULEA"})


@dataclass(eq=False)
class _Label:
    """What is known of a register during the window: its change per window, and its value."""

    delta: Any  # 0, an int or array, or None: neither constant nor linear
    value: Cell = None

    @property
    def constant(self) -> bool:
        return type(self.delta) is int and self.delta == 0


_CONSTANT = _Label(0)


@dataclass(eq=False)
class _Walk:
    """One pass over the control steps of a window."""

    labels: dict[int, _Label] = field(default_factory=dict)  # of registers that are not constant
    limit: int = NEVER

    def label(self, number: int) -> _Label:
        return self.labels.get(number, _CONSTANT)

    def put(self, number: int, label: _Label) -> None:
        if label.constant:
            self.labels.pop(number, None)
        else:
            self.labels[number] = label

    def bound(self, windows: int) -> None:
        self.limit = min(self.limit, windows)


def windows_until_change(
    window: Window, program: Program, deltas: dict[int, Cell], wanted: frozenset[int], mask: Array
) -> int | None:
    """Give the number of further windows that begin like this one, the last of which may differ.

    None where a value that control depends on is neither constant nor linear.
    """
    walk = _Walk()
    log = window.log
    for number in deltas:
        walk.put(number, _Label(deltas[number]))
    length = window.middle - window.start
    for offset in range(length):
        block = program.blocks[log.blocks[window.middle + offset]]
        lanes = log.lanes[window.middle + offset].mask
        before, after = log.results[window.start + offset], log.results[window.middle + offset]
        for step, old, new in zip(block.controls, before, after, strict=True):
            if not _follow(walk, step, old, new, lanes):
                return None
        if not _branch_is_steady(walk, block.last):
            return None
        for step in block.steps:
            if step.access and not _guard_is_steady(walk, step):
                return None
    for number in wanted:
        end = walk.label(number).delta
        if end is None or not same(end, deltas.get(number, 0)):
            return None
    return walk.limit if walk.limit < NEVER else None  # nothing ends it: something was overlooked


def _guard_is_steady(walk: _Walk, step: Step) -> bool:
    text = step.instruction.predicate
    return text is None or all(walk.label(n).delta is not None for n in _guard_numbers(text))


def _guard_numbers(text: str) -> list[int]:
    digit = text.lstrip("!UP")
    base = 528 if "U" in text else 512
    return [base + int(digit)] if digit.isdigit() else []


def _branch_is_steady(walk: _Walk, last: Any) -> bool:
    if last is None:
        return True
    numbers = _guard_numbers(last.predicate) if last.predicate else []
    for operand in last.operands:
        numbers += [512 + n for n in operand.predicates]
        numbers += [528 + n for n in operand.uniform_predicates]
    return all(walk.label(number).delta is not None for number in numbers)


def _follow(walk: _Walk, step: Step, old: Any, new: Any, lanes: Array) -> bool:
    """Label what one step writes; False where the window cannot be steady."""
    instruction = step.instruction
    if instruction.opcode == "LDL" and old is not None and new is not None:
        return _from_memory(walk, step, old, new)
    labels = walk.labels.keys()
    if old is None or new is None:  # data that stays unknown; or does not
        for number in step.writes:
            walk.labels.pop(number, None)
        return old is new
    if not instruction.predicate and labels.isdisjoint(step.reads):
        if not labels.isdisjoint(step.writes):
            for number in step.writes:
                walk.labels.pop(number, None)
        return True
    guard = _guard_numbers(instruction.predicate) if instruction.predicate else []
    inputs = [walk.label(number) for number in (*step.reads, *guard)]
    changes = [change_of(a, b) for a, b in zip(old[1:], new[1:], strict=True)]
    if any(label.delta is None for label in inputs):
        for number, value in zip(step.writes, new[1:], strict=True):
            walk.put(number, _Label(None, value))
        return True
    if all(label.constant for label in inputs):
        for number, value, change in zip(step.writes, new[1:], changes, strict=True):
            walk.put(number, _Label(change, value))
        return True
    opcode = instruction.opcode
    if opcode in ORDERS:
        skipped = instruction.predicate and old[0] is None and new[0] is None
        return True if skipped else _compare(walk, step, old, new, lanes)
    linear = _keeps_linear(walk, step, inputs, changes, new)
    for number, value, change in zip(step.writes, new[1:], changes, strict=True):
        if not linear:
            walk.put(number, _Label(None, value))
        elif number >= 512:  # a carry: constant until the sum passes a power of two
            if change is None or not is_zero(change):
                walk.put(number, _Label(None))
            else:
                walk.bound(_until_wrap(walk, step, changes, new))
                walk.put(number, _Label(0, value))
        else:
            walk.put(number, _Label(change, value))
    return True


def _from_memory(walk: _Walk, step: Step, old: Any, new: Any) -> bool:
    """Label what local memory gives back by how it changed: a counter may be spilled there."""
    for number, before, after in zip(step.writes, old[1:], new[1:], strict=True):
        walk.put(number, _Label(change_of(before, after), after))
    return True


def _keeps_linear(walk: _Walk, step: Step, inputs: Any, changes: Any, new: Any) -> bool:
    instruction = step.instruction
    opcode, modifiers = instruction.opcode, set(instruction.modifiers)
    if any(change is None for change in changes):
        return False
    if opcode in ("SEL", "USEL"):
        return all(walk.label(n).constant for n in step.reads if n >= 512)
    if opcode in _SUMS:
        return True
    if opcode in _PRODUCTS:
        if opcode in ("IMAD", "UIMAD"):
            factors = _factors(walk, instruction)
            if len(factors) == 2 and not any(label.constant for label in factors):
                return False
        if modifiers & {"HI", "WIDE", "X"} or "64" in modifiers:
            return _upper_is_steady(walk, step, changes, new)
        return True
    if opcode in ("SHF", "USHF", "SHL", "SHR", "USHL", "USHR"):
        return _shift_is_linear(walk, step, changes, new)
    if opcode in ("LOP3", "ULOP3"):
        return _logic_is_linear(walk, step, changes)
    return False


def _factors(walk: _Walk, instruction: Any) -> list[_Label]:
    sources = [o for o in instruction.operands[1:] if not o.kind.endswith("predicate")]
    labels = []
    for operand in sources[:2]:
        numbers = [*operand.registers, *(256 + n for n in operand.uniforms)]
        found = [walk.label(n) for n in numbers]
        labels.append(next((x for x in found if not x.constant), _Label(0)))
    return labels


def _upper_is_steady(walk: _Walk, step: Step, changes: Any, new: Any) -> bool:
    """A high word keeps until its low word passes a power of two; a wide product is a pair."""
    upper = changes[-1]
    if is_zero(upper):
        walk.bound(_until_wrap(walk, step, changes, new))
        return True
    return len(changes) == 1 and "HI" not in step.instruction.modifiers


def _until_wrap(walk: _Walk, step: Step, changes: Any, new: Any) -> int:
    """Count windows until a linear input or result passes 2^31 or 2^32."""
    scale = 1
    if step.instruction.opcode in ("LEA", "ULEA"):
        scale = 1 << (immediate(step.instruction.operands[-1]) or 5)
    inputs = [walk.label(number) for number in step.reads]
    moving = [(label.value, label.delta, scale) for label in inputs if not label.constant]
    moving += [
        (value, change, 1)
        for number, value, change in zip(step.writes, new[1:], changes, strict=True)
        if number < 512 and change is not None and not is_zero(change)
    ]
    least = NEVER
    for cell, change, factor in moving:
        if unknown(cell) or type(cell) is Partly:
            return 0
        value = np.asarray(cell).astype(np.int64)
        delta = as_signed(change)
        room = np.where(delta > 0, (1 << 31) - value % (1 << 31), value % (1 << 31) + 1) // factor
        count = np.where(delta != 0, room // np.maximum(np.abs(delta), 1), NEVER)
        least = min(least, int(np.min(count)))
    return least


def _shift_is_linear(walk: _Walk, step: Step, changes: Any, new: Any) -> bool:
    """Left shifts are products; right shifts keep linear what moves by whole units."""
    instruction = step.instruction
    if "L" in instruction.modifiers or instruction.opcode.endswith("L"):
        return "HI" not in instruction.modifiers or is_zero(changes[0])
    by = next((immediate(o) for o in instruction.operands[2:3]), None)
    if by is None:
        return False
    if by == 31 and is_zero(changes[0]):
        walk.bound(_until_wrap(walk, step, changes, new))
        return True
    return all(
        not np.any(np.asarray(walk.label(n).delta).astype(np.int64) % (1 << by)) for n in step.reads
    )


def _logic_is_linear(walk: _Walk, step: Step, changes: Any) -> bool:
    """A mask of low bits is constant for changes above it, one of high bits keeps them."""
    operands = step.instruction.operands
    constants = [immediate(o) for o in operands if o.kind == "immediate"]
    moving = [walk.label(n) for n in step.reads if not walk.label(n).constant]
    if len(constants) != 2 or constants[0] is None or constants[1] != 0xC0 or len(moving) != 1:
        return False
    mask = constants[0] & 0xFFFFFFFF
    delta = np.asarray(moving[0].delta).astype(np.int64)
    if not np.any(delta % (1 << mask.bit_length())):
        return True
    low_zeros = (mask & -mask).bit_length() - 1
    is_high = mask + (1 << low_zeros) == 1 << 32
    return is_high and not np.any(delta % (1 << low_zeros))


def _compare(walk: _Walk, step: Step, old: Any, new: Any, lanes: Array) -> bool:
    """A comparison of linear values: constant up to the window where it turns."""
    instruction = step.instruction
    if old[0] is None or new[0] is None:
        return False
    (a0, b0), (a1, b1) = old[0], new[0]
    da, db = change_of(a0, a1), change_of(b0, b1)
    if da is None or db is None or {"U64", "S64"} & set(instruction.modifiers):
        for number, value in zip(step.writes, new[1:], strict=True):
            walk.put(number, _Label(None, value))
        return True
    name = relation(instruction.modifiers) or "LT"
    unsigned = "U32" in instruction.modifiers
    if "EX" in instruction.modifiers and not (is_zero(da) and is_zero(db)):
        return False
    walk.bound(until_turn(name, unsigned, (a1, b1), (da, db), lanes))
    for number, a, b in zip(step.writes, old[1:], new[1:], strict=True):
        change = change_of(a, b)
        walk.put(number, _Label(0 if number >= 512 else change, b))
        if number >= 512 and not same(a, b):
            return False
    return True
