"""Registers of all emulated threads, and how operands are read and results written.

Threads of the sampled blocks stand in one vector, block after block, each block padded to whole
warps. A uniform register is kept per thread too: the threads of a warp agree on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from ...parsers.listing import Operand
from ...parsers.record import dataclass
from .launch import Launch
from .values import Array, Cell, Partly, invert, lifted, merge, negate, pair, wrap

WARP = 32
Getter = Callable[[], Cell]
Setter = Callable[[Cell], None]


@dataclass(eq=False)
class State:
    """All registers; `lanes` is the mask of threads that execute, None when all living ones do.

    `warp_lanes` is the same widened to whole warps, for what a warp has once.
    """

    launch: Launch
    registers: list[Cell] = field(default_factory=lambda: [None] * 256)
    uniforms: list[Cell] = field(default_factory=lambda: [None] * 256)
    predicates: list[Cell] = field(default_factory=lambda: [None] * 8)
    uniform_predicates: list[Cell] = field(default_factory=lambda: [None] * 8)
    local: dict[int, Cell] = field(default_factory=dict)  # local memory by address
    lanes: Array | None = None
    warp_lanes: Array | None = None
    observe: bool = False  # keep what stores write
    alive: Array | None = None  # threads that have not left yet; None: all that exist

    @property
    def size(self) -> int:
        """Number of threads, padding included."""
        return self.launch.size

    def mask(self) -> Array:
        """Give the executing threads as an array."""
        if self.lanes is not None:
            return self.lanes
        return self.launch.alive if self.alive is None else self.alive

    # -- reading ---------------------------------------------------------------------------

    def integer(self, operand: Operand, shift: int = 0) -> Getter:
        """Read one 32-bit word; `shift` is the word of a longer operand (0 low, 1 high)."""
        return self._signs(operand, self._word(operand, shift))

    def bits(self, operand: Operand, shift: int = 0) -> Getter:
        """Read one word without its sign (floats change it in their own way)."""
        return self._word(operand, shift)

    def long(self, operand: Operand) -> Getter:
        """Read 64 bits as one unsigned value; a single word is extended by zeros."""
        if operand.kind == "immediate":
            value = _immediate(operand, 64)
            return lambda: value
        lo, hi = self._word(operand, 0), self._word(operand, 1)
        joined: Getter = lambda: lifted(pair, lo(), hi())  # noqa: E731
        if not operand.negated:
            return joined
        flip = operand.text.startswith("~")
        return lambda: lifted(_invert_long if flip else _negate_long, joined())

    def _signs(self, operand: Operand, get: Getter) -> Getter:
        if operand.kind == "immediate":
            return get
        if operand.absolute:
            inner = get
            get = lambda: lifted(_absolute, inner())  # noqa: E731
        if not operand.negated:
            return get
        change = invert if operand.text.startswith("~") else negate
        source = get
        return lambda: lifted(change, source())

    def _word(self, operand: Operand, shift: int) -> Getter:
        kind = operand.kind
        if kind == "register":
            return _from(self.registers, operand.registers, shift)
        if kind == "uniform":
            return _from(self.uniforms, operand.uniforms, shift)
        if kind == "immediate":
            value = _immediate(operand, 64) >> 32 * shift & 0xFFFFFFFF
            return lambda: value
        if kind == "constant":
            return self.constant(operand, shift)
        if kind == "predicate":
            get = self.predicate(operand)
            return lambda: lifted(_as_word, get())
        return lambda: None

    def constant(
        self, operand: Operand, shift: int = 0, width: int = 4, signed: bool = False
    ) -> Getter:
        """Read from a constant bank; an index in a register is followed when all threads agree."""
        launch, bank = self.launch, operand.bank or 0
        offset = (operand.offset or 0) + 4 * shift
        if operand.space == "cx":
            return lambda: None
        if not operand.registers and not operand.uniforms:
            value = launch.constant(bank, offset, width, signed)
            return lambda: value
        files = self.registers if operand.registers else self.uniforms
        number = (operand.registers or operand.uniforms)[0]

        def indexed() -> Cell:
            index = files[number]
            if type(index) is int:
                return launch.constant(bank, (offset + index) & 0xFFFFFFFF, width, signed)
            return None

        return indexed

    def predicate(self, operand: Operand) -> Getter:
        """Read a predicate operand; PT is True."""
        uniform = operand.kind == "uniform_predicate"
        numbers = operand.uniform_predicates if uniform else operand.predicates
        file = self.uniform_predicates if uniform else self.predicates
        negated = operand.negated
        if not numbers:
            constant = not negated
            return lambda: constant
        number = numbers[0]
        if not negated:
            return lambda: file[number]
        return lambda: lifted(_not, file[number])

    def guard(self, text: str | None) -> Getter | None:
        """Read the guard of an instruction; None where there is none."""
        if text is None:
            return None
        name = text.lstrip("!")
        uniform = name.startswith("U")
        digit = name.lstrip("UP")
        numbers = (int(digit),) if digit.isdigit() else ()
        kind: Any = "uniform_predicate" if uniform else "predicate"
        given: dict[str, Any] = {"uniform_predicates" if uniform else "predicates": numbers}
        return self.predicate(Operand(text, kind, negated=text.startswith("!"), **given))

    # -- writing ---------------------------------------------------------------------------

    def target(self, operand: Operand, shift: int = 0) -> Setter:
        """Write to a register or predicate; RZ and PT swallow what is written."""
        kind = operand.kind
        if kind == "register":
            return self._into(self.registers, operand.registers, shift, False)
        if kind == "uniform":
            return self._into(self.uniforms, operand.uniforms, shift, True)
        if kind == "predicate":
            return self._into(self.predicates, operand.predicates, 0, False)
        if kind == "uniform_predicate":
            return self._into(self.uniform_predicates, operand.uniform_predicates, 0, True)
        return _swallow

    def _into(self, file: list[Cell], numbers: tuple[int, ...], shift: int, whole: bool) -> Setter:
        if not numbers:
            return _swallow
        number = numbers[0] + shift
        if whole:

            def put_uniform(value: Cell) -> None:
                lanes = self.warp_lanes
                file[number] = value if lanes is None else merge(lanes, value, file[number])

            return put_uniform

        def put(value: Cell) -> None:
            lanes = self.lanes
            file[number] = value if lanes is None else merge(lanes, value, file[number])

        return put

    # -- by number, for loops --------------------------------------------------------------

    def at(self, number: int) -> Cell:
        """Give a register by the numbers of the operand rules."""
        file, index = self._place(number)
        return file[index]

    def put_at(self, number: int, value: Cell) -> None:
        """Set a register by the numbers of the operand rules, in the executing threads."""
        file, index = self._place(number)
        uniform = file is self.uniforms or file is self.uniform_predicates
        lanes = self.warp_lanes if uniform else self.lanes
        file[index] = value if lanes is None else merge(lanes, value, file[index])

    def _place(self, number: int) -> tuple[list[Cell], int]:
        if number < 256:
            return self.registers, number
        if number < 512:
            return self.uniforms, number - 256
        if number < 528:
            return self.predicates, number - 512
        return self.uniform_predicates, number - 528


def _from(file: list[Cell], numbers: tuple[int, ...], shift: int) -> Getter:
    if not numbers:
        return lambda: 0
    number = numbers[0] + shift
    return lambda: file[number]


def _swallow(value: Cell) -> None:
    return None


def _immediate(operand: Operand, bits: int) -> int:
    """Give an immediate as bits; a float becomes its single-precision pattern."""
    value = operand.value
    if value is None:
        return 0
    if isinstance(value, float):
        return int(np.float32(value).view(np.uint32))
    return value & ((1 << bits) - 1)


def _as_word(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value.astype(np.uint32)


def _not(value: Any) -> Any:
    return not value if isinstance(value, bool) else ~value


def _absolute(value: Any) -> Any:
    negative = value & 0x80000000
    if type(value) is int:
        return wrap(-value) if negative else value
    return np.where(negative != 0, 0 - value, value)


def _invert_long(value: Any) -> Any:
    return value ^ 0xFFFFFFFFFFFFFFFF if type(value) is int else ~value


def _negate_long(value: Any) -> Any:
    return -value & 0xFFFFFFFFFFFFFFFF if type(value) is int else np.uint64(0) - value


def some(value: Cell, mask: Array) -> bool | None:
    """Tell whether a predicate holds in any thread of a mask; None when that is not known."""
    if value is None:
        return None
    if isinstance(value, bool):
        return value and bool(mask.any())
    if type(value) is Partly:
        if bool((value.values & value.known & mask).any()):
            return True
        return None if bool((~value.known & mask).any()) else False
    return bool((np.asarray(value) & mask).any())
