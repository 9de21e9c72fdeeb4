"""Reads how kneck measures from the knowledge base: timing, probes, counters, comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from ..facts.measure.bench import BenchSettings
from ..facts.measure.comparison import Signature
from ..facts.measure.counter_facts import CounterFact, CounterTable
from ..facts.measure.probe_types import (
    BufferSize,
    Loops,
    ProbeLaunch,
    ProbeSettings,
    ProbeSpec,
)
from ..facts.measure.statistics import SeriesSettings
from ..facts.measure.timing import TimingSettings
from ..parsers.expression import parse_expression
from ..parsers.record import dataclass
from ..rules.documents import Document, read_document, validate

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

TIMING_FIELDS = (
    "warm_up_launches", "warm_up_ms", "warm_up_change_fraction", "timer_step_ms",
    "warm_up_limit_s", "batch_ms", "batch_launches", "time_limit_s",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MeasurementSettings:
    """Everything in `kb/measurement.yaml`."""

    bench: BenchSettings
    harness_time_limit_s: float
    change_fraction: float
    regression_fraction: float


@dataclass(frozen=True)
class ProbeList:
    """Everything in `kb/probes/probes.yaml`, and the counts of the loops."""

    specs: tuple[ProbeSpec, ...]
    settings: ProbeSettings
    best: Mapping[str, tuple[str, ...]]
    peaks: tuple[str, ...]
    loops: Loops


def knowledge_file(*parts: str) -> Traversable:
    """Find a file of the shipped knowledge base."""
    from importlib.resources import files

    return files("kneck.kb").joinpath(*parts)


def _document(*parts: str) -> Document:
    text = knowledge_file(*parts).read_text(encoding="utf-8")
    return read_document(text, "/".join(("kb", *parts)))


@cache
def measurement_settings() -> MeasurementSettings:
    """Read `kb/measurement.yaml`; KnowledgeError where it is faulty."""
    from .measurement_schema import MeasurementFile

    parsed = validate(_document("measurement.yaml"), MeasurementFile)
    series = SeriesSettings(**parsed.series.model_dump())
    timing = parsed.timing.model_dump()
    loop = TimingSettings(**{name: timing.pop(name) for name in TIMING_FIELDS}, series=series)
    return MeasurementSettings(
        bench=BenchSettings(timing=loop, **timing),
        harness_time_limit_s=parsed.harness.time_limit_s,
        change_fraction=parsed.comparison.change_fraction,
        regression_fraction=parsed.comparison.regression_fraction,
    )


@cache
def probe_list() -> ProbeList:
    """Read `kb/probes`; KnowledgeError where it is faulty."""
    from .measurement_schema import ProbesFile

    parsed = validate(_document("probes", "probes.yaml"), ProbesFile)
    settings: dict[str, Any] = dict(parsed.settings)
    for name in ("launches", "tensor_launches"):
        settings[name] = tuple(ProbeLaunch(**dict(entry)) for entry in settings[name])
    specs = []
    for entry in parsed.probes:
        fields = dict(entry)
        fields["launches"] = tuple(ProbeLaunch(**dict(x)) for x in entry.launches)
        fields["buffer"] = BufferSize(**dict(entry.buffer))
        fields["opcodes"], fields["only"] = tuple(entry.opcodes), tuple(entry.only)
        specs.append(ProbeSpec(**fields))
    loops: Loops = json.loads(knowledge_file("probes", "loops.json").read_text(encoding="utf-8"))
    best = {name: tuple(parts) for name, parts in parsed.best.items()}
    return ProbeList(tuple(specs), ProbeSettings(**settings), best, tuple(parsed.peaks), loops)


@cache
def signatures() -> tuple[Signature, ...]:
    """Read `kb/changes.yaml`; KnowledgeError or KneckError where it is faulty."""
    document = _document("changes.yaml")
    data = document.data
    assert isinstance(data, dict)
    found = []
    for strategy, conditions in data.items():
        if not isinstance(conditions, list):
            raise document.error("conditions are a list", strategy)
        parsed = [
            parse_expression(str(text), document.place(strategy, position))
            for position, text in enumerate(conditions)
        ]
        found.append(Signature(strategy, tuple(parsed)))
    return tuple(found)


@cache
def counter_table() -> CounterTable:
    """Read `kb/ncu_metrics.yaml`; KnowledgeError where it is faulty."""
    from .measurement_schema import CounterFile

    document = _document("ncu_metrics.yaml")
    parsed = validate(document, CounterFile)
    entries = {
        name: (entry.unit, entry.meaning, entry.overrules, entry.formulas)
        for name, entry in parsed.facts.items()
    }
    for reason, spellings in parsed.stalls.reasons.items():
        formulas = [f.format(name) for f in parsed.stalls.formulas for name in spellings]
        meaning = f"cycles a warp waited per issued instruction: {reason.replace('_', ' ')}"
        entries[f"counters.stall.{reason}"] = ("cycles", meaning, False, formulas)
    facts = [
        CounterFact(
            name,
            unit,
            meaning,
            tuple(parse_expression(text, document.place("facts", name)) for text in formulas),
            overrules,
        )
        for name, (unit, meaning, overrules, formulas) in entries.items()
    ]
    reasons = {
        spelling: reason
        for reason, spellings in parsed.stalls.reasons.items()
        for spelling in spellings
    }
    return CounterTable(tuple(facts), parsed.labels, reasons)


def probe_images() -> dict[str, bytes]:
    """Read the compiled micro-benchmarks, by source."""
    folder = knowledge_file("probes")
    return {
        file.name.removesuffix(".fatbin"): file.read_bytes()
        for file in folder.iterdir()
        if file.name.endswith(".fatbin")
    }
