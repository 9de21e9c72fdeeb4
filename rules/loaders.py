"""The readers of the hardware files, together; imported where the cache has not what they give."""

from .hardware import (
    load_architectures,
    load_devices,
    load_instructions,
    load_problem_models,
)
from .operands import load_operand_rules
from .pipes import load_pipes

__all__ = [
    "load_architectures",
    "load_devices",
    "load_instructions",
    "load_operand_rules",
    "load_pipes",
    "load_problem_models",
]
