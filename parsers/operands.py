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
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import count
from typing import Any, cast

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput

from .listing import Operand

# Numbers that change from operand to operand: register numbers, hex and decimal literals.
# Digits inside suffixes and names (.64, H0_H0, 2D) belong to the form.
_NUMBER = re.compile(
    r"(?<![\w.@])(?:(?P<bank>U?[RP]|S?B)(?P<index>[0-9]+)\b"
    r"|(?P<hex>0x[0-9a-fA-F]+)(?![\w.@])"
    r"|(?P<real>[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+))(?![\w.@])"
    r"|(?P<whole>[0-9]+)(?![\w.@]))"
)
_ALL_PREDICATES = tuple(range(7))  # PR and UPR name P0 to P6; the seventh code is PT
_INFINITY = float("inf")
_NAN = float("nan")  # one object, so that equal operands compare equal
_MEMO_LIMIT = 1 << 17  # entries; a library scan must not grow without end
_LONGEST_OPERAND = 4096  # characters; nothing real is longer, and the lexer is not asked


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
        return _parse_by_grammar(text)
    numbers: list[int | float] = [0]
    positions = count(1)

    def cut(found: re.Match[str]) -> str:
        kind = found.lastgroup
        value = found[kind] if kind else ""
        place = next(positions)
        if kind == "index":
            numbers.append(int(value))
            return f"{found['bank']}{place}"
        if kind == "hex":
            numbers.append(int(value, 16))
            return f"0x{place:x}"
        numbers.append(float(value) if kind == "real" else int(value))
        return f"{place}.0" if kind == "real" else f"{place}"

    form = _NUMBER.sub(cut, text)
    template = _forms.get(form)
    if template is None:
        if len(_forms) >= _MEMO_LIMIT:
            _forms.clear()
        template = _forms[form] = _parse_by_grammar(form)
    return _fill(template, text, numbers)


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


Parts = dict[str, Any]  # keyword arguments of Operand, collected bottom-up


class _Build(Transformer[Token, Operand]):
    """Turn the tree of one operand into an `Operand`; runs inside the LALR parser."""

    def REGISTER(self, token: Token) -> Parts:
        return {"kind": "register", "registers": _numbered(token, "R")}

    def UNIFORM(self, token: Token) -> Parts:
        return {"kind": "uniform", "uniforms": _numbered(token, "UR")}

    def PREDICATE(self, token: Token) -> Parts:
        prefix, name, kind = "P", "predicates", "predicate"
        if token[0] == "U":
            prefix, name, kind = "UP", "uniform_predicates", "uniform_predicate"
        every = token == f"{prefix}R"
        return {"kind": kind, name: _ALL_PREDICATES if every else _numbered(token, prefix)}

    def BARRIER(self, token: Token) -> Parts:
        return {"kind": "barrier", "value": int(token.lstrip("SBgsb"))}

    def NUMBER(self, token: Token) -> Parts:
        if token.startswith("0x"):
            return {"kind": "immediate", "value": int(token, 16)}
        return {"kind": "immediate", "value": int(token) if token.isdigit() else float(token)}

    INTEGER = NUMBER

    def NOT_FINITE(self, token: Token) -> Parts:
        return {"kind": "immediate", "value": _INFINITY if token.upper() == "INF" else _NAN}

    def RELOCATION(self, token: Token) -> Parts:
        return {"kind": "immediate", "label": _symbol(token[token.index("(") + 1 : -1])}

    def LABEL(self, token: Token) -> Parts:
        return {"kind": "label", "label": _symbol(token[2:-1])}

    def NAME(self, token: Token) -> Parts:
        return {"kind": "special"}

    def SUFFIX(self, token: Token) -> str:
        return str(token[1:])

    def suffixes(self, children: list[str]) -> tuple[str, ...]:
        return tuple(children)

    def displacement(self, children: list[Any]) -> Parts:
        if "label" in children[-1]:
            return {"label": children[-1]["label"]}
        sign = children[0] if len(children) > 1 else None
        return {"offset": _signed(sign, children[-1]["value"])}

    def term(self, children: list[Any]) -> Parts:
        sign = children.pop(0) if isinstance(children[0], Token) else None
        parts: Parts = dict(children[0])
        value = parts.pop("value", None)
        if value is not None:
            parts["offset"] = _signed(sign, value)
        if len(children) > 1:
            parts["suffixes"] = children[1]
        return parts

    def address(self, children: list[Parts]) -> Parts:
        return _merged(children)

    def memory(self, children: list[Any]) -> Parts:
        space = str(children.pop(0)) if isinstance(children[0], Token) else None
        parts = {"offset": 0} | _merged(children)
        return parts | {"kind": "memory", "space": space}

    def constant(self, children: list[Any]) -> Parts:
        space, bank, address = children
        parts = {"offset": 0} | _merged([{k: bank[k] for k in bank if k != "offset"}, address])
        return parts | {"kind": "constant", "space": str(space), "bank": bank.get("offset")}

    def GUARD(self, token: Token) -> str:
        return str(token)

    def instruction(self, children: list[Any]) -> tuple[str | None, str, tuple[Operand, ...]]:
        guard, mnemonic, *operands = children
        return guard, str(mnemonic), tuple(each for each in operands if each is not None)

    def operand(self, children: list[Any]) -> Operand:
        sign = children.pop(0) if isinstance(children[0], Token) else None
        parts: Parts = dict(children[0])
        for more in children[1:]:
            if isinstance(more, tuple):
                parts["suffixes"] = parts.get("suffixes", ()) + more
            else:
                parts |= more
        if parts["kind"] == "immediate" and parts.get("value") is not None:
            parts["value"] = _signed(sign, parts["value"])
        else:
            parts["negated"] = sign is not None and sign != "+"
        return Operand(text="", **parts)

    def absolute(self, children: list[Any]) -> Operand:
        return replace(self.operand(children), absolute=True)


def _numbered(token: Token, prefix: str) -> tuple[int, ...]:
    number = token[len(prefix) :]
    return (int(number),) if number.isdigit() else ()


def _signed(sign: Token | None, value: Any) -> Any:
    return -value if sign == "-" and value is not _NAN else value


def _symbol(text: str) -> str:
    """Name the symbol of `.L_x_3`, `(kernel + .L_x_3@srel)`: the last one, which is the place."""
    inner = text.strip("() ") if text.startswith("(") and text.endswith(")") else text
    return inner.rsplit(" + ", 1)[-1].removesuffix("@srel")


def _merged(terms: list[Parts]) -> Parts:
    """Collect the registers of an address; a second number in it has no meaning here."""
    merged: Parts = {}
    for term in terms:
        for name, value in term.items():
            if name in ("registers", "uniforms", "suffixes") and name in merged:
                value = merged[name] + value
            merged[name] = value
    return merged


@cache
def grammar() -> Lark:
    """Build the parser of `sass.lark`, once in a process."""
    text = files(__package__).joinpath("sass.lark").read_text(encoding="utf-8")
    start = ["operand", "instruction"]
    return Lark(text, parser="lalr", lexer="contextual", start=start, transformer=_Build())


def _parse_by_grammar(text: str) -> Operand:
    try:
        operand = cast(Operand, grammar().parse(text, start="operand"))
    except UnexpectedInput:
        return Operand(text, "other")
    return replace(operand, text=text)


def parse_instruction(text: str) -> tuple[str | None, str, tuple[Operand, ...]]:
    """Parse guard, mnemonic and operands by the whole grammar, without the fast cutting of lines.

    Raises lark's UnexpectedInput where the text is no instruction.
    """
    return cast(
        tuple[str | None, str, tuple[Operand, ...]], grammar().parse(text, start="instruction")
    )
