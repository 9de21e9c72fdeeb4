"""The tree of one operand, turned into an `Operand` while the parser of `sass.lark` runs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, cast

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput

from .listing import Operand

_ALL_PREDICATES = tuple(range(7))  # PR and UPR name P0 to P6; the seventh code is PT

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

    def BARRIERS(self, token: Token) -> Parts:
        return {"kind": "barrier"}

    def NUMBER(self, token: Token) -> Parts:
        if token.startswith("0x"):
            return {"kind": "immediate", "value": int(token, 16)}
        return {"kind": "immediate", "value": int(token) if token.isdigit() else float(token)}

    INTEGER = NUMBER

    def NOT_FINITE(self, token: Token) -> Parts:
        return {"kind": "immediate", "value": float("inf" if token.upper() == "INF" else "nan")}

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
    return -value if sign == "-" else value


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


def parse_by_grammar(text: str) -> Operand:
    """Parse one operand without any memory; what the grammar has no rule for is kind `other`."""
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
