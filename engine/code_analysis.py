"""The analysis of a target's code; imported only where no earlier analysis can be taken."""

from __future__ import annotations

from dataclasses import replace

from ..facts.arch_table import ArchTable
from ..facts.code import Code, CodeLoop, CodeStall
from ..facts.dep_operands import OperandRules
from ..facts.dep_table import TableTiming
from ..facts.dependence_facts import dependence_facts
from ..facts.dependences import Dependences, dependences
from ..facts.kernel import Kernel, analyse, kernel_facts
from ..facts.known import known_at_launch
from ..facts.loop_linear import Known
from ..facts.loop_roles import Roles
from ..facts.model import EVERYTHING, Wanted
from ..facts.pattern_facts import pattern_facts
from ..facts.problem import Problem
from ..parsers.artifact import Artifact
from ..parsers.choose import select_function
from ..parsers.listing import Function, ResourceRecord
from .code_work import with_work
from .knowledge import Setting, choose_device, limiting_architecture
from .launch_emulation import Launched
from .target import Opened


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
    found = replace(found, sha256=artifact.sha256, device=id)
    return found, Launched(function, opened.path, request, problem, device, architecture)


def analyse_function(
    function: Function,
    table: ArchTable,
    operands: OperandRules,
    known: Known,
    records: tuple[ResourceRecord, ...],
    timing: TableTiming | None = None,
    wanted: Wanted = EVERYTHING,
) -> Code:
    """Analyse one function by itself: no file and no device is named in the result.

    `timing` is what `timing_of` gives for the table; it remembers answers across functions. Facts
    that are not `wanted`, and work that only they need, may be left out; likewise `mix`.
    """
    kernel = analyse(function, table, operands, known)
    loop = _dependences(kernel, table, timing or timing_of(table))
    parts = [
        kernel_facts(kernel, table, wanted),
        dependence_facts(loop, kernel.tile, wanted),
        pattern_facts(kernel, table, wanted),
    ]
    return Code(
        name=function.name,
        arch=function.arch,
        sha256="",
        device=None,
        has_encodings=function.has_control,
        loop=_loop(kernel),
        flop_shares_known=kernel.tile is not None and bool(kernel.tile.flop_fractions),
        mix=tuple(kernel.mix) if "mix" in wanted else (),
        stalls=_stalls(loop),
        facts=tuple(fact for facts, _ in parts for fact in facts),
        missing=tuple(gap for _, gaps in parts for gap in gaps),
        records=records,
    )


def timing_of(table: ArchTable) -> TableTiming:
    """Give the table as the dependence analysis asks it."""
    return TableTiming(table.table, table.arch, table.product_class)


def _dependences(kernel: Kernel, table: ArchTable, timing: TableTiming) -> Dependences | None:
    if kernel.tile is None:
        return None
    return dependences(kernel.values, kernel.tile, timing, Roles(table.table, table.arch))


def _loop(kernel: Kernel) -> CodeLoop | None:
    tile = kernel.tile
    if tile is None:
        return None
    loop, instructions = tile.loop, tile.instructions.low
    header = kernel.flow.instructions(loop.header)[0].address
    addresses = tuple(sorted(kernel.loop_addresses or ()))
    return CodeLoop(
        loop.first, loop.last, loop.depth, instructions, tile.chosen_because, header, addresses
    )


def _stalls(found: Dependences | None) -> tuple[CodeStall, ...]:
    rows = found.rows if found is not None else None
    return tuple(
        CodeStall(r.mnemonic, r.stall, r.count, r.independent, r.required, r.reducible_cycles)
        for r in rows or ()
    )
