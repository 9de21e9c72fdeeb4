"""Special registers, constants, and exchange between the threads of a warp."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...parsers.listing import Instruction
from .moves import first_of_warp
from .parts import Builder, Run, parts
from .state import State
from .values import lifted, plain_values

_LOAD_BYTES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


def special_register(instruction: Instruction, state: State) -> Run | None:
    """S2R, S2UR, CS2R."""
    p = parts(instruction)
    if not p.sources:
        return None
    value = state.launch.special(p.sources[0].text)
    uniform = instruction.opcode == "S2UR"
    wide = instruction.opcode == "CS2R" and "32" not in instruction.modifiers
    put, upper = state.target(p.to), state.target(p.to, 1)

    def run() -> None:
        put(lifted(lambda v: first_of_warp(v, state), value) if uniform else value)
        if wide:
            upper(0 if value == 0 and p.sources[0].text == "SRZ" else None)

    return run


def constant(instruction: Instruction, state: State) -> Run | None:
    """LDC, ULDC, LDCU: one to four words of a constant bank."""
    p = parts(instruction)
    if not p.sources or p.sources[0].kind != "constant":
        return None
    modifiers = instruction.modifiers
    size = next((_LOAD_BYTES[m] for m in modifiers if m in _LOAD_BYTES), 4)
    signed = any(m in ("S8", "S16") for m in modifiers)
    words = max(1, size // 4)
    steps = [
        (state.target(p.to, i), state.constant(p.sources[0], i, min(size, 4), signed))
        for i in range(words)
    ]

    def run() -> None:
        values = [get() for _, get in steps]
        for (put, _), value in zip(steps, values, strict=True):
            put(value)

    return run


def shuffle(instruction: Instruction, state: State) -> Run | None:
    """SHFL over warps or segments, with the predicate that tells whether the source exists."""
    operands = instruction.operands
    mode = next((m for m in instruction.modifiers if m in ("IDX", "UP", "DOWN", "BFLY")), None)
    if mode is None or len(operands) < 5:
        return None
    valid, to = state.target(operands[0]), state.target(operands[1])
    source, lane, bound = (state.integer(operand) for operand in operands[2:5])
    own = np.arange(32)

    def pick(value: Any, by: Any, limit: Any) -> Any:
        shape = (state.size,)
        data = plain_values(value, shape).reshape(-1, 32)
        by = plain_values(by, shape).reshape(-1, 32).astype(np.int64) & 31
        limit = plain_values(limit, shape).reshape(-1, 32).astype(np.int64)
        segment, clamp = limit >> 8 & 31, limit & 31
        low = own & segment
        high = low | (clamp & ~segment)
        if mode == "IDX":
            lane, inside = low | (by & ~segment), None
        elif mode == "UP":
            lane, inside = own - by, own - by >= high
        elif mode == "DOWN":
            lane, inside = own + by, own + by <= high
        else:
            lane, inside = own ^ by, (own ^ by) <= high
        good = lane <= high if inside is None else inside
        chosen = np.where(good, lane, own) & 31
        return np.take_along_axis(data, chosen, axis=1).reshape(-1), good.reshape(-1)

    def run() -> None:
        result = lifted(pick, source(), lane(), bound())
        if result is None:
            to(None)
            valid(None)
            return
        value, good = result
        to(value)
        valid(good)

    return run


def synchronization_unit(instruction: Instruction, state: State) -> Run | None:
    """SYNCS: a wait on an mbarrier is taken to succeed at once; what is read is unknown."""
    if "PHASECHK" not in instruction.modifiers:
        return None
    to = state.target(instruction.operands[0])
    return lambda: to(True)


def dot_product(instruction: Instruction, state: State) -> Run | None:
    """IDP.4A: four products of bytes and a sum."""
    p = parts(instruction)
    kinds = [m for m in instruction.modifiers if m in ("U8", "S8")]
    if "4A" not in instruction.modifiers or len(p.sources) != 3 or len(kinds) != 2:
        return None
    put = state.target(p.to)
    a, b, c = (state.integer(operand) for operand in p.sources)

    def product(x: Any, y: Any, z: Any) -> Any:
        total = np.asarray(z, np.uint32).astype(np.int64)
        for byte in range(4):
            factors = []
            for word, kind in ((x, kinds[0]), (y, kinds[1])):
                value = np.asarray(word, np.uint32).astype(np.int64) >> 8 * byte & 0xFF
                factors.append(np.where(value > 127, value - 256, value) if kind == "S8" else value)
            total = total + factors[0] * factors[1]
        result = (total & 0xFFFFFFFF).astype(np.uint32)
        return int(result) if result.ndim == 0 else result

    return lambda: put(lifted(product, a(), b(), c()))


BUILDERS: dict[str, Builder] = {
    **dict.fromkeys(("S2R", "S2UR", "CS2R"), special_register),
    **dict.fromkeys(("LDC", "ULDC", "LDCU"), constant),
    "SHFL": shuffle,
    "SYNCS": synchronization_unit,
    "IDP": dot_product,
}
