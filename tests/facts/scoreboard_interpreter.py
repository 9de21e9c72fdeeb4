"""A warp of sm_86 executed cycle by cycle, to check what the dependence analysis says.

It shares no code and no table with the analysis. An instruction issues when the stall count of the
one before it has run off. A result of fixed latency is there after so many cycles; one of variable
latency is there when its scoreboard has been waited for, which an instruction can only do from the
second cycle on after it was set. Whatever reads, overwrites or crowds a pipe too early is a hazard.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

# kind -> (pipe, issue interval, cycles until the result is there; None: variable)
KINDS: dict[str, tuple[str, int, int | None]] = {
    "FFMA": ("fma", 1, 4),
    "IMAD": ("fma", 2, 4),
    "IADD3": ("alu", 2, 4),
    "ISETP": ("alu", 2, 4),
    "SEL": ("alu", 2, 4),
    "HMMA": ("tensor", 8, 24),
    "MUFU": ("xu", 8, None),
    "LDS": ("lsu", 4, None),
    "LDG": ("lsu", 4, None),
    "STS": ("lsu", 4, None),
    "BRA": ("branch", 1, None),
}
READ_LATE = {"xu": 4, "lsu": 5, "tensor": 7}  # pipes that read operands later than the others
GUARD_CYCLES = 13
SCOREBOARD_CYCLES = 2
SOONEST_LOAD = 20  # cycles until the fastest result of variable latency
TENSOR_READS_FOR = 7
LONGEST_STALL = 15


@dataclass(frozen=True)
class Op:
    """One instruction of a program."""

    kind: str
    text: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    guard: str | None = None
    stall: int = 1
    write_barrier: int | None = None
    read_barrier: int | None = None
    waits: frozenset[int] = frozenset()
    target: int | None = None  # position that a branch may go to

    @property
    def pipe(self) -> str:
        return KINDS[self.kind][0]

    @property
    def interval(self) -> int:
        return KINDS[self.kind][1]

    @property
    def latency(self) -> int | None:
        return KINDS[self.kind][2]

    def sass(self, number: int) -> str:
        """Print it with its control bits and a label in front."""
        mask = "".join(str(b) if b in self.waits else "-" for b in range(6))
        read = "-" if self.read_barrier is None else self.read_barrier
        write = "-" if self.write_barrier is None else self.write_barrier
        control = f"[B{mask}:R{read}:W{write}:-:S{self.stall:02d}]"
        guard = f"@{self.guard} " if self.guard else ""
        return f".L_{number}:\n{control} {guard}{self.text}"


def listing(program: Sequence[Op]) -> str:
    """Print a program as SASS that ends in EXIT."""
    lines = [op.sass(number) for number, op in enumerate(program)]
    return "\n".join([*lines, f".L_{len(program)}:\n[B------:R-:W-:-:S05] EXIT"])


@dataclass(frozen=True)
class Hazard:
    """An instruction that came too early."""

    position: int
    path: tuple[int, ...]  # positions executed from the one it depends on up to, without, it
    missing: int  # cycles; no number of cycles helps where a wait is missing
    why: str


@dataclass
class _Flight:
    """An executed instruction that others may depend on."""

    step: int
    op: Op
    issued: int
    result_is_safe: bool
    operands_are_safe: bool
    results: set[str]  # registers that hold its result still
    open_barriers: set[int] = field(default_factory=set)


def hazards(program: Sequence[Op], walk: Sequence[int]) -> Iterator[Hazard]:
    """Execute the positions of a walk one after another and report what comes too early."""
    flights: list[_Flight] = []
    clock = 0
    for step, position in enumerate(walk):
        op = program[position]
        if step:
            clock += max(1, program[walk[step - 1]].stall)
        for flight in flights:
            needed, why = _needed(flight, op, clock)
            if needed is not None and clock < flight.issued + needed:
                missing = flight.issued + needed - clock
                yield Hazard(position, tuple(walk[flight.step : step]), missing, why)
        for flight in flights:
            if flight.open_barriers & op.waits:
                flight.open_barriers -= op.waits
                flight.operands_are_safe = True
                if flight.op.write_barrier in op.waits:
                    flight.result_is_safe = True
            if op.guard is None:
                flight.results -= set(op.writes)
        is_fixed = op.latency is not None
        barriers = {b for b in (op.write_barrier, op.read_barrier) if b is not None}
        flights.append(_Flight(step, op, clock, is_fixed, is_fixed, set(op.writes), barriers))
        flights = [f for f in flights if clock - f.issued < 60 or not f.result_is_safe]


NEVER = 10_000


def _needed(flight: _Flight, op: Op, clock: int) -> tuple[int | None, str]:
    """Give the distance that an instruction must keep from an earlier one."""
    wants: list[tuple[int, str]] = []
    before = flight.op
    waited = bool(flight.open_barriers & op.waits)
    if waited:
        wants.append((SCOREBOARD_CYCLES, "scoreboard"))
    result_comes = flight.result_is_safe or before.write_barrier in op.waits
    operands_read = flight.operands_are_safe or waited
    guard = op.guard.lstrip("!") if op.guard else None
    if flight.results & {*op.reads, guard}:
        if before.latency is None:
            wants.append((0 if result_comes else NEVER, "result"))
        elif guard in flight.results:
            wants.append((GUARD_CYCLES, "guard"))
        else:
            wants.append((_raw(before, op), "result"))
    if flight.results & set(op.writes):
        if before.latency is None:
            wants.append((0 if result_comes else NEVER, "overwritten"))
        else:
            later = SOONEST_LOAD if op.latency is None else op.latency
            wants.append((before.latency - later + 1, "overwritten"))
    if set(before.reads) & set(op.writes):
        if before.latency is None:
            wants.append((0 if operands_read else NEVER, "operand"))
        elif before.pipe == "tensor":
            wants.append((TENSOR_READS_FOR, "operand"))
        elif op.latency is None:
            wants.append((2, "operand"))
    if before.pipe == op.pipe:
        wants.append((before.interval, "pipe"))
    return max(wants, default=(None, ""), key=lambda want: want[0])


def _raw(before: Op, op: Op) -> int:
    if before.pipe == "tensor":
        return 25 if op.pipe == "alu" else 24
    if op.pipe in READ_LATE:
        return READ_LATE[op.pipe]
    return 4 if before.pipe == op.pipe else 5


def walks(program: Sequence[Op], limit: int = 70) -> list[tuple[int, ...]]:
    """Give every way through a program in which a branch back is taken at most twice."""
    found: list[tuple[int, ...]] = []
    waiting: list[tuple[int, tuple[int, ...], int]] = [(0, (), 0)]
    while waiting:
        position, walk, rounds = waiting.pop()
        while position < len(program) and len(walk) < limit:
            op = program[position]
            walk = (*walk, position)
            if op.target is not None and (op.target > position or rounds < 2):
                waiting.append((op.target, walk, rounds + (op.target <= position)))
                if op.guard is None:
                    break
            position += 1
        else:
            found.append(walk)
    return found


class Generator:
    """Makes random programs that are free of hazards, some with a loop and a skipped part."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def program(self) -> list[Op]:
        """Make a program: instructions, branches, waits, stalls that suffice, and some slack."""
        length = self.random.randint(4, 22)
        ops = [op for _ in range(length) for op in self._with_filler(self._op())]
        if self.random.random() < 0.6:
            ops = self._with_branches(ops)
        ops = self._with_waits(ops)
        ops = settled(ops)
        return [self._loosened(op) for op in ops]

    def _register(self) -> str:
        return f"R{self.random.randint(0, 7)}"

    def _op(self) -> Op:
        kind = self.random.choice(
            ["FFMA", "FFMA", "IMAD", "IADD3", "IADD3", "ISETP", "SEL", "HMMA", "MUFU", "LDS", "LDG",
             "STS"]
        )  # fmt: skip
        d, a, b, c = (self._register() for _ in range(4))
        predicate = f"P{self.random.randint(0, 2)}"
        guard = self.random.choice([None, None, None, predicate, f"!{predicate}"])
        if kind in ("FFMA", "IMAD", "IADD3"):
            return Op(kind, f"{kind} {d}, {a}, {b}, {c}", (a, b, c), (d,), guard)
        if kind == "ISETP":
            return Op(kind, f"ISETP.GT.AND {predicate}, PT, {a}, {b}, PT", (a, b), (predicate,))
        if kind == "SEL":
            return Op(kind, f"SEL {d}, {a}, {b}, {predicate}", (a, b, predicate), (d,))
        if kind == "HMMA":
            return self._matrix()
        if kind == "MUFU":
            return Op(kind, f"MUFU.RCP {d}, {a}", (a,), (d,))
        if kind == "LDS":
            return Op(kind, f"LDS {d}, [{a}+0x10]", (a,), (d,), guard)
        if kind == "LDG":
            pair = self.random.choice([0, 2, 4, 6])
            return Op(kind, f"LDG.E {d}, [R{pair}.64]", (f"R{pair}", f"R{pair + 1}"), (d,), guard)
        return Op(kind, f"STS [{a}], {b}", (a, b), (), guard)

    def _matrix(self) -> Op:
        def group(first: int, count: int) -> tuple[str, ...]:
            return tuple(f"R{first + n}" for n in range(count))

        d = self.random.choice([16, 20, 24])
        a, b = self.random.choice([0, 4, 32]), self.random.choice([4, 6, 36])
        text = f"HMMA.16816.F32 R{d}, R{a}, R{b}, R{d}"
        return Op("HMMA", text, (*group(a, 4), *group(b, 2), *group(d, 4)), group(d, 4))

    def _with_filler(self, op: Op) -> list[Op]:
        """Put an instruction behind a matrix product, whose latency no single stall can cover."""
        filler = Op("FFMA", "FFMA R60, R61, R62, R63", ("R61", "R62", "R63"), ("R60",))
        return [op, filler] if op.kind == "HMMA" else [op]

    def _with_branches(self, ops: list[Op]) -> list[Op]:
        """Add a guarded branch over a part, or back to an earlier instruction."""
        position = self.random.randint(1, len(ops))
        back = self.random.random() < 0.7
        target = self.random.randint(0, position - 1) if back else None
        if target is None:
            target = self.random.randint(position, len(ops)) + 1
        guard = f"P{self.random.randint(0, 2)}"
        branch = Op("BRA", f"BRA `(.L_{target})", (), (), guard, stall=5, target=target)
        return [*ops[:position], branch, *ops[position:]]

    def _with_waits(self, ops: list[Op]) -> list[Op]:
        """Give scoreboards to instructions of variable latency; what meets them waits."""
        done: list[Op] = []
        for op in ops:
            if op.latency is None and op.kind != "BRA":
                barrier = self.random.randint(0, 5)
                op = replace(op, write_barrier=barrier) if op.writes else op
                if not op.writes or self.random.random() < 0.3:
                    op = replace(op, read_barrier=(barrier + 1) % 6)
            done.append(op)
        return done

    def _loosened(self, op: Op) -> Op:
        if op.kind == "BRA" or self.random.random() < 0.5:
            return op
        return replace(op, stall=min(LONGEST_STALL, op.stall + self.random.randint(1, 8)))


def settled(ops: Sequence[Op]) -> list[Op]:
    """Add waits and lengthen stalls until no way through a program has a hazard."""
    program = list(ops)
    ways = walks(program)
    while True:
        found = next((h for way in ways for h in hazards(program, way)), None)
        if found is None:
            return program
        late = program[found.position]
        if found.missing > LONGEST_STALL * len(found.path):
            before = program[found.path[0]]
            set_here = {before.write_barrier, before.read_barrier}
            waits = late.waits | {b for b in set_here if b is not None}
            assert waits > late.waits, f"no wait and no stall helps: {found}"
            program[found.position] = replace(late, waits=waits)
            continue
        for position in reversed(found.path):
            op = program[position]
            if op.stall < LONGEST_STALL:
                program[position] = replace(op, stall=op.stall + 1)
                break
        else:
            raise AssertionError(f"no stall is left to lengthen: {found}")
