"""A function cut into blocks, and the instructions that matter for control flow and addresses.

Most of a kernel computes data: such instructions are counted, not evaluated. What matters is found
backwards from branches, guards and addresses, by the registers that each instruction reads and
writes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import field, replace
from heapq import heappop, heappush
from itertools import chain

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
_SEEDS = ADDRESSED | ENDS | CONVERGENCE
_NONE: frozenset[int] = frozenset()


@dataclass(eq=False)
class Step:
    """One instruction that the emulator executes.

    `control` tells that a branch or a guard depends on it, `access` that it touches memory, `used`
    that a branch, a guard or an address depends on what it writes.
    """

    instruction: Instruction
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    control: bool
    access: bool
    used: bool


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
    return replace(access, writes=writes, written=frozenset(writes))


class _Needs:
    """The registers that each block needs on entry, and the instructions that give them.

    With `addresses` those of addresses too, else only those that branches and guards rest on.
    """

    def __init__(
        self, program: Program, accesses: Sequence[Access], seeds: dict[int, _Seed], addresses: bool
    ) -> None:
        self.program = program
        self.code = program.function.instructions
        self.accesses = accesses
        self.seeds = seeds
        self.addresses = addresses
        self.successors = [_successors(program, block) for block in program.blocks]
        self.entry: list[frozenset[int] | set[int]] = [_NONE] * len(program.blocks)
        self.given: list[set[int]] = [set() for _ in program.blocks]  # positions
        self._find()

    def _find(self) -> None:
        """Go over the blocks, the last one first, until none needs more."""
        before: list[list[int]] = [[] for _ in self.entry]
        for index, following in enumerate(self.successors):
            for other in following:
                before[other].append(index)
        waiting = [-index for index in reversed(range(len(self.entry)))]
        queued = set(waiting)
        while waiting:
            index = heappop(waiting)
            queued.discard(index)
            need = self._through(self.program.blocks[-index])
            if need != self.entry[-index]:
                self.entry[-index] = need
                for source in before[-index]:
                    if -source not in queued:
                        heappush(waiting, -source)
                        queued.add(-source)

    def _through(self, block: Block) -> set[int]:
        need: set[int] = set()
        for index in self.successors[block.index]:
            need |= self.entry[index]
        given = self.given[block.index]
        for i in range(block.end - 1, block.first - 1, -1):
            access, seed = self.accesses[i], self.seeds.get(i)
            if not access.written.isdisjoint(need):
                given.add(i)
                if access.guard is None:
                    need -= access.written
                else:
                    need.add(access.guard)
                if seed is not None or self.code[i].opcode not in DATA:
                    need |= access.read if seed is None else seed.reads
            if seed is not None:
                need |= seed.control
                if self.addresses:
                    need |= seed.address
        return need


@dataclass(frozen=True, slots=True)
class _Seed:
    """What control and addresses read at an instruction, whatever it writes."""

    reads: frozenset[int]
    control: frozenset[int]
    address: frozenset[int]


def _seed(instruction: Instruction, access: Access, observe: bool) -> _Seed:
    opcode = instruction.opcode
    guard = _NONE if access.guard is None else frozenset((access.guard,))
    addressed = opcode in ADDRESSED
    reads = _NONE if opcode in DATA and not addressed else access.read
    if addressed and not instruction.never_executes:
        keeps = opcode == "SYNCS" or opcode.startswith("U") or (observe and opcode in STORES)
        return _Seed(reads, guard, reads if keeps else reads - set(access.data))
    if opcode in CONVERGENCE:
        return _Seed(reads, guard, _NONE)
    return _Seed(reads, guard | reads if opcode in ENDS else _NONE, _NONE)


def _select(program: Program, rules: OperandRules, observe: bool) -> None:
    code = program.function.instructions
    accesses = [exact_access(i, rules) for i in code]
    seeds = {
        i: _seed(code[i], accesses[i], observe) for i, x in enumerate(code) if x.opcode in _SEEDS
    }
    if any(code[i].opcode == "LDL" for i in seeds):  # a spilled address passes through memory
        for i, seed in seeds.items():
            if code[i].opcode == "STL":
                seeds[i] = replace(seed, address=seed.reads)
    wanted = _Needs(program, accesses, seeds, addresses=observe)
    needed = _Needs(program, accesses, seeds, addresses=True)
    chosen = sorted({*seeds, *chain(*wanted.given), *chain(*needed.given)})
    for block in program.blocks:
        controls, givers = wanted.given[block.index], needed.given[block.index]
        for i in chosen[bisect_left(chosen, block.first) : bisect_left(chosen, block.end)]:
            instruction, access = code[i], accesses[i]
            if instruction.opcode in ENDS:
                continue
            is_access = i in seeds and (
                bool(seeds[i].address)
                or (instruction.opcode in ADDRESSED and not instruction.never_executes)
            )
            used = i in controls or i in givers
            if used or is_access or instruction.opcode in CONVERGENCE:
                block.steps.append(
                    Step(instruction, access.reads, access.writes, i in controls, is_access, used)
                )
        block.controls = [step for step in block.steps if step.control]
        block.orders = sum(step.instruction.opcode in ORDERS for step in block.controls)
        block.wanted = frozenset(wanted.entry[block.index])
        block.needed = frozenset(needed.entry[block.index])


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
