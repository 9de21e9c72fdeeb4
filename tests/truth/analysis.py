"""The work of one kernel of the set as the product itself counts it, for tests that look inside."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kneck.engine.code_analysis import launched_code
from kneck.engine.extraction import problem_of
from kneck.engine.knowledge import Setting, load_setting
from kneck.engine.launch_emulation import Emulated, emulated
from kneck.engine.target import opened
from kneck.engine.truth.load import TruthSet, load_set
from kneck.engine.truth.verdicts import request_for
from kneck.facts.request import Request

HERE = Path(__file__).resolve().parent


@cache
def truth() -> TruthSet:
    """Read the set once."""
    return load_set(HERE)


@cache
def setting() -> Setting:
    """Load the knowledge base once."""
    return load_setting(Request(target=""))


@cache
def work_of(name: str, with_arguments: bool = True) -> Emulated:
    """Emulate a kernel of the set on the GPU that it was measured on."""
    request = request_for(truth().kernel(name), truth(), with_arguments)
    with opened(request, setting()) as target:
        problem = problem_of(request, setting())
        code, launched = launched_code(target.start().result(), target, problem, setting())
    found = emulated(code, launched, setting())
    assert isinstance(found, Emulated), found
    return found
