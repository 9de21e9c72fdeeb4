"""Instructions of a kernel with what they are and how often they run, for counting patterns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property

from ..parsers.listing import Instruction, Operand
from ..parsers.record import dataclass
from .arch_table import ArchTable
from .dep_operands import UNIFORM, Access
from .flow_dominators import ranks
from .instructions import InstructionInfo
from .kernel import Kernel
from .loop_linear import Linear
from .loop_weights import Times
from .loops import Loop
from .mix import at_addresses
from .model import EVERYTHING, Fact, Missing, Source, Wanted
from .tile_facts import NO_LOOP

SHARED = ("load_shared", "store_shared", "atomic_shared")
MERGE_FIGURES = ("mergeable", "mergeable_saved", "merged_bytes", "alignment_unknown")


@dataclass(frozen=True, slots=True)
class Line:
    """One instruction that can execute; `info` is None where no table knows its opcode.

    `times` is how often it runs in one iteration of the K-tile loop, None outside of it.
    """

    position: int
    block: int
    instruction: Instruction
    info: InstructionInfo | None
    times: Times | None
    family: str = ""  # empty where it is not known

    @property
    def address(self) -> int:
        return self.instruction.address

    @property
    def is_in_loop(self) -> bool:
        """Tell whether it may run in an iteration of the K-tile loop."""
        return self.times is not None and self.times.high != 0


class Lines(tuple[Line, ...]):
    """Lines in the order of the code, found by family without looking at each one again."""

    @cached_property
    def by_family(self) -> dict[str, list[Line]]:
        """Give the lines of each family."""
        found: dict[str, list[Line]] = {}
        for line in self:
            found.setdefault(line.family, []).append(line)
        return found


class Scope:
    """All lines of a kernel, and those of its K-tile loop (with its inner loops and routines)."""

    def __init__(self, kernel: Kernel, table: ArchTable, wanted: Wanted = EVERYTHING) -> None:
        self.kernel = kernel
        self.table = table
        self.wanted = wanted  # facts; what costs more than a count is left out without
        self.flow = kernel.flow
        self.values = kernel.values

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """Give every instruction that control can reach and whose guard can be true."""
        times = self.kernel.tile.weights.times if self.kernel.tile is not None else {}
        found = []
        instructions, describe = self.flow.function.instructions, self.table.info
        for block in self.flow.blocks:
            if block.index not in self.flow.reachable:
                continue
            runs = times.get(block.index)
            for position in range(block.first, block.end):
                instruction = instructions[position]
                if not instruction.never_executes:
                    info = describe(instruction)
                    family = "" if info is None else info.family
                    found.append(Line(position, block.index, instruction, info, runs, family))
        return Lines(found)

    @cached_property
    def loop(self) -> tuple[Line, ...]:
        """Give the lines of the K-tile loop; none where there is no such loop."""
        return Lines(line for line in self.lines if line.times and line.times.high != 0)

    @cached_property
    def looping(self) -> frozenset[int]:
        """Give the blocks of any loop, the K-tile loop or another."""
        return frozenset(block for loop in self.kernel.loops.loops for block in loop.blocks)

    @cached_property
    def by_block(self) -> dict[int, list[Line]]:
        """Give the lines of each block that has some."""
        found: dict[int, list[Line]] = {}
        for line in self.lines:
            found.setdefault(line.block, []).append(line)
        return found

    @cached_property
    def following(self) -> tuple[tuple[int, ...], ...]:
        """Give the blocks that control goes to behind each, with the routine that it calls."""
        calls = self.flow.calls
        return tuple(
            (*(edge.target for edge in edges), *((calls[block],) if block in calls else ()))
            for block, edges in enumerate(self.flow.successors)
        )

    @cached_property
    def ranks(self) -> dict[int, int]:
        """Number the blocks in the order of the flow; a pass in it visits few of them again."""
        return ranks(self.flow.roots, self.following)

    @property
    def body(self) -> tuple[Line, ...]:
        """Give the loop where there is one, else the whole function."""
        return self.loop or self.lines

    def access(self, line: Line) -> Access:
        """Give what a line reads and writes."""
        return self.values.access(line.position)


def chosen(lines: Iterable[Line], families: Collection[str]) -> list[Line]:
    """Give the lines of some families."""
    if not isinstance(lines, Lines):
        return [line for line in lines if line.family in families]
    groups = [lines.by_family[family] for family in set(families) if family in lines.by_family]
    if len(groups) == 1:
        return list(groups[0])
    return sorted((line for group in groups for line in group), key=lambda line: line.position)


def memory_operands(instruction: Instruction) -> Iterator[Operand]:
    """Give the address operands of an instruction."""
    return (operand for operand in instruction.operands if operand.kind == "memory")


def registers_of(operand: Operand) -> tuple[int, ...]:
    """Give the registers of an operand, those of the uniform file behind the others."""
    return (*operand.registers, *(UNIFORM + number for number in operand.uniforms))


def count(name: str, lines: Iterable[Line], unit: str = "instructions") -> Fact:
    """Count lines, with their addresses as the source."""
    addresses = [line.address for line in lines]
    return Fact(name, len(addresses), unit, at_addresses(addresses))


def executed(lines: Iterable[Line], weight: Callable[[Line], float | None]) -> float | None:
    """Add up executions per iteration times a weight; None where one of them is not known."""
    total = 0.0
    times: Times | None = None
    runs: int | None = None
    for line in lines:
        if line.times is not times:
            times = line.times
            runs = None if times is None else _runs(times)
        each = weight(line)
        if runs is None or each is None:
            return None
        total += runs * each
    return total


def _runs(times: Times) -> int | None:
    return times.low if times.is_exact else times.expected


def span(kernel: Kernel) -> Source:
    """Name the addresses of the K-tile loop as a source."""
    if kernel.tile is None:
        return Source("sass", f"{kernel.function.name}, no loop")
    loop = kernel.tile.loop
    return Source("sass", f"loop 0x{loop.first:04x} to 0x{loop.last:04x}")


def no_loop(*names: str) -> list[Missing]:
    """Say of facts about the K-tile loop that there is none."""
    return [Missing(name, NO_LOOP, applies=False) for name in names]


def size_of(line: Line) -> int:
    """Give the bytes of one thread, 0 where the mnemonic does not tell."""
    return (line.info.bytes_per_thread or 0) if line.info is not None else 0


def at_start(scope: Scope, loop: Loop, value: Linear) -> Linear:
    """Give a value of the first iteration: registers of the loop as they are on entering it."""
    total = Linear(value.constant)
    for symbol, factor in value.terms:
        part = Linear(0, ((symbol, 1),))
        if symbol[0] == "loop" and symbol[1] == loop.header:
            starts = {
                scope.values.at_end(symbol[2], edge.source)
                for edge in scope.flow.predecessors[loop.header]
                if edge.source not in loop.blocks and edge.source in scope.flow.reachable
            }
            if len(starts) == 1:
                part = starts.pop()
        total = total.plus(part, factor)
    return total
