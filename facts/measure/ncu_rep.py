"""`.ncu-rep` files, through NVIDIA's own package `ncu-report` (extra `ncu`)."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from ...parsers.errors import KneckError, MissingProgramError, Place
from .counters import LaunchCounters, SourceRow, in_base_unit

PER_OPCODE = "sass__inst_executed_per_opcode"
STALL_SAMPLES = "smsp__pcsamp_warps_issue_stalled_"
INSTALL = (
    "pip install 'kneck[ncu]', or export with ncu --import FILE --csv --page raw and give the CSV"
)


def read_rep(path: str, package: Any = None) -> list[LaunchCounters]:
    """Read all launches of a report; MissingProgramError without the package."""
    library = _package() if package is None else package
    try:
        context = library.load_report(path)
    except (RuntimeError, OSError, ValueError) as error:
        reason = (str(error).splitlines() or ["no reason given"])[0]
        raise KneckError(
            f"the report cannot be read: {reason}",
            Place(path),
            "it may come from a newer Nsight Compute: pip install -U ncu-report",
        ) from None
    actions = [context[i][j] for i in range(len(context)) for j in range(len(context[i]))]
    return [_launch(action, number, path) for number, action in enumerate(actions)]


def _package() -> Any:
    try:
        return import_module("ncu_report")
    except ImportError:
        raise MissingProgramError(
            "reading .ncu-rep needs the package ncu-report", help=INSTALL
        ) from None


def _launch(action: Any, number: int, path: str) -> LaunchCounters:
    metrics: dict[str, float] = {}
    texts: dict[str, str] = {}
    for name in action.metric_names():
        metric = action.metric_by_name(name)
        value = metric.value() if metric is not None else None
        if isinstance(value, str):
            texts[name] = value
        elif isinstance(value, (int, float)) and value == value:
            metrics[name] = in_base_unit(float(value), metric.unit())
    return LaunchCounters(
        kernel=action.name(action.NameBase_DEMANGLED),
        number=number,
        place=Place(path),
        grid=_axes(metrics, "launch__grid_dim_"),
        block=_axes(metrics, "launch__block_dim_"),
        metrics=metrics,
        texts=texts,
        opcodes=_per_opcode(action),
        rows=tuple(_rows(action)),
    )


def _axes(metrics: dict[str, float], prefix: str) -> tuple[int, ...] | None:
    names = [prefix + axis for axis in "xyz"]
    if not all(name in metrics for name in names):
        return None
    return tuple(int(metrics[name]) for name in names)


def _per_opcode(action: Any) -> dict[str, int]:
    """Executed warp instructions by opcode; the instances are named by the opcode."""
    metric = action.metric_by_name(PER_OPCODE)
    if metric is None or not metric.has_correlation_ids():
        return {}
    names = metric.correlation_ids()
    return {names.as_string(i): metric.as_uint64(i) for i in range(metric.num_instances())}


def _rows(action: Any) -> Iterator[SourceRow]:
    """Per-instruction counts; the instances of `inst_executed` are named by the address."""
    executed = action.metric_by_name("inst_executed")
    if executed is None or not executed.has_correlation_ids():
        return
    addresses = executed.correlation_ids()
    order = [(addresses.as_uint64(i), i) for i in range(executed.num_instances())]
    samples = _samples(action)
    first = min(address for address, _ in order)
    for address, i in sorted(order):
        stalls = samples.get(address, {})
        yield SourceRow(
            offset=address - first,
            sass=action.sass_by_pc(address).strip(),
            executed=executed.as_uint64(i),
            samples=sum(stalls.values()) if samples else None,
            stalls=stalls,
        )


def _samples(action: Any) -> dict[int, dict[str, int]]:
    """Samples of warps by address and by the reason why they waited."""
    found: dict[int, dict[str, int]] = {}
    for name in action.metric_names():
        if not name.startswith(STALL_SAMPLES) or name.endswith("_not_issued"):
            continue
        metric = action.metric_by_name(name)
        if not metric.has_correlation_ids():
            continue
        addresses = metric.correlation_ids()
        for i in range(metric.num_instances()):
            count = metric.as_uint64(i)
            if count:
                reasons = found.setdefault(addresses.as_uint64(i), {})
                reasons[name.removeprefix(STALL_SAMPLES)] = count
    return found
