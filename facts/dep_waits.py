"""Scoreboard waits of a loop: what is waited for, how long before it was issued, what is in flight.

The iteration is walked several times, since a load may be waited for in a later one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..parsers.listing import Instruction
from .dep_operands import Access
from .dep_window import scoreboards, waited_scoreboards
from .loop_roles import Role, Roles

_ROUNDS = 8  # deeper pipelines than this are not in use: shared memory would not hold them
_GROUP_END = "LDGDEPBAR"
_GROUP_WAIT = "DEPBAR"


@dataclass(frozen=True, slots=True)
class Wait:
    """An instruction that waits for a scoreboard.

    `cycles` and `instructions` lie between the youngest instruction waited for and the wait,
    counted by stalls alone: what of its latency they do not cover is exposed.
    """

    address: int
    scoreboard: int
    producers: tuple[int, ...]  # addresses
    opcodes: tuple[str, ...]
    cycles: int
    instructions: int


@dataclass(frozen=True, slots=True)
class InFlight:
    """The most global loads of a warp that are under way at one time, and where."""

    loads: int
    bytes_per_thread: int | None
    address: int | None


@dataclass(slots=True)
class _Pending:
    position: int
    clock: int
    count: int


@dataclass(slots=True)
class _Load:
    scoreboard: int | None
    group: int | None
    size: int | None


def waits(positions: Sequence[int], instructions: Sequence[Instruction]) -> list[Wait]:
    """List the waits of one iteration in the steady state."""
    pending: dict[int, list[_Pending]] = {}
    clock = count = 0
    found: list[Wait] = []
    for _ in range(2):
        found = []
        for position in positions:
            instruction = instructions[position]
            for number in sorted(waited_scoreboards(instruction)):
                setters = pending.pop(number, None)
                if setters:
                    found.append(_wait(instruction, number, setters, clock, count, instructions))
            control = instruction.control
            if control is not None:
                for number in scoreboards(instruction):
                    pending.setdefault(number, []).append(_Pending(position, clock, count))
                clock += max(1, control.stall)
            count += 1
    return found


def _wait(
    instruction: Instruction,
    number: int,
    setters: list[_Pending],
    clock: int,
    count: int,
    instructions: Sequence[Instruction],
) -> Wait:
    youngest = setters[-1]
    return Wait(
        address=instruction.address,
        scoreboard=number,
        producers=tuple(instructions[each.position].address for each in setters),
        opcodes=tuple(dict.fromkeys(instructions[each.position].opcode for each in setters)),
        cycles=clock - youngest.clock,
        instructions=count - youngest.count - 1,
    )


def loads_in_flight(
    positions: Sequence[int], instructions: Sequence[Instruction], roles: Roles
) -> InFlight:
    """Count global loads that were issued and not waited for, at the point where they are most.

    LDG is waited for by its scoreboard, LDGSTS by `DEPBAR.LE SB0, n`, which leaves the youngest n
    groups under way.
    """
    flying: list[_Load] = []
    group = 0
    most = InFlight(0, 0, None)
    for _ in range(_ROUNDS):
        for position in positions:
            instruction = instructions[position]
            if instruction.opcode == _GROUP_WAIT:
                oldest = group - _groups_left(instruction)
                flying = [load for load in flying if load.group is None or load.group >= oldest]
            elif instruction.opcode == _GROUP_END:
                group += 1
            waited = waited_scoreboards(instruction)
            flying = [load for load in flying if load.scoreboard not in waited]
            role = roles.of(instruction)
            if role.is_load:
                flying.append(_load(instruction, role, group))
                if len(flying) > most.loads:
                    most = InFlight(len(flying), _bytes(flying), instruction.address)
    return most


def _load(instruction: Instruction, role: Role, group: int) -> _Load:
    if role.is_async_copy:
        return _Load(None, group, role.load_bytes)
    control = instruction.control
    return _Load(None if control is None else control.write_barrier, None, role.load_bytes)


def _groups_left(instruction: Instruction) -> int:
    counts = [o.value for o in instruction.operands if o.kind == "immediate"]
    return counts[0] if counts and isinstance(counts[0], int) else 0


def _bytes(flying: Sequence[_Load]) -> int | None:
    sizes = [load.size for load in flying]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def staged_stores(
    positions: Sequence[int],
    instructions: Sequence[Instruction],
    access: Callable[[int], Access],
    roles: Roles,
) -> tuple[int, ...]:
    """Give the addresses of stores to shared memory that store what a global load brought.

    The value is followed through any arithmetic, within an iteration and into the next one.
    """
    loaded: set[int] = set()
    found: dict[int, None] = {}
    for _ in range(2):
        for position in positions:
            instruction, touched = instructions[position], access(position)
            role = roles.of(instruction)
            carries = role.is_load or not loaded.isdisjoint(touched.data)
            if role.is_shared_store and carries:
                found[instruction.address] = None
            if carries:
                loaded.update(touched.writes)
            elif touched.guard is None:
                loaded.difference_update(touched.writes)
    return tuple(found)
