"""Scoreboard waits of a loop: what is waited for, how long before it was issued, what is in flight.

The iteration is walked several times, since a load may be waited for in a later one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..parsers.listing import Instruction
from ..parsers.record import dataclass
from .dep_steps import Step
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
    step: Step
    clock: int
    count: int


@dataclass(slots=True)
class _Load:
    scoreboards: int
    group: int | None
    size: int | None


def waits(steps: Sequence[Step]) -> list[Wait]:
    """List the waits of one iteration in the steady state."""
    pending: dict[int, list[_Pending]] = {}
    found: list[Wait] = []
    clock = 0
    for first in (0, len(steps)):
        found = []
        for count, step in enumerate(steps, first):
            if step.waited:
                for number in _numbers(step.waited):
                    setters = pending.pop(number, None)
                    if setters:
                        found.append(_wait(step, number, setters, clock, count))
            if step.sets:
                for number in _numbers(step.sets):
                    pending.setdefault(number, []).append(_Pending(step, clock, count))
            clock += step.stall
    return found


def _numbers(mask: int) -> Iterator[int]:
    return (number for number in range(mask.bit_length()) if mask >> number & 1)


def _wait(step: Step, number: int, setters: list[_Pending], clock: int, count: int) -> Wait:
    youngest = setters[-1]
    instructions = [each.step.instruction for each in setters]
    return Wait(
        address=step.instruction.address,
        scoreboard=number,
        producers=tuple(instruction.address for instruction in instructions),
        opcodes=tuple(dict.fromkeys(instruction.opcode for instruction in instructions)),
        cycles=clock - youngest.clock,
        instructions=count - youngest.count - 1,
    )


def loads_in_flight(steps: Sequence[Step], roles: Roles) -> InFlight:
    """Count global loads that were issued and not waited for, at the point where they are most.

    LDG is waited for by its scoreboard, LDGSTS by `DEPBAR.LE SB0, n`, which leaves the youngest n
    groups under way.
    """
    relevant = [
        (step, roles.of(step.instruction))
        for step in steps
        if step.waited
        or step.instruction.opcode in (_GROUP_END, _GROUP_WAIT)
        or roles.of(step.instruction).is_load
    ]
    flying: list[_Load] = []
    group = 0
    most = InFlight(0, 0, None)
    for _ in range(_ROUNDS):
        for step, role in relevant:
            instruction = step.instruction
            if instruction.opcode == _GROUP_WAIT:
                oldest = group - _groups_left(instruction)
                flying = [load for load in flying if load.group is None or load.group >= oldest]
            elif instruction.opcode == _GROUP_END:
                group += 1
            if step.waited and flying:
                flying = [load for load in flying if not load.scoreboards & step.waited]
            if role.is_load:
                flying.append(_load(step, role, group))
                if len(flying) > most.loads:
                    most = InFlight(len(flying), _bytes(flying), instruction.address)
    return most


def _load(step: Step, role: Role, group: int) -> _Load:
    if role.is_async_copy:
        return _Load(0, group, role.load_bytes)
    control = step.instruction.control
    barrier = None if control is None else control.write_barrier
    return _Load(0 if barrier is None else 1 << barrier, None, role.load_bytes)


def _groups_left(instruction: Instruction) -> int:
    counts = [o.value for o in instruction.operands if o.kind == "immediate"]
    return counts[0] if counts and isinstance(counts[0], int) else 0


def _bytes(flying: Sequence[_Load]) -> int | None:
    sizes = [load.size for load in flying]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def staged_stores(steps: Sequence[Step], roles: Roles) -> tuple[int, ...]:
    """Give the addresses of stores to shared memory that store what a global load brought.

    The value is followed through any arithmetic, within an iteration and into the next one.
    """
    kinds = [roles.of(step.instruction) for step in steps]
    if not any(role.is_load for role in kinds) or not any(role.is_shared_store for role in kinds):
        return ()
    loaded: set[int] = set()
    found: dict[int, None] = {}
    for _ in range(2):
        for step, role in zip(steps, kinds, strict=True):
            carries = role.is_load or not loaded.isdisjoint(step.access.data)
            if role.is_shared_store and carries:
                found[step.instruction.address] = None
            if carries:
                loaded |= step.writes
            elif step.access.replaces:
                loaded -= step.writes
    return tuple(found)
