"""The instructions of one ordinary iteration of a loop, in the order in which they issue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..parsers.record import dataclass
from .loop_weights import Times, Weights
from .loops import Loop, Loops


@dataclass(frozen=True, slots=True)
class Repeat:
    """An inner loop: its sequence, and how often it runs; None where that is not known."""

    times: int | None
    items: tuple[Item, ...]


Item = int | Repeat  # a position in the function, or an inner loop


def ordinary_sequence(loops: Loops, loop: Loop, weights: Weights) -> tuple[Item, ...]:
    """Give one iteration of a loop: blocks by address, without those that it does not enter.

    A block whose execution cannot be told is taken to be executed.
    """
    inner = {loops.loops[child].header: loops.loops[child] for child in loop.children}
    hidden = {block for child in inner.values() for block in child.blocks}
    items: list[Item] = []
    for block in sorted(loop.blocks):
        child = inner.get(block)
        if child is not None and child is not loop:
            if _is_entered(weights, block):
                items.append(
                    Repeat(_rounds(weights, child), ordinary_sequence(loops, child, weights))
                )
        elif block not in hidden and _is_entered(weights, block):
            span = loops.flow.blocks[block]
            items += [
                position
                for position in range(span.first, span.end)
                if not loops.flow.function.instructions[position].never_executes
            ]
    return tuple(items)


def once(items: Sequence[Item]) -> Iterator[int]:
    """Give the positions with every inner loop taken once."""
    for item in items:
        if isinstance(item, Repeat):
            yield from once(item.items)
        else:
            yield item


def _is_entered(weights: Weights, block: int) -> bool:
    times: Times | None = weights.times.get(block)
    if times is None or times.high == 0:
        return False
    return times.expected != 0


def _rounds(weights: Weights, child: Loop) -> int | None:
    count = weights.trips.get(child.index)
    return count.low if count is not None and count.is_exact else None
