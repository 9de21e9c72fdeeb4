"""From a checked file to an architecture or a device, each figure with its place and citation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..facts.hardware import Architecture, Device, Peak, PeaksBasis, SmLimits, Timing
from ..facts.model import Fact, Source, Value
from .architecture_schema import ArchitectureFile
from .documents import Document, validate
from .hardware_files import check_name, check_sources, read_file
from .hardware_schema import Ceilings, DeviceFile, Group, Strict

FLAT_GROUPS = (
    "limits",
    "memory",
    "memory_latency",
    "instruction_cache",
    "latency_hiding",
    "capabilities",
)
NO_FIGURES = frozenset({"source", "status", "note", "formula", "evidence"})


def build_architecture(folder: Path, path: Path, sources: Mapping[str, str]) -> Architecture:
    document = read_file(folder, path)
    parsed = validate(document, ArchitectureFile)
    check_name(document, "arch", parsed.arch, path)
    facts = [
        _fact(document, "arch.name", parsed.arch, "", "arch"),
        _fact(
            document, "arch.compute_capability", parsed.compute_capability, "", "compute_capability"
        ),
        _fact(document, "arch.generation", parsed.generation, "", "generation"),
    ]
    for name in (*FLAT_GROUPS, "rates", "tensor", "timing"):
        group: Group | None = getattr(parsed, name)
        if group is not None:
            check_sources(document, group.source, sources, name, "source")
        if group is not None and name in (*FLAT_GROUPS, "rates"):
            prefix = "arch.rate." if name == "rates" else "arch."
            facts.extend(_facts_of(document, group, prefix, name))
    limits = parsed.limits
    timing = parsed.timing
    return Architecture(
        name=parsed.arch,
        compute_capability=parsed.compute_capability,
        generation=parsed.generation,
        limits=SmLimits(**{key: getattr(limits, key) for key in SmLimits.__dataclass_fields__}),
        rates=_figures(parsed.rates),
        tensor={
            precision: {c: rate for c, rate in rates if rate is not None}
            for precision, rates in _figures(parsed.tensor).items()
        },
        timing=Timing()
        if timing is None
        else Timing(
            timing.fixed_latency,
            frozenset(timing.variable_latency),
            timing.issue_interval,
            timing.written_stall,
            timing.between,
            _figures(timing.distances),
        ),
        capabilities=_figures(parsed.capabilities),
        facts=tuple(facts),
        chips=parsed.chips,
        path=document.path,
    )


def build_device(folder: Path, path: Path, sources: Mapping[str, str]) -> Device:
    document = read_file(folder, path)
    parsed = validate(document, DeviceFile)
    check_name(document, "id", parsed.id, path)
    check_sources(document, parsed.chip.source, sources, "chip", "source")
    facts = [
        _fact(document, "device.id", parsed.id, "", "id"),
        _fact(document, "device.name", parsed.name, "", "name"),
        _fact(document, "device.arch", parsed.arch, "", "arch"),
        _fact(document, "device.product_class", parsed.product_class, "", "product_class"),
        *_facts_of(document, parsed.chip, "device.", "chip"),
    ]
    peaks = _peaks(document, parsed, sources)
    facts.extend(_accumulate_fact(document, peaks["dense"]))
    facts.extend(_measured_facts(document, parsed, sources))
    return Device(
        id=parsed.id,
        name=parsed.name,
        arch=parsed.arch,
        product_class=parsed.product_class,
        sm_count=parsed.chip.sm_count,
        boost_ghz=parsed.chip.boost_ghz,
        l2_bytes=parsed.chip.l2_bytes,
        peaks=peaks,
        facts=tuple(facts),
        path=document.path,
    )


def _accumulate_fact(document: Document, dense: Mapping[str, Peak]) -> Iterator[Fact]:
    """Tell whether FP16 accumulate runs at twice the rate of FP32 accumulate, from the peaks."""
    fp16, fp32 = dense.get("fp16_tensor_fp16acc"), dense.get("fp16_tensor_fp32acc")
    if fp16 is not None and fp32 is not None:
        source = Source("kb", f"{document.place('peaks', 'dense')}, the two FP16 tensor peaks")
        doubles = round(fp16.value / fp32.value) >= 2
        yield Fact("device.fp16_accumulate_doubles", doubles, "", source)


def _measured_facts(
    document: Document, parsed: DeviceFile, sources: Mapping[str, str]
) -> Iterator[Fact]:
    """Give what a probe measured beside the peaks: costs, latencies, request rates."""
    for name, figure in parsed.measured.items():
        check_sources(document, figure.source, sources, "measured", name, "source")
        place = document.place("measured", name)
        repeated = f"spread {figure.spread:.1%}" if figure.stable else "unstable"
        source = Source("kb", f"{place}, {figure.command}, {repeated}")
        yield Fact(f"device.measured.{name}", figure.value, figure.unit, source)


def _peaks(
    document: Document, parsed: DeviceFile, sources: Mapping[str, str]
) -> dict[str, dict[str, Peak]]:
    peaks: dict[str, dict[str, Peak]] = {}
    for basis, ceilings in (("dense", parsed.peaks.dense), ("published", parsed.peaks.published)):
        if ceilings is not None:
            peaks[basis] = _ceilings(document, ceilings, basis, sources)  # type: ignore[arg-type]
    measured = parsed.peaks.measured
    for name, figure in measured.items():
        check_sources(document, figure.source, sources, "peaks", "measured", name, "source")
        place = document.place("peaks", "measured", name)
        detail = f"{place}, {figure.command}, spread {figure.spread:.1%}"
        status = "measured" if figure.stable else "contested"
        peak = Peak(name, figure.value, figure.unit, "measured", detail, status)
        peaks.setdefault("measured", {})[name] = peak
    return peaks


def _ceilings(
    document: Document, ceilings: Ceilings, basis: PeaksBasis, sources: Mapping[str, str]
) -> dict[str, Peak]:
    check_sources(document, ceilings.source, sources, "peaks", basis, "source")
    found: dict[str, Peak] = {}
    for name, value in _figures(ceilings).items():
        evidence = getattr(ceilings, "evidence", {}).get(name)
        keys, status = ceilings.source, ceilings.status
        if evidence is not None:
            check_sources(document, evidence.source, sources, "peaks", basis, "evidence", name)
            keys, status = evidence.source, evidence.status
        detail = f"{document.place('peaks', basis, name)} [{', '.join(keys)}]"
        if evidence is not None:
            detail = f"{detail}, {evidence.status}: {evidence.because}"
        found[name] = Peak(name, value, _unit(ceilings, name), basis, detail, status)
    return found


def _facts_of(document: Document, group: Group, prefix: str, at: str) -> Iterator[Fact]:
    for name, value in _figures(group).items():
        if isinstance(value, tuple):
            continue
        detail = f"{document.place(at, name)} [{', '.join(group.source)}], {group.status}"
        yield Fact(f"{prefix}{name}", value, _unit(group, name), Source("kb", detail))


def _figures(group: Strict | None) -> dict[str, Any]:
    """Give the figures of a group that are known, without its source and remarks."""
    if group is None:
        return {}
    return {name: value for name, value in group if name not in NO_FIGURES and value is not None}


def _unit(group: Strict, name: str) -> str:
    extra = type(group).model_fields[name].json_schema_extra
    return str(extra.get("unit", "")) if isinstance(extra, dict) else ""


def _fact(document: Document, name: str, value: Value, unit: str, at: str) -> Fact:
    return Fact(name, value, unit, Source("kb", str(document.place(at))))
