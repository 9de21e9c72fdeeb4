"""Values of integer registers as linear sums, traced back through the control-flow graph.

A value is followed to its definition; at the top of a loop it ends where the loop changes it, and
where paths with different values meet. What is no addition, shift or multiplication by a constant
stands for itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from functools import cached_property

from ..parsers.listing import Instruction, Operand
from .dep_operands import Access, Accesses, OperandRules
from .flow_branches import is_always
from .loop_arithmetic import (
    constant_address,
    is_shift,
    packed_constant,
    signed,
    sources_of,
    symbol,
)
from .loop_linear import Linear, sum_of
from .loops import Loops

_DEEPEST = 50  # definitions and merges followed in a row; address arithmetic needs a dozen
_COPIES = frozenset({"MOV", "UMOV", "R2UR", "LDC", "ULDC", "LDCU", "S2R", "S2UR", "CS2R"})
_SUMS = frozenset({"IADD3", "UIADD3", "IADD", "VIADD", "UIADD", "UVIADD"})


class Values:
    """Answers "what is in this register here" for one function; keeps what it found."""

    def __init__(self, loops: Loops, rules: OperandRules) -> None:
        self.loops = loops
        self.flow = loops.flow
        self.accesses = Accesses(self.flow.function.instructions, rules)
        self._accesses = self.accesses.all
        self._at_entry: dict[tuple[int, int], Linear] = {}
        self._results: dict[tuple[int, int], Linear] = {}
        self._under_way: set[tuple[int, int]] = set()  # of the values at entry
        self._cuts = 0  # how often a value was not followed to its end
        self._writes_in_block: dict[int, dict[int, list[int]]] = {}
        self._written_in_block: dict[int, Collection[int]] = {}
        self._written_in_loop: dict[int, frozenset[int]] = {}
        self._entering: dict[int, tuple[list[int] | None, int | None]] = {}
        self._depth = 0
        self.products: list[tuple[Linear, Linear]] = []

    def access(self, position: int) -> Access:
        """Give what the instruction at a position reads and writes."""
        return self._accesses[position]

    def before(self, register: int, position: int) -> Linear:
        """Give the value of a register just before an instruction."""
        definition = self.definition_in_block(register, position)
        if definition is not None:
            return self._result(definition, register)
        return self.at_entry(register, self.flow.block_of[position])

    def at_end(self, register: int, block: int) -> Linear:
        """Give the value of a register when control leaves a block."""
        while True:
            definition = self._last_write(register, block, self.flow.blocks[block].end)
            if definition is not None:
                return self._result(definition, register)
            sources = self._sources(register, block)
            if sources is None or len(sources) != 1:
                return self.at_entry(register, block)
            block = sources[0]

    def at_entry(self, register: int, block: int) -> Linear:
        """Give the value of a register when control enters a block."""
        key = (block, register)
        if key not in self._at_entry:
            self._at_entry[key] = symbol("merge", block, register)
            self._under_way.add(key)
            self._at_entry[key] = self._merged(register, block)
            self._under_way.remove(key)
        elif key in self._under_way:
            self._cuts += 1
        return self._at_entry[key]

    def operand(self, operand: Operand, position: int) -> Linear | None:
        """Give the value of a source operand, None where it is no plain integer."""
        plain = self._plain(operand, position)
        if plain is None or operand.absolute:
            return None
        if operand.negated and operand.kind != "immediate":
            return plain.times(-1).plus(Linear(-int(operand.text.startswith("~"))))
        return plain

    def definition_in_block(self, register: int, position: int) -> int | None:
        """Give the position of the last write before an instruction in its own block."""
        return self._last_write(register, self.flow.block_of[position], position)

    def definition(self, register: int, position: int) -> int | None:
        """Give the one write that reaches an instruction, None where there are several."""
        block = self.flow.block_of[position]
        found = self._last_write(register, block, position)
        if found is not None:
            return found
        waiting, seen, writes = [block], {block}, set[int]()
        while waiting and len(writes) < 2:
            block = waiting.pop()
            if block in self.flow.roots:
                return None
            for edge in self.flow.predecessors[block]:
                found = self._last_write(register, edge.source, self.flow.blocks[edge.source].end)
                if found is not None:
                    writes.add(found)
                elif edge.source not in seen:
                    seen.add(edge.source)
                    waiting.append(edge.source)
        return writes.pop() if len(writes) == 1 else None

    def is_written_in(self, register: int, loop: int) -> bool:
        """Tell whether any instruction of a loop writes a register."""
        if loop not in self._written_in_loop:
            blocks = self.loops.loops[loop].blocks
            self._written_in_loop[loop] = frozenset().union(*map(self._written, blocks))
        return register in self._written_in_loop[loop]

    @cached_property
    def _loop_at(self) -> dict[int, int]:
        """Header block -> the outermost loop with that header."""
        return {loop.header: loop.index for loop in reversed(self.loops.loops)}

    def _written(self, block: int) -> Collection[int]:
        """Give the registers that a block writes, or a routine that it calls."""
        found = self._written_in_block.get(block)
        if found is None:
            found = self._written_in_block[block] = self._writes(block).keys()
            routine = self.flow.calls.get(block)
            if routine is not None:
                inside = next(r for r in self.flow.routines if r.entry == routine).blocks
                called = (w for b in inside if b != block for w in self._written(b))
                found = self._written_in_block[block] = frozenset((*found, *called))
        return found

    def _writes(self, block: int) -> dict[int, list[int]]:
        """Map each register that a block writes to the positions, in order."""
        found = self._writes_in_block.get(block)
        if found is None:
            found = self._writes_in_block[block] = {}
            span = self.flow.blocks[block]
            for position in range(span.first, span.end):
                for register in self.access(position).writes:
                    found.setdefault(register, []).append(position)
        return found

    def _last_write(self, register: int, block: int, before: int) -> int | None:
        """Give the last write in a block before a position; a call may write anything."""
        span = self.flow.blocks[block]
        if before == span.end and self._calls_over(register, block):
            return span.end - 1
        positions = self._writes(block).get(register, ())
        before_it = bisect_left(positions, before)
        return positions[before_it - 1] if before_it else None

    def _calls_over(self, register: int, block: int) -> bool:
        """Tell whether the block ends in a call that may have changed a register."""
        if block in self.flow.calls:
            return register in self._written(block)
        return self.flow.blocks[block].last_address in self.flow.layout.external_calls

    def _sources(self, register: int, block: int) -> list[int] | None:
        """Give the blocks that a value comes from, None where it starts in this block."""
        if block not in self._entering:
            self._entering[block] = self._all_sources(block)
        sources, loop = self._entering[block]
        return None if loop is not None and self.is_written_in(register, loop) else sources

    def _all_sources(self, block: int) -> tuple[list[int] | None, int | None]:
        """Give the blocks that lead to a block from outside of its loop, and that loop if any."""
        if block in self.flow.roots:
            return None, None
        sources = [edge.source for edge in self.flow.predecessors[block]]
        sources = [source for source in sources if source in self.flow.reachable]
        loop = self._loop_at.get(block)
        if loop is not None:
            sources = [s for s in sources if s not in self.loops.loops[loop].blocks]
        return sources, loop

    def _merged(self, register: int, block: int) -> Linear:
        sources = self._sources(register, block)
        if sources is None:
            kind = "entry" if block in self.flow.roots else "loop"
            return symbol(kind, block, register)
        if self._depth >= _DEEPEST:
            self._cuts += 1
            return symbol("merge", block, register)
        self._depth += 1
        found = {self.at_end(register, source) for source in sources}
        self._depth -= 1
        return found.pop() if len(found) == 1 else symbol("merge", block, register)

    def _result(self, position: int, register: int) -> Linear:
        key = (position, register)
        known = self._results.get(key)
        if known is not None:
            return known
        if self._depth >= _DEEPEST:
            self._cuts += 1
            return symbol("result", position, register)
        cuts = self._cuts
        self._depth += 1
        value = self._computed(position, register) or symbol("result", position, register)
        self._depth -= 1
        if cuts == self._cuts:
            self._results[key] = value
        return value

    def _computed(self, position: int, register: int) -> Linear | None:
        instruction = self.flow.function.instructions[position]
        access = self.access(position)
        if not is_always(instruction) or register not in access.writes:
            return None
        if instruction.opcode == "CS2R":
            return Linear() if instruction.operands[-1].text == "SRZ" else None
        if instruction.opcode in _COPIES and access.writes.index(register):
            return self._second_half(instruction, access.writes.index(register))
        if register != access.writes[0] or instruction.opcode.endswith("SETP"):
            return None
        sources = [self.operand(operand, position) for operand in sources_of(instruction)]
        return self._combine(instruction, sources)

    def _combine(self, instruction: Instruction, sources: list[Linear | None]) -> Linear | None:
        """Give the result of an instruction that is linear in its sources."""
        modifiers = set(instruction.modifiers)
        if instruction.opcode == "HFMA2":
            return packed_constant(instruction)
        known = [source for source in sources if source is not None]
        if len(known) < len(sources) or not known or modifiers & {"X", "HI", "EX"}:
            return None
        if instruction.opcode in _COPIES:
            return known[-1]
        if instruction.opcode in _SUMS:
            return sum_of(known)
        if instruction.opcode in ("IMAD", "UIMAD") and len(known) == 3:
            return self._product(known[0], known[1]).plus(known[2])
        if instruction.opcode in ("SHF", "USHF") and "L" in modifiers and len(known) == 3:
            is_plain = is_shift(known[1], known[2])
            return known[0].times(1 << known[1].constant) if is_plain else None
        if instruction.opcode in ("LEA", "ULEA") and len(known) == 3 and known[2].is_constant:
            return known[0].times(1 << (known[2].constant & 31)).plus(known[1])
        return None

    def _product(self, first: Linear, second: Linear) -> Linear:
        if second.is_constant:
            return first.times(second.constant)
        if first.is_constant:
            return second.times(first.constant)
        pair = (first, second)
        if pair not in self.products:
            self.products.append(pair)
        return symbol("product", self.products.index(pair), 0)

    def _second_half(self, instruction: Instruction, part: int) -> Linear | None:
        """Give the upper words of a wide constant load."""
        operand = instruction.operands[-1]
        address = constant_address(operand)
        if address is None or not {"64", "128"} & set(instruction.modifiers):
            return None
        return symbol("constant", address[0], address[1] + 4 * part)

    def _plain(self, operand: Operand, position: int) -> Linear | None:
        if operand.kind == "immediate":
            return Linear(signed(operand.value)) if isinstance(operand.value, int) else None
        if operand.kind == "constant":
            address = constant_address(operand)
            return None if address is None else symbol("constant", *address)
        if operand.kind == "special":
            return symbol("special", operand.text, 0)
        if operand.kind not in ("register", "uniform"):
            return None
        named = [*operand.registers, *(256 + number for number in operand.uniforms)]
        return self.before(named[0], position) if named else Linear()
