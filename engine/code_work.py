"""What the emulation of a launch adds to the analysis of the code."""

from __future__ import annotations

from dataclasses import replace

from ..facts.code import Code, CodeAccess, CodeBound
from ..facts.kernel import rests_on_checks
from ..facts.latency_facts import latency_facts, no_chain
from ..facts.model import Fact, Missing, Value
from ..facts.remedy_draft import Figures
from ..facts.remedy_facts import remedy_facts
from ..facts.tile_counts import tile_counts
from ..facts.work_facts import ACCESS_NAMES, work_facts
from ..parsers.listing import Function
from .knowledge import Setting
from .launch_emulation import Emulated, Gap, Launched, check_arguments, emulated

LOADS, OF_THE_LOADS = "tile.load_bytes", "tile.load_registers"


def with_work(code: Code, launched: Launched, setting: Setting) -> Code:
    """Add what the emulation of the launch says; without a launch or costs, say what is missing."""
    check_arguments(code, launched)
    found = emulated(code, launched, setting)
    if isinstance(found, Gap):
        gaps = tuple(Missing(name, found.because, found.needs) for name in ACCESS_NAMES)
        chain_gaps = tuple(no_chain(found.because))
        return replace(code, missing=code.missing + gaps + chain_gaps)
    figures = figures_of(setting)
    facts, missing = work_facts(found.work, found.limits, figures.filled)
    more = remedy_facts(found.work, found.bounds_of, figures)
    chain = latency_facts(found.chain, "no control words, latencies or emulated counts")
    facts, missing = facts + chain[0], missing + chain[1]
    counted = _tile_counts(code, launched.function, found, setting)
    known = {fact.name for fact in counted}
    code = replace(
        code,
        facts=tuple(fact for fact in code.facts if fact.name not in known),
        missing=tuple(gap for gap in code.missing if gap.name not in known),
    )
    return _with(code, launched.function, found, facts + more[0] + counted, missing + more[1])


def _tile_counts(code: Code, function: Function, found: Emulated, setting: Setting) -> list[Fact]:
    """Count one iteration of the K-tile loop where the code alone left it open.

    Where it takes checks for passed, its figure stays unless the launch gives another: the last
    iterations alone, which prefetch nothing, make no difference.
    """
    if code.loop is None or not found.work.scale_known:
        return []
    known = {fact.name: fact for fact in code.facts}
    assumed = {name for name, fact in known.items() if rests_on_checks(fact)}
    assumed |= {OF_THE_LOADS} & known.keys() if LOADS in assumed else set()
    wanted = {gap.name for gap in code.missing if gap.applies} | assumed
    operation = next((f.value for f in code.facts if f.name == "tile.compute_op"), None)
    counted = tile_counts(
        found.work, function.instructions, found.table, code.loop, wanted, operation
    )
    tolerance = float(setting.method("counter_disagreement_fraction") or 0)
    return [
        fact
        for fact in counted
        if fact.name not in assumed or _differs(fact.value, known[fact.name].value, tolerance)
    ]


def _differs(value: Value, assumed: Value, tolerance: float) -> bool:
    return abs(float(value) - float(assumed)) > tolerance * abs(float(assumed))


def figures_of(setting: Setting) -> Figures:
    """Give the method's figures that remedies rest on."""

    def figure(name: str) -> float:
        value = setting.method(name)
        assert isinstance(value, (int, float)), name
        return float(value)

    return Figures(
        figure("shared_load_ratio_low"),
        figure("row_tile_loads"),
        figure("larger_tile_traffic"),
        figure("random_atomic_ways"),
        figure("filled_sectors_fraction"),
    )


def _with(
    code: Code,
    function: Function,
    emulation: Emulated,
    facts: list[Fact],
    missing: list[Missing],
) -> Code:
    found, limits = emulation.work, emulation.limits
    executed: dict[str, float] = {}
    counts = found.work.executed.counts
    for instruction in function.instructions:
        span = counts.get(instruction.address)
        if span is not None and found.scale_known:
            name = instruction.mnemonic
            executed[name] = executed.get(name, 0.0) + span.value
    accesses = tuple(
        CodeAccess(
            a.address,
            a.mnemonic,
            a.space,
            a.executions,
            a.sectors_per_request,
            a.conflict_ways,
            a.stride,
            a.data_share,
            a.wavefronts.value,
        )
        for a in found.work.accesses
    )
    rows = tuple(
        CodeBound(b.resource, b.side, b.time_ms.value, b.time_ms.low, b.time_ms.high, b.basis)
        for b in limits
    )
    return replace(
        code,
        facts=code.facts + tuple(facts),
        missing=code.missing + tuple(missing),
        accesses=accesses,
        bounds=rows if found.scale_known else (),
        executed=tuple(executed.items()),
        notes=(*found.notes, *found.work.executed.doubts),
    )
