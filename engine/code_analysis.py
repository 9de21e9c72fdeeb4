"""The analysis of a target's code; imported only where no earlier analysis can be taken."""

from __future__ import annotations

from dataclasses import replace

from ..facts.arch_table import ArchTable
from ..facts.code import Code
from ..facts.known import known_at_launch
from ..facts.model import Fact, Source
from ..facts.problem import Problem
from ..parsers.artifact import Artifact
from ..parsers.choose import select_function
from ..parsers.listing import Function, Listing
from .code_work import with_work
from .function_analysis import analyse_function
from .knowledge import Setting, choose_device, limiting_architecture
from .launch_emulation import Launched
from .target import Opened

SHOWN_LINES = 4


def analyse_code(
    artifact: Artifact, opened: Opened, problem: Problem | None, setting: Setting
) -> Code:
    """Choose the function and analyse it; raises KneckError where the choice is not clear."""
    code, launched = launched_code(artifact, opened, problem, setting)
    return with_work(code, launched, setting)


def launched_code(
    artifact: Artifact, opened: Opened, problem: Problem | None, setting: Setting
) -> tuple[Code, Launched]:
    """Choose and analyse the function, its launch not yet emulated; raises KneckError."""
    request = opened.request
    function = select_function(artifact.listing, artifact.kernel or request.kernel, request.arch)
    device = choose_device(request, function.arch, setting)
    architecture = limiting_architecture(device, function.arch, setting)
    table = ArchTable(
        setting.hardware.instructions,
        architecture.name if architecture is not None else function.arch,
        device.product_class if device is not None else None,
    )
    known = known_at_launch(request, artifact, function, problem)
    records = tuple(r for r in artifact.resources if r.name == function.name)
    found = analyse_function(function, table, setting.hardware.operands, known, records)
    id = device.id if device is not None else None
    unread = unparsed_lines(artifact.listing, function)
    found = replace(found, sha256=artifact.sha256, device=id, facts=(*found.facts, unread))
    return found, Launched(function, opened.path, request, problem, device, architecture)


def unparsed_lines(listing: Listing, function: Function) -> Fact:
    """Count the lines of a function that have an address and are no instruction that was read."""
    ends = (other.line for other in listing.functions if other.line > function.line)
    end = min(ends, default=None)
    lines = [
        line
        for line, _ in listing.unknown_lines
        if line >= function.line and (end is None or line < end)
    ]
    where = ", ".join(str(line) for line in lines[:SHOWN_LINES])
    more = f" and {len(lines) - SHOWN_LINES} more" if len(lines) > SHOWN_LINES else ""
    source = Source("sass", f"{listing.path}, lines: {where or 'none'}{more}")
    return Fact("kernel.unparsed_lines", len(lines), "lines", source)
