"""The front door: a function, its launch and its parameters in, what runs and what it touches out."""

from __future__ import annotations

from dataclasses import dataclass

from ...parsers.listing import Function
from ..dep_operands import OperandRules
from .launch import Launch
from .machine import Doubt, Limits, Machine
from .program import Program, build_program
from .state import State
from .trace import Log


@dataclass(frozen=True, eq=False)
class Emulation:
    """What came out of one emulation."""

    program: Program
    launch: Launch
    log: Log
    doubt: Doubt


def emulate(
    function: Function,
    launch: Launch,
    rules: OperandRules,
    limits: Limits | None = None,
    observe_stores: bool = False,
) -> Emulation:
    """Emulate the sampled blocks of a launch."""
    program = build_program(function, rules, observe_stores)
    machine = Machine(program, State(launch, observe=observe_stores), limits or Limits())
    machine.run()
    return Emulation(program, launch, machine.log, machine.doubt)
