"""The analysis of one function: control flow, the K-tile loop, the mix, and the facts they give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from functools import cached_property

from ..parsers.listing import Function
from ..parsers.record import dataclass
from ..parsers.sass import unknown_operands
from .arch_table import ArchTable
from .control_flow import ControlFlow, control_flow
from .dep_operands import OperandRules
from .loop_linear import Known
from .loop_ranges import Ranges
from .loop_roles import Roles
from .loop_values import Values
from .loop_weights import Times
from .loops import Loops, find_loops
from .mix import MixLine, at_addresses, mix, mix_facts
from .model import EVERYTHING, Fact, Missing, Source, Wanted
from .tile import TileLoop, tile_loop
from .tile_facts import NO_LOOP

BARRIER = "BAR"
TAKEN_TO_PASS = "bounds checks are taken to pass"
SHOWN_NAMES = 8  # of what no table and no grammar knows
COMPUTE = "compute_"  # families of arithmetic; address arithmetic is another family


@dataclass(frozen=True)
class Kernel:
    """One function with everything that its code tells."""

    function: Function
    flow: ControlFlow
    loops: Loops
    values: Values
    tile: TileLoop | None
    loop_addresses: frozenset[int] | None

    @cached_property
    def mix(self) -> list[MixLine]:
        """Count every mnemonic of the function."""
        return mix(self.function.instructions, self.loop_addresses)


def analyse(function: Function, table: ArchTable, operands: OperandRules, known: Known) -> Kernel:
    """Find the loops, choose the K-tile loop and count; `known` is what launch and problem tell."""
    flow = control_flow(function)
    loops = find_loops(flow)
    values = Values(loops, operands)
    tile = tile_loop(loops, Roles(table.table, table.arch), Ranges(values, known))
    addresses = None
    if tile is not None:
        addresses = frozenset(
            instruction.address
            for block, times in tile.weights.times.items()
            if times.high != 0
            for instruction in flow.instructions(block)
        )
    return Kernel(function, flow, loops, values, tile, addresses)


def kernel_facts(
    kernel: Kernel, table: ArchTable, wanted: Wanted = EVERYTHING
) -> tuple[list[Fact], list[Missing]]:
    """Give what the code says of itself, each with the addresses that it rests on."""
    function = kernel.function
    facts = [
        *_function_facts(kernel, table),
        *mix_facts(function.instructions, kernel.loop_addresses, wanted),
    ]
    missing: list[Missing] = []
    precision = _precision(kernel, table)
    if precision is None:
        missing.append(Missing("roofline.precision", "the code has no arithmetic", applies=False))
    else:
        facts.append(precision)
    if kernel.tile is None:
        names = ("compute_op", "compute_ops", "load_ops", "load_bytes", "flops", "instructions")
        missing += [Missing(f"tile.{name}", NO_LOOP, applies=False) for name in names]
        return facts, missing
    loop_facts, loop_missing = _loop_facts(kernel.tile, kernel)
    return facts + loop_facts, missing + loop_missing


def _function_facts(kernel: Kernel, table: ArchTable) -> list[Fact]:
    function = kernel.function
    unknown = [i for i in function.instructions if table.info(i) is None]
    names = _named({i.opcode for i in unknown})
    operands = unknown_operands([function])
    texts = _named(operands)
    blind = [branch.address for branch in kernel.flow.indirect if not branch.targets]
    calls = [i.address for i in function.instructions if i.opcode == "CALL"]
    whole = Source("sass", f"{function.name}, {len(function.instructions)} instructions")
    return [
        Fact("kernel.has_encodings", function.has_control, "", whole),
        Fact("kernel.instructions", len(function.instructions), "instructions", whole),
        Fact(
            "kernel.unknown_opcodes",
            len(unknown),
            "instructions",
            Source("sass", f"opcodes: {names}"),
        ),
        Fact("kernel.unknown_opcode_names", names, "", Source("sass", f"opcodes: {names}")),
        Fact("kernel.unknown_operands", operands.total(), "", Source("sass", f"operands: {texts}")),
        Fact("kernel.unknown_operand_texts", texts, "", Source("sass", f"operands: {texts}")),
        Fact("kernel.unknown_branch_targets", len(blind), "instructions", at_addresses(blind)),
        Fact("kernel.calls", len(calls), "instructions", at_addresses(calls)),
    ]


def _named(texts: Collection[str]) -> str:
    """List texts, the first few of many; "none" where there are none."""
    shown = sorted(texts)[:SHOWN_NAMES]
    more = len(texts) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "") if shown else "none"


def _precision(kernel: Kernel, table: ArchTable) -> Fact | None:
    """Take the precision that carries most FLOP: of the loop, else of the whole function.

    Address arithmetic is integer work beside the floating-point work, so integers count only
    where nothing else computes.
    """
    inside = kernel.loop_addresses
    flops: Counter[str] = Counter()
    where: dict[str, list[int]] = {}
    for instruction in kernel.function.instructions:
        if instruction.never_executes or (inside is not None and instruction.address not in inside):
            continue
        info = table.info(instruction)
        if info is None or info.precision is None or not info.family.startswith(COMPUTE):
            continue
        flops[info.precision] += info.flops_per_warp or 1
        where.setdefault(info.precision, []).append(instruction.address)
    if not flops:
        return None
    best = max(sorted(flops), key=lambda name: flops[name])
    return Fact("roofline.precision", best, "", at_addresses(where[best]))


def _loop_facts(tile: TileLoop, kernel: Kernel) -> tuple[list[Fact], list[Missing]]:
    facts: list[Fact] = []
    missing: list[Missing] = []
    span = Source("sass", f"loop 0x{tile.loop.first:04x} to 0x{tile.loop.last:04x}")
    if tile.compute_op is None:
        missing.append(Missing("tile.compute_op", "the loop computes nothing", applies=False))
    else:
        facts.append(Fact("tile.compute_op", tile.compute_op, "", span))
    counts: list[tuple[str, Times | None, str, Source]] = [
        ("compute_ops", tile.compute_ops.times, "instructions", _at(tile.compute_ops.addresses)),
        ("load_ops", tile.load_ops.times, "loads", _at(tile.load_ops.addresses)),
        ("load_bytes", tile.load_bytes, "B", _at(tile.load_ops.addresses)),
        ("flops", tile.flops, "FLOP", _at(tile.compute_ops.addresses)),
        ("instructions", tile.instructions, "instructions", span),
    ]
    for name, times, unit, source in counts:
        _add_count(facts, missing, f"tile.{name}", times, unit, source)
    for opcode, share in tile.flop_fractions.items():
        facts.append(Fact(f"tile.{opcode.lower()}_fraction", share, "", span))
    barriers = _in_loop(kernel, BARRIER)
    facts.append(Fact("tile.barriers", len(barriers), "instructions", _at(barriers)))
    return facts, missing


def _add_count(
    facts: list[Fact], missing: list[Missing], name: str, times: Times | None, unit: str, at: Source
) -> None:
    """A count that the code settles is a fact; a range is missing, and the reason is the range."""
    if times is None:
        missing.append(Missing(name, "a mnemonic in the loop does not tell its size"))
        return
    value = times.low if times.is_exact else times.expected
    if value is None:
        high = "any number" if times.high is None else str(times.high)
        missing.append(Missing(name, f"between {times.low} and {high} per iteration"))
        return
    if not times.is_exact:
        at = Source(at.kind, f"{at.detail}; {TAKEN_TO_PASS}")
    facts.append(Fact(name, value, unit, at))


def rests_on_checks(fact: Fact) -> bool:
    """Tell whether a count takes bounds checks for passed, which a launch may show otherwise."""
    return fact.source.detail.endswith(TAKEN_TO_PASS)


def _in_loop(kernel: Kernel, opcode: str) -> list[int]:
    inside = kernel.loop_addresses or frozenset()
    return [
        i.address
        for i in kernel.function.instructions
        if i.opcode == opcode and i.address in inside and not i.never_executes
    ]


def _at(addresses: Iterable[int]) -> Source:
    return at_addresses(addresses)
