"""Operand text to `Operand`, by the grammar in `sass.lark`, one lark parse per *form*.

A listing of 100,000 instructions has tens of thousands of different operand texts but only a few
hundred forms: `[R2.64+0x10]` and `[R18.64+0x2c0]` differ in two numbers. So the numbers of a text
are cut out and replaced by their position (`[R1.64+0x2]`), lark parses that once into an operand
whose numbers are positions, and every text of the form is that operand with its own numbers put
back in. Both steps are memoized.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count

from .listing import Operand
from .operand_tree import parse_by_grammar
from .record import replace

# Numbers that change from operand to operand: register numbers, hex and decimal literals.
# Digits inside suffixes and names (.64, H0_H0, 2D) belong to the form.
_NUMBER = re.compile(
    r"(?<![\w.@])(?:(?P<bank>U?[RP]|S?B)(?P<index>[0-9]+)\b"
    r"|(?P<hex>0x[0-9a-fA-F]+)(?![\w.@])"
    r"|(?P<real>[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+))(?![\w.@])"
    r"|(?P<whole>[0-9]+)(?![\w.@]))"
)
_MADE_LABEL = re.compile(r"\.L_x_[0-9]+")
_ANY_LABEL = ".L_x_"
_LARGEST_INDEX = {"R": 255, "P": 7, "B": 255}  # R and P: eight and three bits of the encoding
_MEMO_LIMIT = 1 << 14  # entries; a library scan must not grow without end
_LONGEST_OPERAND = 4096  # characters; nothing real is longer, and the lexer is not asked


class _NoSuchRegister(Exception):
    """A register number that no encoding can hold."""


class _Operands(dict[str, Operand]):
    """Operand by text; a text that is not there yet is parsed."""

    def __missing__(self, text: str) -> Operand:
        if len(self) >= _MEMO_LIMIT:
            self.clear()
        operand = self[text] = _parse_new(text)
        return operand


_operands = _Operands()
_forms: dict[str, Operand] = {}


def parse_operand(text: str) -> Operand:
    """Parse one operand; a text that the grammar has no rule for comes back as kind `other`."""
    return _operands[text]


def parse_operands(texts: Iterable[str]) -> tuple[Operand, ...]:
    """Parse several operands, as `parse_operand` does."""
    return tuple(map(_operands.__getitem__, texts))


def forget() -> None:
    """Empty the memory of operands and forms, as in a process that has parsed nothing yet."""
    _operands.clear()
    _forms.clear()


def _parse_new(text: str) -> Operand:
    if len(text) > _LONGEST_OPERAND:
        return Operand(text, "other")
    if "`" in text or "@" in text:  # a name: its digits are no numbers
        return _parse_named(text)
    numbers: list[int | float] = [0]
    positions = count(1)

    def cut(found: re.Match[str]) -> str:
        kind = found.lastgroup
        value = found[kind] if kind else ""
        place = next(positions)
        if kind == "index":
            numbers.append(int(value))
            if int(value) > _LARGEST_INDEX[found["bank"][-1]]:
                raise _NoSuchRegister
            return f"{found['bank']}{place}"
        if kind == "hex":
            numbers.append(int(value, 16))
            return f"0x{place:x}"
        numbers.append(float(value) if kind == "real" else int(value))
        return f"{place}.0" if kind == "real" else f"{place}"

    try:
        form = _NUMBER.sub(cut, text)
    except _NoSuchRegister:
        return Operand(text, "other")
    return _fill(_template(form), text, numbers)


def _parse_named(text: str) -> Operand:
    """Parse an operand with a name; labels that the disassembler made differ in a number only."""
    made = _MADE_LABEL.findall(text)
    if len(made) != 1:
        return parse_by_grammar(text)
    template = _template(text.replace(made[0], _ANY_LABEL))
    if template.label != _ANY_LABEL:
        return parse_by_grammar(text)
    return replace(template, text=text, label=made[0])


def _template(form: str) -> Operand:
    template = _forms.get(form)
    if template is None:
        if len(_forms) >= _MEMO_LIMIT:
            _forms.clear()
        template = _forms[form] = parse_by_grammar(form)
    return template


def _fill(form: Operand, text: str, numbers: list[int | float]) -> Operand:
    """Put the numbers of a text back where the form names their positions."""
    if len(numbers) == 1 or form.kind == "other":
        return replace(form, text=text)
    value, offset, bank = form.value, form.offset, form.bank
    if value is not None:
        value = numbers[int(value)] if value > 0 else -numbers[-int(value)]
    if offset is not None:
        offset = int(numbers[offset] if offset >= 0 else -numbers[-offset])
    return Operand(
        text,
        form.kind,
        tuple([int(numbers[i]) for i in form.registers]),
        tuple([int(numbers[i]) for i in form.uniforms]),
        tuple([int(numbers[i]) for i in form.predicates]),
        tuple([int(numbers[i]) for i in form.uniform_predicates]),
        form.suffixes,
        form.negated,
        offset,
        value,
        form.label,
        form.absolute,
        None if bank is None else int(numbers[bank]),
        form.space,
    )
