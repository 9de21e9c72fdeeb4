"""Predicates among themselves: logic, packing into registers, votes of a warp."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...parsers.listing import Instruction, Operand
from .compare import plain_of
from .logic import lookup
from .parts import Builder, Run, immediate
from .state import Getter, State
from .values import Partly, lifted, plain_values, unknown


def predicate_logic(instruction: Instruction, state: State) -> Run | None:
    """PLOP3: two truth tables over three predicates."""
    operands = instruction.operands
    if len(operands) != 7:
        return None
    first, second = immediate(operands[5]), immediate(operands[6])
    if first is None or second is None:
        return None
    sources = [state.predicate(operand) for operand in operands[2:5]]
    return _tables(state, operands[:2], (first, second), sources)


def _tables(
    state: State, to: tuple[Operand, ...], tables: tuple[int, int], sources: list[Getter]
) -> Run:
    setters = [state.target(operand) for operand in to]

    def run() -> None:
        values = [source() for source in sources]
        for put, table in zip(setters, tables, strict=True):
            put(_by_table(table, values, state))

    return run


def _by_table(table: int, values: list[Any], state: State) -> Any:
    """Apply a table; an input that does not matter may be unknown."""
    rows = [table >> row & 1 for row in range(8)]
    possible = [
        [False, True] if v is None else [v] if isinstance(v, bool) else None for v in values
    ]
    if all(p is not None for p in possible):
        results = {
            rows[a << 2 | b << 1 | c]
            for a in possible[0] or ()
            for b in possible[1] or ()
            for c in possible[2] or ()
        }
        return bool(results.pop()) if len(results) == 1 else None
    return lifted(lambda a, b, c: lookup(table, *map(_mask, (a, b, c))) != 0, *values)


def _mask(value: Any) -> Any:
    if isinstance(value, bool):
        return 0xFFFFFFFF if value else 0
    return np.where(value, np.uint32(0xFFFFFFFF), np.uint32(0))


def predicates_to_register(instruction: Instruction, state: State) -> Run | None:
    """P2R: the seven predicates as bits, under a mask, over the bits of a register."""
    operands = instruction.operands
    if len(operands) != 4 or operands[0].suffixes:
        return None
    mask = immediate(operands[3])
    if mask is None or instruction.modifiers:
        return None
    put, rest = state.target(operands[0]), state.integer(operands[2])
    file = state.uniform_predicates if operands[1].kind == "uniform_predicate" else state.predicates

    def run() -> None:
        value = lifted(lambda r: r & (mask ^ 0xFFFFFFFF), rest())
        for number in range(7):
            if mask >> number & 1:
                value = lifted(lambda v, p, n=number: v | _bit(p) << n, value, file[number])
        put(value)

    return run


def _bit(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value.astype(np.uint32)


def register_to_predicates(instruction: Instruction, state: State) -> Run | None:
    """R2P: bits of a register into the predicates that a mask names."""
    operands = instruction.operands
    if len(operands) != 3:
        return None
    mask = immediate(operands[2])
    if mask is None:
        return None
    source = state.integer(operands[1])
    shift = next((8 * int(s[1]) for s in operands[1].suffixes if s in ("B1", "B2", "B3")), 0)
    uniform = operands[0].kind == "uniform_predicate"
    setters = {
        n: state.target(
            Operand("P", "uniform_predicate", uniform_predicates=(n,))
            if uniform
            else Operand("P", "predicate", predicates=(n,))
        )
        for n in range(7)
        if mask >> n & 1
    }

    def run() -> None:
        value = source()
        for number, put in setters.items():
            put(lifted(lambda v, n=number: plain_of((v >> n + shift & 1) != 0), value))

    return run


def vote(instruction: Instruction, state: State) -> Run | None:
    """VOTE: all, any or the ballot of a predicate over the executing threads of a warp."""
    operands = instruction.operands
    mode = next((m for m in instruction.modifiers if m in ("ALL", "ANY", "EQ")), None)
    source = operands[-1]
    if mode is None or source.kind not in ("predicate", "uniform_predicate"):
        return None
    get = state.predicate(source)
    targets = [
        (operand.kind in ("register", "uniform"), state.target(operand))
        for operand in operands[:-1]
    ]

    def run() -> None:
        value = get()
        if unknown(value) or type(value) is Partly:
            for _, put in targets:
                put(None)
            return
        mask = state.mask().reshape(-1, 32)
        held = plain_values(value, (state.size,)).reshape(-1, 32).astype(bool) & mask
        count, active = held.sum(axis=1), mask.sum(axis=1)
        wanted = {"ALL": count == active, "ANY": count > 0}.get(mode)
        if wanted is None:
            wanted = (count == active) | (count == 0)
        bits = (held.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(axis=1)
        for is_word, put in targets:
            put(_per_warp(bits.astype(np.uint32) if is_word else wanted, mask))

    return run


def _per_warp(values: Any, mask: Any) -> Any:
    """Spread a value per warp over its threads; one value for all where they agree."""
    used = values[mask.any(axis=1)]
    if len(used) and (used == used[0]).all():
        return bool(used[0]) if used.dtype == bool else int(used[0])
    return np.repeat(values, 32)


def elect(instruction: Instruction, state: State) -> Run | None:
    """ELECT: the lowest executing thread of each warp."""
    to = state.target(instruction.operands[0])

    def run() -> None:
        mask = state.mask().reshape(-1, 32)
        chosen = np.zeros_like(mask)
        rows = np.flatnonzero(mask.any(axis=1))
        chosen[rows, mask[rows].argmax(axis=1)] = True
        to(chosen.reshape(-1))

    return run


BUILDERS: dict[str, Builder] = {
    **dict.fromkeys(("PLOP3", "UPLOP3"), predicate_logic),
    **dict.fromkeys(("P2R", "UP2UR"), predicates_to_register),
    **dict.fromkeys(("R2P", "UR2UP"), register_to_predicates),
    **dict.fromkeys(("VOTE", "VOTEU"), vote),
    "ELECT": elect,
}
