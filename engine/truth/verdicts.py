"""One measured kernel: what kneck says of it, asked as a user would ask, beside the counters."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

from ...facts.code import Code
from ...facts.model import FactBase
from ...facts.request import Request
from ...parsers.record import dataclass
from ..knowledge import Setting
from ..session import Result, diagnose_with
from .judge import busiest_units, class_of, half, measured_class, unit_of
from .load import Measured, TruthSet
from .schema import Judge, KernelEntry

NAME = re.compile(r"\b[A-Za-z_]\w*\b")


@dataclass(frozen=True)
class Row:
    """One kernel: what was measured, what the analysis says. Ratios are analysis / measured.

    A ratio is None where nothing was measured, or where the analysis gives no count;
    `counted` tells these apart for executed instructions. `seconds` are of the processor.
    """

    name: str
    half: str
    measured: str
    found: str
    roofline: str
    confidence: str
    resource: str | None
    busiest: tuple[str, ...]
    executed: float | None
    wavefronts: float | None
    sectors: float | None
    depends_on_data: bool
    seconds: float


def ask(entry: KernelEntry, truth: TruthSet, setting: Setting, with_arguments: bool) -> Result:
    """Diagnose a kernel of the set with its measured time; raises KneckError."""
    return diagnose_with(request_for(entry, truth, with_arguments), setting)


def request_for(entry: KernelEntry, truth: TruthSet, with_arguments: bool) -> Request:
    """Write the question; `dims` are no dimensions of --args, so they are put in as numbers."""
    args = None
    if with_arguments:
        args = NAME.sub(lambda word: str(entry.dims.get(word[0], word[0])), entry.args)
    return Request(
        target=str(truth.cubin(entry)),
        kernel=entry.kernel or entry.name,
        gpu=truth.manifest.gpu,
        grid=",".join(map(str, entry.grid)),
        block=",".join(map(str, entry.block)),
        dynamic_smem=entry.dynamic_smem,
        problem=entry.problem,
        time_ms=truth.measured[entry.name].time_ms,
        args=args,
        command="kneck kb backtest",
    )


def timed(
    entry: KernelEntry, truth: TruthSet, setting: Setting, with_arguments: bool
) -> tuple[Result, float]:
    """Ask, and give the processor seconds that the answer took."""
    began = time.process_time()
    result = ask(entry, truth, setting, with_arguments)
    return result, time.process_time() - began


def row_of(
    entry: KernelEntry, measured: Measured, result: Result, seconds: float, judge: Judge
) -> Row:
    """Hold one result against the measurement."""
    truth = measured_class(measured.counters, judge)
    detail = result.diagnosis.bound_detail
    code = result.code
    return Row(
        name=entry.name,
        half=half(entry.family),
        measured=truth,
        found=result.diagnosis.bound,
        roofline=roofline_class(result.facts, judge),
        confidence=detail.confidence,
        resource=unit_of(detail.resource, judge),
        busiest=busiest_units(measured.counters, truth, judge) if truth != "latency" else (),
        executed=_executed(code, measured.counters),
        wavefronts=_wavefronts(code, measured),
        sectors=_sectors(code, measured),
        depends_on_data=any(access.data_share for access in code.accesses),
        seconds=seconds,
    )


def roofline_class(facts: FactBase, judge: Judge) -> str:
    """Judge by operations and unique bytes alone, as a roofline does."""

    def share(rate: str, peak: str) -> float:
        reached, most = facts.number(rate), facts.number(peak)
        return reached / most if reached and most else 0.0

    compute = share("baseline.gflops", "roofline.peak_gflops")
    memory = share("baseline.gb_per_s", "roofline.peak_gb_per_s")
    return class_of(compute, memory, judge)


def _executed(code: Code, counters: Mapping[str, float]) -> float | None:
    total = sum(count for _, count in code.executed)
    return _ratio(total, counters.get("smsp__inst_executed.sum", 0.0)) if code.executed else None


def _wavefronts(code: Code, measured: Measured) -> float | None:
    """Compare loads and stores of shared memory; counters add copies to them, kneck does not."""
    by_address = measured.by_instruction.get("shared_wavefronts", {})
    shared = [access for access in code.accesses if access.space == "shared"]
    truth = sum(by_address.get(f"{access.address:x}", 0.0) for access in shared)
    return _ratio(sum(access.wavefronts for access in shared), truth)


def _sectors(code: Code, measured: Measured) -> float | None:
    found = sum(
        access.executions * (access.sectors_per_request or 0.0)
        for access in code.accesses
        if access.space == "global"
    )
    return _ratio(found, sum(measured.by_instruction.get("global_sectors", {}).values()))


def _ratio(value: float, truth: float) -> float | None:
    return value / truth if truth else None
