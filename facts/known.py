"""What launch and arguments put into constant memory, for the trip counts of loops."""

from __future__ import annotations

from ..parsers.artifact import Artifact
from ..parsers.listing import Function
from .launch_facts import axes
from .loop_linear import Interval, Known
from .problem import Problem
from .request import Request

AXIS_NAMES = ("X", "Y", "Z")


def known_at_launch(
    request: Request, artifact: Artifact, function: Function, problem: Problem | None
) -> Known:
    """Give the ranges of thread and block indices, and the scalar arguments by their address.

    A launch that was not given leaves everything unknown.
    """
    specials: dict[str, Interval] = {}
    for prefix, text in (("SR_TID", request.block), ("SR_CTAID", request.grid)):
        if text is not None:
            for axis, size in zip(AXIS_NAMES, axes(text), strict=True):
                specials[f"{prefix}.{axis}"] = Interval(0, size - 1)
    return Known(_parameters(request, artifact, function, problem), specials)


def _parameters(
    request: Request, artifact: Artifact, function: Function, problem: Problem | None
) -> dict[tuple[int, int], int]:
    record = next((r for r in artifact.resources if r.name == function.name), None)
    if request.args is None or record is None or record.parameters is None:
        return {}
    base = getattr(record, "parameter_base", None)
    if base is None:
        return {}
    from .arguments import parse_arguments

    dimensions = dict(problem.dimensions) if problem is not None else {}
    found = {}
    for argument, (offset, size) in zip(
        parse_arguments(request.args, dimensions), record.parameters, strict=False
    ):
        if argument.kind == "scalar" and isinstance(argument.value, int) and size == 4:
            found[0, base + offset] = argument.value & 0xFFFFFFFF
    return found
