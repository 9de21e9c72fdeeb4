"""Counting, finding, reversing and cutting out bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...parsers.listing import Instruction
from .parts import Builder, Run, immediate, parts
from .state import State
from .values import MASK, lifted


def count_bits(instruction: Instruction, state: State) -> Run | None:
    """POPC."""
    p = parts(instruction)
    put, a = state.target(p.to), state.integer(p.sources[0])
    return lambda: put(lifted(_population, a()))


def _population(a: Any) -> Any:
    if type(a) is int:
        return a.bit_count()
    a = a - (a >> np.uint32(1) & 0x55555555)
    a = (a & 0x33333333) + (a >> np.uint32(2) & 0x33333333)
    a = a + (a >> np.uint32(4)) & 0x0F0F0F0F
    return a * np.uint32(0x01010101) >> np.uint32(24)


def leading(instruction: Instruction, state: State) -> Run | None:
    """FLO: position of the highest bit that is set (for signed: that differs from the sign)."""
    p = parts(instruction)
    put, a = state.target(p.to), state.integer(p.sources[0])
    unsigned, shift = "U32" in instruction.modifiers, "SH" in instruction.modifiers
    return lambda: put(lifted(lambda value: _leading(value, unsigned, shift), a()))


def _leading(a: Any, unsigned: bool, shift: bool) -> Any:
    array = np.asarray(a, np.uint32)
    if not unsigned:
        array = np.where(array >> np.uint32(31), array ^ np.uint32(MASK), array)
    exponent = np.frexp(array.astype(np.float64))[1].astype(np.int64) - 1
    place = np.where(array == 0, MASK, 31 - exponent if shift else exponent).astype(np.uint32)
    return int(place) if type(a) is int else place


def reverse(instruction: Instruction, state: State) -> Run | None:
    """BREV."""
    p = parts(instruction)
    put, a = state.target(p.to), state.integer(p.sources[0])
    return lambda: put(lifted(_reverse, a()))


def _reverse(a: Any) -> Any:
    if type(a) is int:
        return int(f"{a:032b}"[::-1], 2)
    for by, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        a = a >> np.uint32(by) & mask | (a & mask) << np.uint32(by)
    return a >> np.uint32(16) | a << np.uint32(16)


def extend(instruction: Instruction, state: State) -> Run | None:
    """SGXT: keep the low bits, extended by their sign or by zeros."""
    p = parts(instruction)
    width = immediate(p.sources[1]) if len(p.sources) > 1 else None
    if width is None or not 0 < width <= 32:
        return None
    put, a = state.target(p.to), state.integer(p.sources[0])
    unsigned = "U32" in instruction.modifiers

    def cut(value: Any) -> Any:
        kept = value & (1 << width) - 1
        if unsigned:
            return kept
        sign = 1 << width - 1
        flipped = kept ^ sign
        return flipped - sign & MASK if type(flipped) is int else flipped - np.uint32(sign)

    return lambda: put(lifted(cut, a()))


def mask_bits(instruction: Instruction, state: State) -> Run | None:
    """BMSK: a run of ones, by position and width."""
    p = parts(instruction)
    if len(p.sources) != 2:
        return None
    put, a, b = state.target(p.to), state.integer(p.sources[0]), state.integer(p.sources[1])
    wraps = "W" in instruction.modifiers

    def ones(position: Any, width: Any) -> Any:
        at = np.asarray(position, np.uint64)
        length = np.asarray(width, np.uint64)
        if wraps:
            at, length = at & np.uint64(31), length & np.uint64(31)
        at, length = np.minimum(at, np.uint64(32)), np.minimum(length, np.uint64(32))
        run = ((np.uint64(1) << length) - np.uint64(1)) << at
        word = (run & np.uint64(MASK)).astype(np.uint32)
        return int(word) if word.ndim == 0 else word

    return lambda: put(lifted(ones, a(), b()))


BUILDERS: dict[str, Builder] = {
    **dict.fromkeys(("POPC", "UPOPC"), count_bits),
    **dict.fromkeys(("FLO", "UFLO"), leading),
    **dict.fromkeys(("BREV", "UBREV"), reverse),
    **dict.fromkeys(("SGXT", "USGXT"), extend),
    **dict.fromkeys(("BMSK", "UBMSK"), mask_bits),
}
