"""Arguments against the parameters that a cubin declares."""

from __future__ import annotations

from collections.abc import Sequence

from ..parsers.errors import KneckError, Place
from .arguments import Argument


def parameter_offsets(arguments: Sequence[Argument]) -> tuple[int, ...]:
    """Place the parameters as CUDA does: in order, each aligned to its own size."""
    offsets, end = [], 0
    for argument in arguments:
        size = argument.parameter_bytes
        start = -(-end // size) * size
        offsets.append(start)
        end = start + size
    return tuple(offsets)


def check_parameters(
    arguments: Sequence[Argument],
    parameters: Sequence[tuple[int, int]],
    option: str = "--args",
    structures: bool = False,
) -> None:
    """Compare with the (offset, size) pairs that the cubin declares; raises KneckError.

    With `structures` an array may stand for a structure that leads to it, such as a tensor map.
    """
    wanted = ", ".join(str(size) for _, size in parameters) or "none"
    if len(arguments) != len(parameters):
        what = f"the kernel takes {len(parameters)} arguments, {option} gives {len(arguments)}"
        raise KneckError(what, Place(option), f"parameter sizes in bytes, in order: {wanted}")
    for position, (argument, (_, size)) in enumerate(zip(arguments, parameters, strict=True)):
        leads = structures and argument.kind == "array" and size > argument.parameter_bytes
        if argument.parameter_bytes != size and not leads:
            what = (
                f'argument {position + 1} of the kernel has {size} bytes, "{argument.text}" has '
                f"{argument.parameter_bytes}"
            )
            raise KneckError(
                what,
                Place(option, 1, argument.column),
                f"parameter sizes in bytes, in order: {wanted}",
            )
