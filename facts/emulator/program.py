"""A function cut into blocks, and the instructions that matter for control flow and addresses.

Most of a kernel computes data: such instructions are counted, not evaluated. What matters is found
backwards from branches, guards and addresses, by the registers that each instruction reads and
writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from ...parsers.listing import Function, Instruction
from ...parsers.record import dataclass
from ...parsers.sass import branch_target, branch_targets
from ..dep_operands import Access, OperandRules
from .semantics import DATA

EXITS = frozenset({"EXIT", "KILL", "BPT"})
JUMPS = frozenset({"BRA", "JMP", "BRX", "BRXU", "JMX", "JMXU", "CALL", "RET"})
ENDS = EXITS | JUMPS | {"BSYNC"}
CONVERGENCE = frozenset({"BSSY", "BREAK", "BMOV"})  # what sets, leaves and saves a barrier
ADDRESSED = frozenset(
    {"LDG", "STG", "LD", "ST", "LDS", "STS", "LDSM", "STSM", "LDGSTS", "ATOM", "ATOMG", "ATOMS",
     "RED", "REDG", "LDL", "STL", "UBLKCP", "UBLKRED", "UTMALDG", "UTMASTG", "UTMAREDG", "SYNCS"}
)  # fmt: skip
ORDERS = frozenset({"ISETP", "UISETP", "IMNMX", "UIMNMX", "VIMNMX", "UVIMNMX", "VIADDMNMX"})
STORES = frozenset({"STG", "ST", "STS", "STL"})


@dataclass(eq=False)
class Step:
    """One instruction that the emulator executes.

    `control` tells that a branch or a guard depends on it, `access` that it touches memory.
    """

    instruction: Instruction
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    control: bool
    access: bool


@dataclass(eq=False)
class Block:
    """Instructions that run together, the steps among them, and where control goes after them."""

    index: int
    first: int  # positions in the function
    end: int
    steps: list[Step] = field(default_factory=list)
    controls: list[Step] = field(default_factory=list)  # the steps that control depends on
    orders: int = 0  # comparisons among them
    last: Instruction | None = None  # the branch or exit at the end
    targets: tuple[int, ...] = ()  # block indices that it may go to
    wanted: frozenset[int] = frozenset()  # registers that control needs on entry
    needed: frozenset[int] = frozenset()  # registers that control or addresses need on entry


@dataclass(eq=False)
class Program:
    """All blocks of a function."""

    function: Function
    blocks: list[Block]
    block_at: dict[int, int]  # address -> block index


def build_program(function: Function, rules: OperandRules, observe_stores: bool = False) -> Program:
    """Cut a function into blocks and select what has to be evaluated.

    With `observe_stores` the stored values matter too, and loops are closed only where every
    value stays exact.
    """
    code = function.instructions
    position = {instruction.address: i for i, instruction in enumerate(code)}
    leaders = _leaders(function, position)
    starts = sorted(leaders)
    blocks = [
        Block(index, first, end)
        for index, (first, end) in enumerate(zip(starts, [*starts[1:], len(code)], strict=True))
    ]
    block_at = {code[block.first].address: block.index for block in blocks}
    for block in blocks:
        last = code[block.end - 1]
        if last.opcode in ENDS:
            block.last = last
            found = (block_at.get(a) for a in branch_targets(last, function))
            block.targets = tuple(t for t in found if t is not None)
    program = Program(function, blocks, block_at)
    _select(program, rules, observe_stores)
    return program


def _leaders(function: Function, position: dict[int, int]) -> set[int]:
    code = function.instructions
    leaders = {0}
    for i, instruction in enumerate(code):
        if instruction.opcode in ENDS:
            if i + 1 < len(code):
                leaders.add(i + 1)
            for target in branch_targets(instruction, function):
                if target in position:
                    leaders.add(position[target])
        elif instruction.opcode in ("WARPSYNC", "BSSY"):
            target_address = branch_target(instruction, function)
            if target_address in position:
                leaders.add(position[target_address])
    return leaders


def exact_access(instruction: Instruction, rules: OperandRules) -> Access:
    """Give what an instruction reads and writes, with the accumulators of warpgroup products.

    The rules name the widest shape for those; here a register too many would hide an address.
    """
    access = rules.access(instruction)
    if not instruction.opcode.endswith("GMMA"):
        return access
    shape = next((m for m in instruction.modifiers if m.count("x") == 2), "")
    columns = int(shape.split("x")[1]) if shape else 8
    count = columns // 4 if "F16" in instruction.modifiers else columns // 2
    first = instruction.operands[0].registers
    writes = tuple(range(first[0], first[0] + count)) if first else ()
    return replace(access, writes=writes)


class _Bits:
    """Register sets as integers."""

    def __init__(self, instruction: Instruction, access: Access, observe: bool) -> None:
        opcode = instruction.opcode
        self.reads = 0 if opcode in DATA and opcode not in ADDRESSED else _set(access.reads)
        self.writes = _set(access.writes)
        self.guard = _set(() if access.guard is None else (access.guard,))
        self.always = access.guard is None
        self.control = self.guard | self.reads if opcode in ENDS else 0
        if opcode in CONVERGENCE:
            self.control = self.guard
        self.address = 0
        if opcode in ADDRESSED and not instruction.never_executes:
            data = 0 if opcode == "SYNCS" or (observe and opcode in STORES) else _set(access.data)
            self.address = self.reads & ~data
            if opcode.startswith("U"):
                self.address = self.reads
            self.control = self.guard
        self.access = access


def _select(program: Program, rules: OperandRules, observe: bool) -> None:
    code = program.function.instructions
    facts = [_Bits(i, exact_access(i, rules), observe) for i in code]
    if any(i.opcode == "LDL" for i in code):  # a spilled address passes through memory
        for instruction, fact in zip(code, facts, strict=True):
            if instruction.opcode == "STL":
                fact.address = fact.reads
    successors = [_successors(program, block) for block in program.blocks]
    wanted = _needs(program, facts, successors, addresses=observe)
    needed = _needs(program, facts, successors, addresses=True)
    for block in program.blocks:
        into_wanted = _union(wanted, successors[block.index])
        into_needed = _union(needed, successors[block.index])
        steps = []
        for i in range(block.end - 1, block.first - 1, -1):
            fact = facts[i]
            is_access = bool(fact.address) or (
                code[i].opcode in ADDRESSED and not code[i].never_executes
            )
            control = bool(fact.writes & into_wanted)
            wanted_here = control or is_access or fact.writes & into_needed
            if (wanted_here or code[i].opcode in CONVERGENCE) and code[i].opcode not in ENDS:
                steps.append(
                    Step(code[i], fact.access.reads, fact.access.writes, control, is_access)
                )
            into_wanted = _before(fact, into_wanted, addresses=observe)
            into_needed = _before(fact, into_needed, addresses=True)
        block.steps = steps[::-1]
        block.controls = [step for step in block.steps if step.control]
        block.orders = sum(step.instruction.opcode in ORDERS for step in block.controls)
        block.wanted = frozenset(_members(wanted[block.index]))
        block.needed = frozenset(_members(needed[block.index]))


def _successors(program: Program, block: Block) -> tuple[int, ...]:
    """Give every block that may run next; a return may go behind any call."""
    last = block.last
    following = (block.index + 1,) if block.index + 1 < len(program.blocks) else ()
    if last is None or last.opcode == "BSYNC":
        return following
    if last.opcode == "RET":
        calls = (b.index + 1 for b in program.blocks if b.last and b.last.opcode == "CALL")
        return tuple(index for index in calls if index < len(program.blocks))
    if last.opcode in ("BRX", "BRXU", "JMX", "JMXU") and not block.targets:
        return tuple(range(len(program.blocks)))
    conditional = last.predicate is not None or last.opcode in EXITS or _has_condition(last)
    if last.opcode in EXITS and last.predicate is None:
        return ()
    return (*block.targets, *following) if conditional or last.opcode == "CALL" else block.targets


def _has_condition(last: Instruction) -> bool:
    return any(o.kind in ("predicate", "uniform_predicate", "uniform") for o in last.operands)


def _needs(
    program: Program, facts: Sequence[_Bits], successors: Sequence[tuple[int, ...]], addresses: bool
) -> list[int]:
    """Give the registers needed on entry of each block, by iteration to a fixed point."""
    entry = [0] * len(program.blocks)
    changed = True
    while changed:
        changed = False
        for block in reversed(program.blocks):
            need = _union(entry, successors[block.index])
            for i in range(block.end - 1, block.first - 1, -1):
                need = _before(facts[i], need, addresses)
            if need != entry[block.index]:
                entry[block.index] = need
                changed = True
    return entry


def _before(fact: _Bits, need: int, addresses: bool) -> int:
    if fact.writes & need:
        if fact.always:
            need &= ~fact.writes
        need |= fact.reads | fact.guard
    return need | fact.control | (fact.address if addresses else 0)


def _union(entry: Sequence[int], successors: Sequence[int]) -> int:
    result = 0
    for index in successors:
        result |= entry[index]
    return result


def _set(numbers: Sequence[int]) -> int:
    result = 0
    for number in numbers:
        result |= 1 << number
    return result


def _members(bits: int) -> list[int]:
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found
