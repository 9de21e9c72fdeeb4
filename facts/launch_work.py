"""The work of one launch: parameters, emulation, counts, accesses, cache and traffic in one place.

With the arguments the emulation is exact where data decides nothing. Without them integers become
the problem's dimensions where they fit, else a generic value that is good for strides, and the
counts are anchored on the problem's operations or bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property

from ..parsers.listing import Function
from ..parsers.record import dataclass, replace
from .accesses import Access, collect
from .anchor import Anchor, FlopsOf, byte_anchor, flop_anchor, scale_accesses, scaled
from .bounds import Chip, Work
from .dep_operands import OperandRules
from .emulator.emulate import Emulation, emulate
from .executed import Executed, from_emulation
from .footprint import Footprint, footprints, kept_in_l1
from .l1_cache import Hits, capacity_lines, simulate
from .l2 import Traffic, traffic
from .launch_arguments import EVEN_ROWS, IN_ORDER, LaunchSpec, Settings, Task, make_launch
from .merging import Merge, mergeable
from .pipes import PipeTable
from .sampled_lines import sampled_lines
from .spans import NOTHING, Span

Flow = Callable[[Sequence[Access], Mapping[int, Hits]], Traffic | None]

LINES_LEFT_OUT = "L1 hits and distinct bytes are those of the first {:,} lines of a block"


@dataclass(frozen=True)
class LaunchWork:
    """Everything that the emulation of one launch gives."""

    work: Work
    emulation: Emulation
    hits: Mapping[int, Hits]
    anchor: Anchor | None
    scale_known: bool  # counts rest on arguments, operations or bytes
    notes: tuple[str, ...]
    flow: Flow  # the traffic of other accesses in the same launch
    flops_of: FlopsOf
    footprints: tuple[Footprint, ...] = ()
    sizes: Mapping[int, int] = field(default_factory=dict)  # bytes by array
    blocks_per_sm: int = 1
    lines_left_out: bool = False
    arguments_known: bool = True

    @cached_property
    def merges(self) -> tuple[Merge, ...]:
        """Accesses of one lane that a wider one could replace."""
        return mergeable(self.emulation)

    def products(self, counts: Mapping[int, Span]) -> float:
        """Add up the executions of instructions that do the kernel's arithmetic."""
        return sum(counts.get(address, NOTHING).value for address in self._arithmetic)

    @cached_property
    def _arithmetic(self) -> tuple[int, ...]:
        return tuple(i.address for i in self.work.function.instructions if self.flops_of(i))


def launch_work(
    function: Function,
    spec: LaunchSpec,
    task: Task,
    chip: Chip,
    pipes: PipeTable,
    rules: OperandRules,
    flops_of: FlopsOf,
    settings: Settings,
) -> LaunchWork:
    """Emulate a launch and work out what it asks of every unit."""
    launch, sizes, notes = make_launch(spec, task, pipes, settings)
    fits = IN_ORDER in notes
    emulation = emulate(function, launch, rules, settings.limits)
    accesses: tuple[Access, ...] = collect(emulation)
    executed = from_emulation(emulation, [note for note in notes if note == EVEN_ROWS])
    exact = spec.arguments is not None and executed.exact
    anchor = None if exact else _anchored(emulation, executed, accesses, task, flops_of, fits)
    scale_known = exact or (spec.arguments is not None and not emulation.doubt.ended_early)
    accesses = bounded(accesses, executed)
    is_anchored = anchor is not None and abs(anchor.scale - 1.0) > settings.anchor_disagreement
    if anchor is not None and is_anchored:
        executed = Executed(
            scaled(executed.counts, anchor, settings.anchor_spread), "anchor",
            (*executed.doubts, "counts follow from the problem's operations or bytes"),
        )  # fmt: skip
        accesses = scale_accesses(accesses, anchor)
    unended = emulation.doubt.ended_early or _has_loops(emulation)
    scale_known = scale_known or anchor is not None or not unended
    scale_known = scale_known or (fits and executed.exact)
    if not scale_known:
        executed = Executed(
            executed.counts, "launch", (*executed.doubts, "trip counts are unknown")
        )
    resident = min(spec.blocks_per_sm, -(-launch.blocks // chip.sm_count))
    lines = capacity_lines(
        pipes.l1_bytes, pipes.l1_usable_fraction, spec.smem_bytes_per_block, max(1, resident)
    )
    sampled = sampled_lines(emulation, settings.most_lines)
    prints = footprints(
        emulation, sampled, settings.most_arrays, settings.evenness,
        anchor.factor if anchor is not None and is_anchored else lambda address: 1.0,
    )  # fmt: skip
    on_sm = lines * max(1, resident)
    kept = kept_in_l1(prints, sizes, on_sm, chip.sm_count, launch.blocks)
    hits = simulate(emulation, sampled, lines, kept, sizes)

    is_guess = spec.arguments is None and (task.bytes is not None or unended or not executed.exact)

    def flow(accesses: Sequence[Access], hits: Mapping[int, Hits]) -> Traffic | None:
        return _traffic(
            emulation, accesses, hits, prints, sizes, task, chip, pipes, max(1, resident),
            is_guess,
        )  # fmt: skip

    if not sampled.complete:
        notes.append(LINES_LEFT_OUT.format(settings.most_lines))
    work = Work(function, executed, accesses, flow(accesses, hits), task.bytes)
    return LaunchWork(
        work, emulation, hits, anchor, scale_known, tuple(notes), flow, flops_of,
        tuple(prints), sizes, spec.blocks_per_sm, not sampled.complete, spec.arguments is not None,
    )  # fmt: skip


def bounded(accesses: Sequence[Access], executed: Executed) -> tuple[Access, ...]:
    """Let an access be as uncertain as the number of its executions: what data decides may not run.

    No count is without a limit here; the time sets one where there is a time.
    """
    result = []
    for access in accesses:
        count = executed.counts.get(access.address)
        if count is None or not count.value or count.low >= count.value:
            result.append(access)
            continue
        least = count.low / count.value

        def less(span: Span, least: float = least) -> Span:
            return Span(span.low * least, span.value, span.high)

        result.append(
            replace(
                access, sectors=less(access.sectors), lines=less(access.lines),
                requests=less(access.requests), wavefronts=less(access.wavefronts),
            )
        )  # fmt: skip
    return tuple(result)


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
    is_guess: bool,
) -> Traffic | None:
    path = pipes.l2.get(chip.id)
    if path is None:
        return None
    return traffic(
        accesses, hits, prints, emulation.launch.grid, resident * chip.sm_count,
        sizes, task.bytes, chip.l2_bytes, path, is_guess,
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
    fits: bool,
) -> Anchor | None:
    """Anchor on operations, else on bytes where the kernel computes nothing."""
    if task.flops:
        found = flop_anchor(emulation, executed.counts, flops_of, task.flops)
        if found is not None:
            return found
    if fits or task.flops or not task.bytes or not _moves_much(emulation, accesses):
        return None
    return byte_anchor(emulation, accesses, task.bytes)


def _moves_much(emulation: Emulation, accesses: Sequence[Access]) -> bool:
    """Tell whether a loop moves global data, so that bytes say how often it runs."""
    from .anchor import loop_regions

    regions = loop_regions(emulation)
    return any(
        a.space == "global" and any(r[0] <= a.address <= r[1] for r in regions) for a in accesses
    )
