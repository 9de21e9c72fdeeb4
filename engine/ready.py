"""What every diagnosis loads sooner or later, loaded while the disassembler runs."""

from __future__ import annotations

from importlib import import_module

from ..parsers.operand_tree import parse_by_grammar
from .knowledge import Setting
from .rete import network

LATER = (
    "facts.issue_timing",
    "facts.parameters",
    "parsers.control",
    "parsers.sass_lines",
    "rules.typecheck",
    "engine.text",
)


def get_ready(setting: Setting) -> None:
    """Import modules, build the operand grammar's lexer, the tables, and the rules' network.

    Without it each is loaded by who asks first, after the disassembler has ended: a quarter of a
    short run's time during which one of two cores does nothing.
    """
    for name in LATER:
        import_module(f"..{name}", __package__)
    import tabulate  # noqa: F401

    parse_by_grammar("R0")
    hardware = setting.hardware
    _ = hardware.instructions, hardware.operands, hardware.architectures, hardware.devices
    network(setting.knowledge)
