"""Listings for the tests of control flow, loops and dependences: written by hand or from cubins."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kneck.facts.control_flow import control_flow
from kneck.facts.dep_operands import OperandRules
from kneck.facts.dep_table import TableTiming
from kneck.facts.dependences import Dependences, dependences
from kneck.facts.instructions import InstructionTable
from kneck.facts.loop_linear import Known
from kneck.facts.loop_ranges import Ranges
from kneck.facts.loop_roles import Roles
from kneck.facts.loop_values import Values
from kneck.facts.loops import Loops, find_loops
from kneck.facts.tile import TileLoop, tile_loop
from kneck.parsers.disassembly import read_target
from kneck.parsers.listing import Function
from kneck.parsers.sass import parse_sass
from kneck.rules.hardware import load_instructions
from kneck.rules.hardware_files import shipped_folder
from kneck.rules.operands import load_operand_rules

KERNELS = Path(__file__).resolve().parents[1] / "kernels"
NOTHING_KNOWN = Known()


@cache
def operands() -> OperandRules:
    """The shipped operand rules."""
    return load_operand_rules([shipped_folder()])


@cache
def table() -> InstructionTable:
    """The shipped instruction table."""
    return load_instructions([shipped_folder()])


def sass(code: str, arch: str = "sm_86") -> Function:
    """Parse instructions without addresses: one a line, a label ends in a colon.

    A line may start with control bits, `[B------:R-:W-:-:S04] FFMA R0, R1, R2, R0`, and end in an
    annotation as nvdisasm prints it.
    """
    lines = [f"\tcode for {arch}", "\t\tFunction : kernel"]
    address = 0
    for line in filter(None, map(str.strip, code.splitlines())):
        if line.endswith(":") and " " not in line:
            lines.append(line)
            continue
        control, body = line[: line.find("]") + 1] if line.startswith("[B") else "", line
        body = body.removeprefix(control).strip()
        lines.append(f"{control} /*{address:04x}*/ {body} ;")
        address += 16
    listing = parse_sass("\n".join(lines) + "\n")
    assert not listing.unknown_lines
    return listing.functions[0]


@cache
def functions(stem: str, arch: str = "sm_86", folder: str = "cubin") -> dict[str, Function]:
    """The functions of a committed cubin, by name."""
    artifact = read_target(str(KERNELS / folder / f"{stem}.{arch}.cubin"))
    return {function.name: function for function in artifact.listing.functions}


def only(stem: str, arch: str = "sm_86", folder: str = "cubin") -> Function:
    """The function of a cubin that holds one."""
    (function,) = functions(stem, arch, folder).values()
    return function


def loops_of(function: Function) -> Loops:
    """Find the loops of a function."""
    return find_loops(control_flow(function))


def ranges_of(function: Function, known: Known = NOTHING_KNOWN) -> Ranges:
    """Trace the values of a function."""
    return Ranges(Values(loops_of(function), operands()), known)


def tile_of(function: Function, known: Known = NOTHING_KNOWN) -> TileLoop | None:
    """Choose the K-tile loop of a function."""
    ranges = ranges_of(function, known)
    return tile_loop(ranges.values.loops, Roles(table(), function.arch), ranges)


def dependences_of(function: Function, product_class: str | None = None) -> Dependences:
    """Analyse the K-tile loop of a function."""
    ranges = ranges_of(function)
    roles = Roles(table(), function.arch)
    tile = tile_loop(ranges.values.loops, roles, ranges)
    assert tile is not None
    timing = TableTiming(table(), function.arch, product_class)
    return dependences(ranges.values, tile, timing, roles)
