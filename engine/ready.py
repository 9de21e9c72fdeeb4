"""What every diagnosis loads sooner or later, loaded while the disassembler runs."""

from __future__ import annotations

from ..parsers.operand_tree import parse_by_grammar
from .knowledge import Setting
from .rete import network


def get_ready(setting: Setting) -> None:
    """Build the operand grammar's lexer, the tables, and the rules' network.

    Without it each is loaded by who asks first, after the disassembler has ended: a third of a
    short run's time during which one of two cores does nothing.
    """
    parse_by_grammar("R0")
    hardware = setting.hardware
    _ = hardware.instructions, hardware.operands, hardware.architectures, hardware.devices
    network(setting.knowledge)
