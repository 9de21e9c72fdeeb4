"""The work of one launch: parameters, emulation, counts, accesses, cache and traffic in one place.

With the arguments the emulation is exact where data decides nothing. Without them integers become
the problem's dimensions where they fit, else a generic value that is good for strides, and the
counts are anchored on the problem's operations or bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..parsers.listing import Function
from .accesses import Access, collect
from .anchor import Anchor, FlopsOf, byte_anchor, flop_anchor, scale_accesses, scaled
from .arguments import Argument
from .bounds import Chip, Work
from .dep_operands import OperandRules
from .emulator.emulate import Emulation, emulate
from .emulator.launch import (
    Contents,
    Launch,
    array_address,
    array_of,
    choose_samples,
    natural_offsets,
    parameter_bytes,
    scalar_bytes,
)
from .emulator.machine import Limits
from .executed import Executed, from_emulation
from .footprint import Footprint, footprints, kept_in_l1
from .l1_cache import Hits, capacity_lines, simulate
from .l2 import Traffic, traffic
from .pipes import PipeTable


@dataclass(frozen=True, slots=True)
class Settings:
    """Figures of kb/method.yaml for the emulation and the anchor."""

    seconds: float = 3.0
    unknown_trips: int = 4
    most_threads: int = 4096
    generic_integer: int = 4096
    anchor_spread: float = 0.15
    anchor_disagreement: float = 0.05


@dataclass(frozen=True)
class LaunchSpec:
    """A launch as given; `parameters` are (offset, size) of the kernel's parameters."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    parameters: tuple[tuple[int, int], ...] | None
    parameter_base: int | None = None
    smem_bytes_per_block: int = 0
    blocks_per_sm: int = 1
    arguments: Sequence[Argument] | None = None
    banks: Mapping[int, bytes] = field(default_factory=dict)
    frame_bytes: int | None = None  # local memory of a thread


@dataclass(frozen=True)
class Task:
    """What the problem tells: dimensions by name, operations, unique bytes; None is unknown."""

    kind: str | None = None
    dimensions: Mapping[str, float] = field(default_factory=dict)
    flops: float | None = None
    bytes: float | None = None


@dataclass(frozen=True)
class LaunchWork:
    """Everything that the emulation of one launch gives."""

    work: Work
    emulation: Emulation
    hits: Mapping[int, Hits]
    anchor: Anchor | None
    scale_known: bool  # counts rest on arguments, operations or bytes
    notes: tuple[str, ...]
    footprints: tuple[Footprint, ...] = ()
    sizes: Mapping[int, int] = field(default_factory=dict)  # bytes by array
    blocks_per_sm: int = 1


def launch_work(
    function: Function,
    spec: LaunchSpec,
    task: Task,
    chip: Chip,
    pipes: PipeTable,
    rules: OperandRules,
    flops_of: FlopsOf,
    settings: Settings | None = None,
) -> LaunchWork:
    """Emulate a launch and work out what it asks of every unit."""
    settings = settings or Settings()
    launch, sizes, notes = make_launch(spec, task, pipes, settings)
    limits = Limits(seconds=settings.seconds, unknown_trips=settings.unknown_trips)
    emulation = emulate(function, launch, rules, limits)
    accesses: tuple[Access, ...] = collect(emulation)
    executed = from_emulation(emulation)
    exact = spec.arguments is not None and executed.exact
    anchor = None if exact else _anchored(emulation, executed, accesses, task, flops_of)
    scale_known = exact or spec.arguments is not None
    if anchor is not None and abs(anchor.scale - 1.0) > settings.anchor_disagreement:
        executed = Executed(
            scaled(executed.counts, anchor, settings.anchor_spread), "anchor",
            (*executed.doubts, "counts follow from the problem's operations or bytes"),
        )  # fmt: skip
        accesses = scale_accesses(accesses, anchor)
    scale_known = scale_known or anchor is not None or not _has_loops(emulation)
    if not scale_known:
        executed = Executed(
            executed.counts, "launch", (*executed.doubts, "trip counts are unknown")
        )
    resident = min(spec.blocks_per_sm, -(-launch.blocks // chip.sm_count))
    lines = capacity_lines(
        pipes.l1_bytes, pipes.l1_usable_fraction, spec.smem_bytes_per_block, max(1, resident)
    )
    prints = footprints(emulation)
    on_sm = lines * max(1, resident)
    kept = kept_in_l1(prints, sizes, on_sm, chip.sm_count, launch.blocks)
    hits = simulate(emulation, lines, kept)
    flow = _traffic(emulation, accesses, hits, prints, sizes, task, chip, pipes, max(1, resident))
    work = Work(function, executed, accesses, flow, task.bytes)
    return LaunchWork(
        work, emulation, hits, anchor, scale_known, tuple(notes), tuple(prints), sizes,
        spec.blocks_per_sm,
    )  # fmt: skip


def _traffic(
    emulation: Emulation,
    accesses: Sequence[Access],
    hits: Mapping[int, Hits],
    prints: list[Footprint],
    sizes: Mapping[int, int],
    task: Task,
    chip: Chip,
    pipes: PipeTable,
    resident: int,
) -> Traffic | None:
    path = pipes.l2.get(chip.id)
    if path is None:
        return None
    return traffic(
        accesses, hits, prints, emulation.launch.grid, resident * chip.sm_count,
        sizes, task.bytes, chip.l2_bytes, path,
    )  # fmt: skip


def _has_loops(emulation: Emulation) -> bool:
    return any(
        target <= block.index
        for block in emulation.program.blocks
        if block.last is not None and block.last.opcode != "CALL"
        for target in block.targets
        if emulation.program.blocks[target].first < block.end - 1
    )


def _anchored(
    emulation: Emulation,
    executed: Executed,
    accesses: Sequence[Access],
    task: Task,
    flops_of: FlopsOf,
) -> Anchor | None:
    """Anchor on operations, else on bytes where the kernel computes nothing."""
    if task.flops:
        found = flop_anchor(emulation, executed.counts, flops_of, task.flops)
        if found is not None:
            return found
    if task.bytes and not task.flops and _moves_much(emulation, accesses):
        return byte_anchor(emulation, accesses, task.bytes)
    return None


def _moves_much(emulation: Emulation, accesses: Sequence[Access]) -> bool:
    """Tell whether a loop moves global data, so that bytes say how often it runs."""
    from .anchor import loop_regions

    regions = loop_regions(emulation)
    return any(
        a.space == "global" and any(r[0] <= a.address <= r[1] for r in regions) for a in accesses
    )


def make_launch(
    spec: LaunchSpec, task: Task, pipes: PipeTable, settings: Settings
) -> tuple[Launch, dict[int, int], list[str]]:
    """Give the launch to emulate, the size of each array by its number, and notes on guesses."""
    warps = -(-spec.block[0] * spec.block[1] * spec.block[2] // 32)
    samples = choose_samples(spec.grid, warps, settings.most_threads)
    layout = pipes.layout
    if spec.parameter_base is not None:
        layout = replace(layout, parameters=spec.parameter_base)
    notes: list[str] = []
    sizes: dict[int, int] = {}
    contents: dict[int, Contents] = {}
    if spec.arguments is not None:
        data, sizes, contents = _given(spec, task)
    else:
        data = _guessed(spec, task, settings, notes)
    launch = Launch(
        spec.grid, spec.block, layout, samples, data, spec.banks, contents, spec.frame_bytes
    )
    return launch, sizes, notes


def _given(
    spec: LaunchSpec, task: Task
) -> tuple[dict[int, int], dict[int, int], dict[int, Contents]]:
    arguments = spec.arguments or ()
    offsets: Sequence[int] = natural_offsets([a.parameter_bytes for a in arguments])
    if spec.parameters is not None and len(spec.parameters) == len(arguments):
        offsets = [offset for offset, _ in spec.parameters]
    data, addresses = parameter_bytes(arguments, offsets)
    sizes: dict[int, int] = {}
    contents: dict[int, Contents] = {}
    for position, address in addresses.items():
        argument = arguments[position]
        if argument.bytes is not None:
            sizes[array_of(address)] = argument.bytes
        held = known_contents(argument, task)
        if held is not None:
            contents[array_of(address)] = held
    return data, sizes, contents


def known_contents(argument: Argument, task: Task) -> Contents | None:
    """Give what an integer array holds, where --args or the kind of problem says it.

    The row starts of a sparse matrix (rows + 1 integers) are taken as even.
    """
    if argument.dtype not in ("i32", "u32", "i64", "u64") or argument.count is None:
        return None
    if argument.contents == "iota":
        return Contents(argument.element_bytes, 0, 1)
    if argument.contents == "zeros":
        return Contents(argument.element_bytes)
    if argument.contents in ("ones", "fill"):
        return Contents(argument.element_bytes, int(argument.value or 1))
    rows, nonzeros = task.dimensions.get("rows"), task.dimensions.get("nnz")
    if task.kind == "spmv" and rows and nonzeros and argument.count == int(rows) + 1:
        return Contents(argument.element_bytes, 0, int(nonzeros), int(rows))
    return None


SMALL_DIMENSIONS = frozenset({"R", "S", "stride", "pad", "reads", "writes", "flops", "dilation"})


def _guessed(spec: LaunchSpec, task: Task, settings: Settings, notes: list[str]) -> dict[int, int]:
    """Make up parameters: pointers apart from each other, integers from the dimensions."""
    data: dict[int, int] = {}
    if spec.parameters is None:
        notes.append("the kernel's parameters are not known")
        return data
    integers = [i for i, (_, size) in enumerate(spec.parameters) if size == 4]
    dimensions = [
        int(value)
        for name, value in task.dimensions.items()
        if name not in SMALL_DIMENSIONS and value == int(value)
    ]
    threads = spec.grid[0] * spec.block[0]
    generic = max(settings.generic_integer, threads if spec.grid[1] == spec.grid[2] == 1 else 0)
    if dimensions and len(dimensions) == len(integers):
        values = dict(zip(integers, dimensions, strict=True))
        notes.append("integers are the problem's dimensions in order")
    else:
        fill = max(dimensions, default=generic)
        values = dict.fromkeys(integers, fill)
        notes.append(f"every integer argument is taken as {fill}")
    for position, (offset, size) in enumerate(spec.parameters):
        raw = b""
        if size == 8:
            raw = array_address(position).to_bytes(8, "little")
        elif position in values:
            raw = scalar_bytes("i64", values[position])[:4]
        elif size < 4:
            raw = bytes([1, 0, 0][:size])
        data.update((offset + i, byte) for i, byte in enumerate(raw))
    return data
