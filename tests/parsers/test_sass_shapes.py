"""Every operand form seen in public CUDA libraries parses to its opcode and shape."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from kneck.parsers.listing import Instruction, Operand
from kneck.parsers.operand_tree import parse_instruction
from kneck.parsers.sass import parse_sass, unknown_operands

SHAPES = Path(__file__).parent / "data" / "sass-shapes.tsv"


def rows() -> list[tuple[str, str, str, str]]:
    lines = SHAPES.read_text(encoding="utf-8").splitlines()
    cells = [line.split("\t") for line in lines if not line.startswith("#")]
    return [(archs, opcode, shape, line) for archs, opcode, shape, line, _ in cells]


def number_shape(value: float | int, text: str) -> str:
    sign = "-" if value < 0 or text.startswith("-") else ""
    if isinstance(value, float) and (value != value or value in (float("inf"), -float("inf"))):
        return text
    if isinstance(value, float):
        return "#f"  # the column keeps the sign of hex numbers only
    return f"{sign}#x" if "0x" in text else "#d"


def suffix_shape(operand: Operand) -> str:
    spelled = "".join(f".{each}" for each in operand.suffixes)
    return re.sub(r"\.B[0-9]+$", ".Bn", spelled)


def bracket_shape(operand: Operand, general: str, uniform: str) -> str:
    """Spell an address from its parts; zero registers are in the text only."""
    parts = []
    if operand.registers or re.search(r"[\[+]RZ", operand.text):
        suffix = "" if operand.space == "gdesc" else suffix_shape(operand)
        parts.append(("Rn" if operand.registers else "RZ") + suffix)
    if uniform:
        parts.append(uniform)
    offset = operand.offset
    assert offset is not None
    if offset or (not parts and operand.label is None):
        parts.append("-#x" if offset < 0 else "#x")
    return "[" + "+".join(parts) + "]"


def shape(operand: Operand) -> str:
    """Derive the notation of the shape column from the fields of an operand."""
    sign = operand.text[0] if operand.negated else ""
    kind = operand.kind
    if kind == "immediate" and operand.label is not None:
        return f"#d@{'hi' if '@hi' in operand.text else 'lo'}(sym)"
    if kind == "immediate":
        assert operand.value is not None
        return number_shape(operand.value, operand.text)
    if kind == "label":
        return "`(L)"
    if kind == "special":
        return sign + operand.text.removeprefix(sign)
    uniforms = ["URn"] * len(operand.uniforms) + ["URZ"] * operand.text.count("URZ")
    if kind == "memory" and operand.space == "desc":
        return f"desc[{uniforms[0]}]" + bracket_shape(operand, "Rn", "".join(uniforms[1:]))
    if kind == "memory" and operand.space in ("gdesc", "idesc", "tmem"):
        return f"{operand.space}{bracket_shape(operand, '', ''.join(uniforms))}" + (
            suffix_shape(operand)
        )
    if kind == "memory":
        return bracket_shape(operand, "Rn", "".join(uniforms))
    if kind == "constant":
        gap = " " if "] [" in operand.text else ""
        bank = "#x" if operand.bank is not None else "URn"
        body = bracket_shape(operand, "Rn", "".join(uniforms))
        core = f"{operand.space}[{bank}]{gap}{body}"
        if operand.absolute:
            core = f"|{core}|"
        return sign + core + suffix_shape(operand)
    names = {
        "register": ("Rn", "RZ", operand.registers),
        "uniform": ("URn", "URZ", operand.uniforms),
        "predicate": ("Pn", "PT", operand.predicates),
        "uniform_predicate": ("UPn", "UPT", operand.uniform_predicates),
    }
    if kind == "barrier":
        return "Bn" if operand.text.startswith("B") else operand.text
    named, none, numbers = names[kind]
    core = named if numbers else none
    if len(numbers) > 1:
        core = "UPR" if kind == "uniform_predicate" else "PR"
    if operand.absolute:
        core = f"|{core}|"
    if operand.offset is not None:
        core += " -#x" if operand.offset < 0 else " #x"
    return sign + core + suffix_shape(operand)


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[1]} {row[2]}")
def test_every_known_line_parses_to_its_columns(row: tuple[str, str, str, str]) -> None:
    archs, opcode, columns, line = row
    arch = archs.split(",")[0]
    listing = parse_sass(f"\tcode for {arch}\n\t\tFunction : k\n        {line}\n")
    (function,) = listing.functions
    (instruction,) = function.instructions
    assert function.arch == arch
    assert instruction.opcode == opcode
    assert ", ".join(shape(operand) for operand in instruction.operands) == columns.replace(
        " ,", ","
    )
    assert not unknown_operands([function])


def test_the_line_cutter_agrees_with_the_whole_grammar() -> None:
    for archs, _, _, line in rows():
        text = f"\tcode for {archs.split(',')[0]}\n\t\tFunction : k\n        {line}\n"
        fast: Instruction = parse_sass(text).functions[0].instructions[0]
        guard, mnemonic, operands = parse_instruction(re.sub(r'\(\*".*"\*\)', "", fast.text))
        assert (guard, mnemonic) == (fast.predicate, fast.mnemonic)
        # as text, because not-a-number differs from itself
        assert str(operands) == str(tuple(replace(each, text="") for each in fast.operands))
