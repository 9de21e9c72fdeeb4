"""How many instructions of each kind stand in the K-tile loop and in the function."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from .mix import at_addresses
from .model import Fact, Missing, Source
from .pattern_scope import Line, Scope, chosen, count, executed, memory_operands, no_loop, span

# fact -> families counted in the loop
IN_LOOP = {
    "loop.global_loads": ("load_global", "load_generic"),
    "loop.global_stores": ("store_global", "store_generic"),
    "loop.shared_loads": ("load_shared",),
    "loop.shared_stores": ("store_shared",),
    "loop.local_loads": ("load_local",),
    "loop.local_stores": ("store_local",),
    "loop.async_copies": ("async_copy",),
    "loop.bulk_copies": ("bulk_load",),
    "loop.global_atomics": ("atomic_global", "atomic_generic"),
    "loop.shared_atomics": ("atomic_shared",),
    "loop.shuffles": ("shuffle",),
    "loop.special": ("special",),
    "loop.conversions": ("conversion",),
    "loop.tensor": ("compute_tensor",),
}
IN_KERNEL = {
    "kernel.compute_ops": ("compute_fma", "compute_tensor"),
    "kernel.tensor_ops": ("compute_tensor",),
    "kernel.global_loads": ("load_global", "load_generic", "async_copy"),
    "kernel.global_stores": ("store_global", "store_generic"),
    "kernel.shared_accesses": ("load_shared", "store_shared", "atomic_shared", "async_copy"),
    "kernel.local_accesses": ("load_local", "store_local"),
    "kernel.bulk_copies": ("bulk_load", "bulk_store"),
    "kernel.shuffles": ("shuffle",),
}
ADDRESS_WORK = ("integer", "uniform", "move", "predicate")
LOCAL = ("load_local", "store_local")
BARRIER = "BAR"
FP64_PIPE = "fp64"
SLOW_PIPE = "xu"
WARPGROUP = ("warpgroup_mma", "uniform_mma")
_STACK = 1  # R1, the stack pointer


def count_facts(scope: Scope) -> tuple[list[Fact], list[Missing]]:
    """Count by family, pipe and opcode; fractions are of the instructions as executed."""
    loop, lines = scope.loop, scope.lines
    fp64 = [x for x in lines if x.info is not None and x.info.pipe == FP64_PIPE]
    conversions = chosen(loop, ("conversion",))
    warpgroup = [x for x in lines if x.info is not None and x.info.timing in WARPGROUP]
    zero = [x for x in lines if x.instruction.control and x.instruction.control.stall == 0]
    local = [x for x in chosen(lines, LOCAL) if x.block in scope.looping]
    spills = [x for x in local if _is_fixed(x)]
    facts = [
        *(count(name, chosen(loop, families)) for name, families in IN_LOOP.items()),
        *(count(name, chosen(lines, families)) for name, families in IN_KERNEL.items()),
        count("loop.barriers", _opcode(loop, BARRIER)),
        count("loop.fp64", [x for x in loop if x.info is not None and x.info.pipe == FP64_PIPE]),
        count("loop.slow_conversions", [x for x in conversions if _is_slow(x)]),
        count("loop.fp64_conversions", [x for x in conversions if _between(x, "F64", "F32")]),
        count("loop.half_conversions", [x for x in conversions if _is_from_half(x)]),
        count("loop.spill_accesses", spills),
        count("loop.indexed_local_accesses", [x for x in local if not _is_fixed(x)]),
        count("kernel.barriers", _opcode(lines, BARRIER)),
        count("kernel.fp64", fp64),
        count("kernel.warpgroup_ops", warpgroup),
        count("kernel.sparse_ops", [x for x in lines if x.info is not None and x.info.sparse]),
        count("kernel.stall_zero", zero),
        _target(scope),
        _code_bytes("kernel.bytes", scope, scope.flow.reachable),
    ]
    if scope.kernel.tile is None:
        return facts, no_loop(*LOOP_ONLY)
    facts.append(_code_bytes("loop.bytes", scope, {line.block for line in loop}))
    return _with_fractions(facts, scope)


LOOP_ONLY = (
    "loop.bytes",
    "loop.integer_fraction",
    "loop.conversions_per_compute",
    "tile.ops_per_shared_load",
    "loop.slowest_pipe",
    "loop.slowest_pipe_cycles",
    "loop.slowest_pipe_fraction",
)


def _target(scope: Scope) -> Fact:
    """Name the hardware that the code is for: `sm_90a` is the feature set of sm_90's hardware."""
    arch = scope.kernel.function.arch
    return Fact("kernel.arch", arch.rstrip("af"), "", Source("sass", f"code for {arch}"))


def _with_fractions(facts: list[Fact], scope: Scope) -> tuple[list[Fact], list[Missing]]:
    found, missing = list(facts), list[Missing]()
    loop = scope.loop
    every = _runs(loop)
    computing = [line for line in loop if line.family.startswith("compute_")]
    slow = [line for line in chosen(loop, ("conversion",)) if _is_slow(line)]
    loads = chosen(loop, ("load_shared",))
    integer = chosen(loop, ADDRESS_WORK)
    for name, part, whole, reason in (
        ("loop.integer_fraction", integer, every, ""),
        ("loop.conversions_per_compute", slow, _runs(computing), "the loop computes nothing"),
        ("tile.ops_per_shared_load", computing, _runs(loads), "the loop loads nothing from there"),
    ):
        share = _runs(part)
        if share is None or whole is None:
            missing.append(Missing(name, "how often parts of the loop run is not known"))
        elif not whole:
            missing.append(Missing(name, reason or "the loop is empty", applies=False))
        else:
            found.append(Fact(name, share / whole, "", at_addresses(x.address for x in part)))
    pipes, gaps = _slowest_pipe(scope, every)
    return found + pipes, missing + gaps


def _slowest_pipe(scope: Scope, every: float | None) -> tuple[list[Fact], list[Missing]]:
    """Find the pipe that one warp's iteration keeps busy longest; issue slots are no pipe."""
    names = ("loop.slowest_pipe", "loop.slowest_pipe_cycles", "loop.slowest_pipe_fraction")
    pipes: dict[str, list[Line]] = {}
    for line in scope.loop:
        if line.info is not None:
            pipes.setdefault(line.info.pipe, []).append(line)
    busy: dict[str, float] = {}
    for pipe, members in pipes.items():
        cycles = executed(members, _interval)
        if cycles is not None:
            busy[pipe] = cycles
    if not busy or not every:
        return [], [Missing(name, "no issue interval is known here") for name in names]
    slowest = max(sorted(busy), key=lambda pipe: busy[pipe])
    at = at_addresses(line.address for line in pipes[slowest])
    share = (_runs(pipes[slowest]) or 0.0) / every
    values: tuple[tuple[str | float, str], ...] = (
        (slowest, ""),
        (busy[slowest], "cycles"),
        (share, ""),
    )
    return [Fact(n, value, unit, at) for n, (value, unit) in zip(names, values, strict=True)], []


def _interval(line: Line) -> float | None:
    return None if line.info is None else line.info.issue_interval_cycles


def _runs(lines: Iterable[Line]) -> float | None:
    return executed(lines, lambda _: 1.0)


def _opcode(lines: Iterable[Line], opcode: str) -> list[Line]:
    return [line for line in lines if line.instruction.opcode == opcode]


def _is_slow(line: Line) -> bool:
    return line.info is not None and line.info.pipe == SLOW_PIPE


def _between(line: Line, first: str, second: str) -> bool:
    return {first, second} <= set(line.instruction.modifiers)


def _is_from_half(line: Line) -> bool:
    """Tell whether it widens a half: `HADD2.F32`, or F2F from F16."""
    modifiers = line.instruction.modifiers
    return modifiers[:1] == ("F32",) and (line.instruction.opcode == "HADD2" or "F16" in modifiers)


def _is_fixed(line: Line) -> bool:
    """Tell whether it addresses the stack at a fixed offset, as spills do and arrays do not."""
    operand = next(memory_operands(line.instruction), None)
    return operand is not None and operand.registers == (_STACK,) and not operand.uniforms


def _code_bytes(name: str, scope: Scope, blocks: Collection[int]) -> Fact:
    """Measure the code of some blocks, filler and all, by its addresses."""
    instructions = scope.flow.function.instructions
    total = 0
    for block in blocks:
        span_of = scope.flow.blocks[block]
        size = span_of.end - span_of.first
        total += size
    step = instructions[1].address - instructions[0].address if len(instructions) > 1 else 0
    at = span(scope.kernel) if name.startswith("loop") else Source("sass", f"{total} instructions")
    return Fact(name, total * step, "B", at)
