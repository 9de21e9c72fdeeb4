"""Kernels of a few lines, emulated: what their lanes touch is easy to see."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from kneck.engine.emulation_settings import emulation_settings
from kneck.engine.knowledge import load_setting
from kneck.facts.dep_operands import OperandRules
from kneck.facts.emulator.budget import Limits
from kneck.facts.emulator.emulate import Emulation, emulate
from kneck.facts.emulator.launch import Launch
from kneck.facts.emulator.samples import Sample
from kneck.facts.pipes import ConstantLayout
from kneck.facts.request import Request
from kneck.parsers.listing import Function
from kneck.parsers.sass import parse_sass
from kneck.rules.hardware_files import shipped_folder
from kneck.rules.operands import load_operand_rules

LAYOUT = ConstantLayout(block=0, grid=0xC, stack=0x28, parameters=0x210)  # sm_90
THREAD = "S2R R0, SR_TID.X"
ARRAY = "MOV R3, 0x100"  # upper word of every global address


def function_of(*lines: str) -> Function:
    """Parse instructions; `NAME:` in front of one is a label."""
    text = ["\t.target\tsm_90", "\t.section\t.text.k", ".text.k:"]
    for number, line in enumerate((*lines, "EXIT")):
        label, _, code = line.rpartition(": ")
        if label:
            text.append(f"{label}:")
        text.append(f" /*{16 * number:04x}*/ {code} ;")
    return parse_sass("\n".join(text) + "\n").functions[0]


@cache
def _limits() -> Limits:
    return emulation_settings(load_setting(Request(target=""))).limits


@cache
def _rules() -> OperandRules:
    return load_operand_rules([shipped_folder()])


def run(
    *lines: str, threads: int = 32, blocks: int = 1, samples: Sequence[int] = (0,)
) -> Emulation:
    """Emulate some blocks of a launch in one dimension, which stand for all of them alike."""
    chosen = tuple(Sample((block, 0, 0), blocks / len(samples)) for block in samples)
    launch = Launch((blocks, 1, 1), (threads, 1, 1), LAYOUT, chosen, {})
    return emulate(function_of(*lines), launch, _rules(), _limits())
