"""Addresses of memory instructions, and local memory at addresses that all threads share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np

from ...parsers.listing import Instruction, Operand
from .parts import Run
from .state import Getter, State
from .trace import Log, Touch
from .values import Cell, add, additive, high, lifted, low, merge, pair, unknown

_SHARED = frozenset({"LDS", "STS", "LDSM", "STSM", "ATOMS"})
_LOCAL = frozenset({"LDL", "STL"})
_WIDTHS = {"64": 2, "128": 4, "U8": 1, "S8": 1, "U16": 1, "S16": 1}


def words(instruction: Instruction) -> int:
    """Give the registers that one thread moves."""
    return next((_WIDTHS[m] for m in instruction.modifiers if m in _WIDTHS), 1)


def _single(state: State, operand: Operand) -> tuple[Getter, int]:
    """Add up the registers of a 32-bit address, one of them scaled; give its offset beside them."""
    offset = (operand.offset or 0) & 0xFFFFFFFF
    terms: list[Getter] = []
    if operand.registers:
        number = operand.registers[0]
        scale = next((s for s in operand.suffixes if s in ("X4", "X8", "X16")), None)
        file = state.registers
        if scale:
            by = {"X4": 4, "X8": 8, "X16": 16}[scale]
            terms.append(lambda: lifted(lambda v: _scaled(v, by), file[number]))
        else:
            terms.append(lambda: file[number])
    uniforms = operand.uniforms[1:] if operand.space == "desc" else operand.uniforms
    for uniform in uniforms[:1]:
        terms.append(lambda uniform=uniform: state.uniforms[uniform])  # type: ignore[misc]

    if not terms:
        return lambda: offset, 0
    if len(terms) == 1:
        return terms[0], offset

    def registers() -> Cell:
        value = terms[0]()
        for term in terms[1:]:
            value = additive(add, value, term())
        return value

    return registers, offset


def _whole(state: State, operand: Operand) -> Getter:
    registers, offset = _single(state, operand)
    return (lambda: additive(add, registers(), offset)) if offset else registers


def _scaled(value: Any, by: int) -> Any:
    return value * by & 0xFFFFFFFF if type(value) is int else value * np.uint32(by)


def _double(state: State, operand: Operand) -> Callable[[], tuple[Cell, Cell]]:
    """Add up a 64-bit address in words: registers (a pair or one extended), uniforms, offset."""
    offset = (operand.offset or 0) & (1 << 64) - 1
    uniforms = operand.uniforms[1:] if operand.space == "desc" else operand.uniforms
    terms: list[tuple[Getter, Getter]] = []
    if operand.registers:
        number, file = operand.registers[0], state.registers
        upper: Getter = (lambda: 0) if "U32" in operand.suffixes else (lambda: file[number + 1])
        terms.append((lambda: file[number], upper))
    for uniform in uniforms[:1]:
        wide = state.uniforms
        terms.append((partial(wide.__getitem__, uniform), partial(wide.__getitem__, uniform + 1)))

    def address() -> tuple[Cell, Cell]:
        pairs = [(lo(), hi()) for lo, hi in terms]
        if any(unknown(lo) or unknown(hi) for lo, hi in pairs):
            words = [lo for lo, _ in pairs]
            return (
                additive(_sum_words, offset & 0xFFFFFFFF, *words),
                additive(_sum_words, *(hi for _, hi in pairs)),
            )
        value: Any = offset
        for lo, hi in pairs:
            value = lifted(_sum_long, value, lifted(pair, lo, hi))
        return lifted(low, value), lifted(high, value)

    return address


def _sum_words(*values: Any) -> Any:
    total: Any = 0
    for value in values:
        total = add(total, value)
    return total


def _sum_long(a: Any, b: Any) -> Any:
    if type(a) is int and type(b) is int:
        return a + b & (1 << 64) - 1
    with np.errstate(over="ignore"):
        return np.asarray(a, np.uint64) + np.asarray(b, np.uint64)


def build_access(instruction: Instruction, state: State, log: Log) -> Run | None:
    """Make the step that records an access; None for what has no address here."""
    memories = [o for o in instruction.operands if o.kind == "memory"]
    opcode = instruction.opcode
    if not memories:
        return None
    if opcode in _LOCAL:
        return _local(instruction, state, log, memories[0])
    if opcode in _SHARED:
        shared, offset = _single(state, memories[0])
        return lambda: _record(log, state, instruction, shared(), 0, offset)
    if opcode == "LDGSTS":
        to, source = _whole(state, memories[0]), _double(state, memories[-1])

        def copy() -> None:
            touch = _record(log, state, instruction, *source())
            touch.shared_low = to()

        return copy
    if opcode in ("UBLKCP", "UTMALDG", "UTMASTG", "UTMAREDG", "UBLKRED"):
        return lambda: _record(log, state, instruction, None, None)
    if opcode == "SYNCS":
        return _barrier(instruction, state, log)
    get = _double(state, memories[0])
    observed = instruction.operands[-1] if state.observe and opcode in ("STG", "ST") else None
    data = [state.bits(observed, i) for i in range(words(instruction))] if observed else []

    def touch_global() -> None:
        touch = _record(log, state, instruction, *get())
        touch.data = tuple(word() for word in data)

    return touch_global


def _record(
    log: Log, state: State, instruction: Instruction, lo: Cell, hi: Cell, offset: int = 0
) -> Touch:
    touch = Touch(instruction, state.mask(), lo, hi, 1.0, offset)
    log.touches.append(touch)
    return touch


def _barrier(instruction: Instruction, state: State, log: Log) -> Run | None:
    """SYNCS: an arrival that expects bytes tells how much the bulk copies bring."""
    if "ARRIVE" not in instruction.modifiers or "TRANS64" not in instruction.modifiers:
        return None
    data = [o for o in instruction.operands[1:] if o.kind in ("register", "uniform")]
    if not data or not data[-1].registers:
        return None
    get = state.integer(data[-1])

    def expect() -> None:
        _record(log, state, instruction, None, None).bytes = get()

    return expect


def _local(instruction: Instruction, state: State, log: Log, operand: Operand) -> Run:
    """LDL and STL: values kept at addresses that all threads share (spills)."""
    get, count = _whole(state, operand), words(instruction)
    whole_words = not ({"U8", "S8", "U16", "S16"} & set(instruction.modifiers))
    memory = state.local
    if instruction.opcode == "STL":
        source = instruction.operands[1]
        values = [state.bits(source, i) for i in range(count)]

        def store() -> None:
            address = get()
            _record(log, state, instruction, address, 0)
            if type(address) is not int or not whole_words:
                memory.clear()
                return
            for i, value in enumerate(values):
                key = address + 4 * i
                old = memory.get(key)
                memory[key] = value() if state.lanes is None else merge(state.lanes, value(), old)

        return store
    targets = [state.target(instruction.operands[0], i) for i in range(count)]

    def load() -> None:
        address = get()
        _record(log, state, instruction, address, 0)
        for i, put in enumerate(targets):
            known = isinstance(address, int) and whole_words
            put(memory.get(cast(int, address) + 4 * i) if known else None)

    return load
