"""The analysis of one function by itself; it imports nothing that a launch or a time needs."""

from __future__ import annotations

from ..facts.arch_table import ArchTable
from ..facts.code import Code, CodeLoop, CodeStall
from ..facts.dep_operands import OperandRules
from ..facts.dep_table import TableTiming
from ..facts.dependence_facts import asks_for_stalls, dependence_facts
from ..facts.dependences import Dependences, dependences
from ..facts.kernel import Kernel, analyse, kernel_facts
from ..facts.loop_linear import Known
from ..facts.loop_roles import Roles
from ..facts.model import EVERYTHING, Wanted
from ..facts.pattern_facts import pattern_facts
from ..parsers.listing import Function, ResourceRecord


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
    that are not `wanted`, and work that only they need, may be left out; likewise `mix`. Where no
    `stalls` are asked for by name, only those that could be shorter are given.
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
        stalls=_stalls(loop, wanted),
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


def _stalls(found: Dependences | None, wanted: Wanted) -> tuple[CodeStall, ...]:
    if found is None:
        return ()
    rows = found.rows if asks_for_stalls(wanted) else found.loose_rows
    return tuple(
        CodeStall(r.mnemonic, r.stall, r.count, r.independent, r.required, r.reducible_cycles)
        for r in rows or ()
    )
