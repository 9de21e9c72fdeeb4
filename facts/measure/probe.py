"""`kneck probe`: run the micro-benchmarks of `kb/probes` and turn their stamps into ceilings.

Which kernels there are, how they are launched and what their work is, is data (probes.yaml,
loops.json); `probe_figures` says how a figure follows from a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...parsers.errors import KneckError
from ..gpu import Gpu
from .driver_errors import DriverError
from .probe_figures import summarize
from .probe_runner import Runner
from .probe_types import (
    Loops,
    Plan,
    ProbeReport,
    ProbeSettings,
    ProbeSpec,
    loop_counts,
    unsupported,
)


def run_probes(
    gpu: Gpu,
    images: Mapping[str, bytes],
    loops: Loops,
    specs: Sequence[ProbeSpec],
    settings: ProbeSettings,
    now: Callable[[], float],
    on_step: Callable[[int, int, str], None] = lambda done, total, name: None,
) -> ProbeReport:
    """Run all probes that this GPU can run, the whole list `passes` times."""
    device = gpu.info
    report = ProbeReport(device)
    runner = Runner(gpu, device, images, settings)
    plans: list[Plan] = []
    for spec in specs:
        reason = unsupported(spec, device.arch)
        counts = loop_counts(loops, spec, device.arch)
        if reason is None and spec.opcodes and not counts.count(spec.opcodes):
            reason = f"its loop holds no {'/'.join(spec.opcodes)} on {counts.arch or device.arch}"
        if reason is None:
            plans.append(Plan(spec, counts))
        else:
            report.skipped[spec.id] = reason
    start, done, total = now(), 0, len(plans) * settings.passes
    for _ in range(settings.passes):
        for plan in plans:
            on_step(done, total, plan.spec.id)
            done += 1
            if now() - start > settings.time_limit_s:
                report.skipped.setdefault(plan.spec.id, "the time was up")
            elif plan.spec.id not in report.skipped:
                _try(runner, plan, report)
    on_step(total, total, "")
    report.measured += [m for plan in plans if plan.passes for m in summarize(plan, settings)]
    report.measured += runner.launch_overhead()
    swept = [plan.buffer_bytes for plan in plans if plan.spec.sweep is not None]
    if swept:
        report.measured.append(runner.driver_copy(max(swept)))
    return report


def _try(runner: Runner, plan: Plan, report: ProbeReport) -> None:
    """Run one pass; a probe that fails is left out, unless the GPU's context is lost with it."""
    try:
        plan.passes.append(runner.measure(plan))
    except KneckError as error:
        if isinstance(error, DriverError) and error.breaks_context:
            raise
        report.skipped[plan.spec.id] = error.what
