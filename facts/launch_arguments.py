"""The launch to emulate: arguments as given, or made up from the problem's dimensions.

Values that are made up are good for strides between lanes, seldom for counts; notes say which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from ..parsers.record import dataclass
from .arguments import Argument
from .emulator.budget import Limits
from .emulator.launch import (
    Contents,
    Launch,
    array_address,
    array_of,
    natural_offsets,
    parameter_bytes,
    scalar_bytes,
)
from .emulator.samples import choose_samples
from .footprint import Evenness
from .pipes import PipeTable

INTEGER_BYTES, POINTER_BYTES = 4, 8
MOST_GENERIC = 1 << 30
IN_ORDER = "integers are the problem's dimensions in order"
EVEN_ROWS = "rows are taken as equally long: where they differ, warps run as long as the longest"


@dataclass(frozen=True, slots=True)
class Settings:
    """Figures of kb/method.yaml for the emulation, its addresses and the anchors.

    `most_threads` of the sampled blocks; `elements_per_thread` so that no bound check cuts a size
    that is made up; `most_lines` and `most_arrays` whose places are analysed; `anchor_spread`: how
    far off an anchor usually is; `anchor_disagreement` from which on it corrects the emulation;
    `special_operations` of the code of one special function; `plausible_share` of the time that
    work may take; `explained_share` of it below which an anchor that may be too low is doubted;
    `launch_ms` of an empty launch; `time_rounds` and `time_smallest` of the counts that follow from
    the time.
    """

    limits: Limits
    most_threads: int
    generic_integer: int
    elements_per_thread: int
    most_lines: int
    most_arrays: int
    evenness: Evenness
    anchor_spread: float
    anchor_disagreement: float
    special_operations: float
    plausible_share: float
    explained_share: float
    launch_ms: float
    time_rounds: int
    time_smallest: float


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
        if any(held.is_assumed for held in contents.values()):
            notes.append(EVEN_ROWS)
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
        return Contents(argument.element_bytes, 0, int(nonzeros), int(rows), is_assumed=True)
    return None


def _power_of_two(least: int) -> int:
    """Round up, so that a mask made of the size keeps all bits below it."""
    return 1 << max(0, least - 1).bit_length()


NO_SIZES = frozenset(  # dimensions that kernels seldom take as an integer argument
    {"R", "S", "stride", "pad", "reads", "writes", "flops", "bytes", "dilation", "causal"}
)


def _guessed(spec: LaunchSpec, task: Task, settings: Settings, notes: list[str]) -> dict[int, int]:
    """Make up parameters: pointers apart from each other, integers from the dimensions."""
    data: dict[int, int] = {}
    if spec.parameters is None:
        notes.append("the kernel's parameters are not known")
        return data
    integers = [i for i, (_, size) in enumerate(spec.parameters) if size == INTEGER_BYTES]
    values = _integers(integers, spec, task, settings, notes)
    for position, (offset, size) in enumerate(spec.parameters):
        raw = b""
        if size == POINTER_BYTES:
            raw = array_address(position).to_bytes(size, "little")
        elif position in values:
            raw = scalar_bytes("i64", values[position])[:size]
        elif size < INTEGER_BYTES:
            raw = bytes([1, 0, 0][:size])
        data.update((offset + i, byte) for i, byte in enumerate(raw))
    return data


def _integers(
    positions: Sequence[int], spec: LaunchSpec, task: Task, settings: Settings, notes: list[str]
) -> dict[int, int]:
    """Choose values: the dimensions in order where their number fits, else one for all."""
    sizes = [
        int(value)
        for name, value in task.dimensions.items()
        if name not in NO_SIZES and value == int(value)
    ]
    for chosen in (sizes, [size for size in sizes if size > 1]):
        if chosen and len(chosen) == len(positions):
            notes.append(IN_ORDER)
            return dict(zip(positions, chosen, strict=True))
    threads = spec.grid[0] * spec.block[0]
    large = [size for size in sizes if size > 1]
    covered = [size for size in large if threads - spec.block[0] < size <= threads]
    if len(set(large)) == 1 or (len(positions) == 1 and covered):
        notes.append(IN_ORDER)
        return dict.fromkeys(positions, covered[0] if covered else large[0])
    most = max(g * b for g, b in zip(spec.grid, spec.block, strict=True))
    generic = max(settings.generic_integer, most * settings.elements_per_thread)
    fill = max(large, default=min(_power_of_two(generic), MOST_GENERIC))
    notes.append(f"every integer argument is taken as {fill}")
    return dict.fromkeys(positions, fill)
