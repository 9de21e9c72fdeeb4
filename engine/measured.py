"""Times and counters that a request asks for: --time-ms, --bench, --measure, --ncu, --gpu local."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..facts.code import Code
from ..facts.derive import Derivation, derive
from ..facts.launch_facts import axes
from ..facts.model import Fact, FactBase, Missing, Source
from ..facts.problem import Problem
from ..facts.request import Request
from ..parsers.errors import KneckError
from ..parsers.record import dataclass
from .knowledge import LOCAL, Setting

if TYPE_CHECKING:
    from ..facts.measure.bench import BenchResult
    from ..facts.measure.device import Launch
    from .measuring import CounterReading
    from .target import Opened

TIMES = ("time_ms", "bench", "measure")


@dataclass(frozen=True)
class Measured:
    """What was measured for a request; `remarks` are (id, text) for the report's limits."""

    facts: tuple[Fact, ...] = ()
    counters: CounterReading | None = None
    remarks: tuple[tuple[str, str], ...] = ()


def with_local_gpu(request: Request, setting: Setting) -> Request:
    """Put the device of this machine in the place of `--gpu local`."""
    if request.gpu != LOCAL:
        return request
    from .measuring import local_device_id, local_gpu

    known = {id: (d.name, d.arch) for id, d in setting.hardware.devices.items()}
    return replace(request, gpu=local_device_id(local_gpu(), known))


def measure(
    opened: Opened,
    code: Code,
    problem: Problem | None,
    launch: Mapping[str, Fact],
    setting: Setting,
) -> Measured:
    """Take every measurement that the request asks for; at most one of them gives the time."""
    request = opened.request
    given = [f"--{name.replace('_', '-')}" for name in TIMES if getattr(request, name)]
    if len(given) > 1:
        raise KneckError(f"{' and '.join(given)} both give a time", help="keep one of them")
    if request.bench_time is not None and request.bench is None:
        raise KneckError("--bench-time without --bench", help="add --bench CMD")
    counters = None
    if request.ncu is not None:
        from .measuring import counter_time, read_counters

        counters = read_counters(request.ncu, request.kernel or code.name)
    if request.bench is not None:
        return _harness(request, code, counters)
    if request.measure:
        return _events(opened, code, problem, launch, counters, setting)
    if counters is None or request.time_ms is not None:
        return Measured(counters=counters)
    return Measured(tuple(counter_time(counters)), counters)


def _harness(request: Request, code: Code, counters: CounterReading | None) -> Measured:
    from ..parsers.names import demangle
    from .measuring import bench_harness

    assert request.bench is not None
    name = demangle(code.name).split("(")[0].split("<")[0].split("::")[-1].split()[-1]
    facts = bench_harness(request.bench, request.bench_time, name)
    told = {fact.name: fact.value for fact in facts}
    remarks = []
    if "measurement.clock" not in told:
        text = "The harness does not say whether it timed with CUDA events or by wall clock."
        remarks.append(("harness-clock-unknown", text))
    elif told["measurement.clock"] == "wall":
        text = "The harness timed by wall clock, which counts launches and waits as kernel time."
        remarks.append(("harness-wall-clock", text))
    if "measurement.warm_up" not in told:
        text = "The harness does not say whether launches stood before the measured one."
        remarks.append(("harness-warm-up-unknown", text))
    return Measured(tuple(facts), counters, tuple(remarks))


def _events(
    opened: Opened,
    code: Code,
    problem: Problem | None,
    launch: Mapping[str, Fact],
    counters: CounterReading | None,
    setting: Setting,
) -> Measured:
    from ..facts.measure.bench_facts import bench_facts, require_steady

    result = require_steady(time_kernel(opened, code, problem, launch))
    remarks = tuple(remarks_on(result, code, setting))
    return Measured(tuple(bench_facts(result, "--measure")), counters, remarks)


def remarks_on(result: BenchResult, code: Code, setting: Setting) -> list[tuple[str, str]]:
    """Say, as (id, text), what speaks against a time, and where the driver contradicts kneck."""
    from ..facts.measure.bench_facts import occupancy_difference, shape_in_words

    words = {
        "measurement-unsteady": shape_in_words(result),
        "occupancy-differs": occupancy_difference(_computed_blocks(result, code, setting), result),
    }
    return [(id, text) for id, text in words.items() if text is not None]


def _computed_blocks(result: BenchResult, code: Code, setting: Setting) -> int | None:
    """Give kneck's own blocks per SM on the GPU that ran the kernel; None: it has no file."""
    from ..facts.occupancy import occupancy

    architecture = setting.hardware.architecture(result.device.arch)
    barriers = next((r.barriers for r in code.records if r.barriers is not None), 1)
    function, launch = result.function, result.launch
    if architecture is None:
        return None
    return occupancy(
        architecture.limits,
        function.registers,
        launch.threads,
        function.static_smem,
        launch.dynamic_smem,
        launch.carveout,
        max(1, barriers),
    ).blocks_per_sm


def time_kernel(
    opened: Opened,
    code: Code,
    problem: Problem | None,
    launch: Mapping[str, Fact],
    cache: str = "flush",
) -> BenchResult:
    """Time the kernel on this machine's GPU; raises KneckError where launch or file do not do."""
    from .measuring import bench

    request = opened.request
    image = Path(opened.path).read_bytes()
    dimensions = dict(problem.dimensions) if problem is not None else {}
    parameters = next((r.parameters for r in code.records if r.parameters is not None), None)
    return bench(
        image,
        code.name,
        _launch(launch),
        request.args or "",
        {name: float(value) for name, value in dimensions.items()},
        parameters,
        cache,  # type: ignore[arg-type]
    )


def _launch(facts: Mapping[str, Fact]) -> Launch:
    from ..facts.measure.device import Launch

    gaps = [f"--{name}" for name in ("grid", "block") if f"launch.{name}" not in facts]
    if gaps:
        raise KneckError(f"a kernel cannot be run without {' and '.join(gaps)}", help="add them")
    grid, block = (axes(facts[f"launch.{name}"].value) for name in ("grid", "block"))
    carveout = facts.get("occupancy.carveout")
    return Launch(
        (grid[0], grid[1], grid[2]),
        (block[0], block[1], block[2]),
        int(facts["launch.dynamic_smem"].value),
        None if carveout is None else int(carveout.value),
    )


def lay_over(
    known: FactBase,
    derivations: Sequence[Derivation],
    counters: CounterReading | None,
    threshold: float,
) -> tuple[FactBase, list[tuple[str, str]]]:
    """Derive all facts; counters overrule what was inferred, and what follows is derived from them.

    The inferred values stay as `inferred.NAME`; differences above the threshold are remarks.
    """
    base = derive(known, derivations)
    if counters is None:
        return base, []
    from ..facts.measure.counter_facts import merge

    merged = merge(base, counters.facts, threshold, counters.missing)
    kept = [fact for fact in merged.facts if fact.source.kind != "derived" or _is_inferred(fact)]
    gaps = [gap for name, gap in known.missing.items() if name not in base.facts]
    facts = FactBase().with_facts(kept, [*gaps, *counters.missing])
    remarks = [("counters-disagree", f"{difference}.") for difference in merged.disagreements]
    return derive(facts, derivations), remarks


def _is_inferred(fact: Fact) -> bool:
    return fact.name.startswith("inferred.")


def counters_given(request: Request) -> Fact:
    """Say whether a profiler's report was given."""
    detail = f"--ncu {request.ncu}" if request.ncu is not None else "--ncu not given"
    return Fact("counters.given", request.ncu is not None, "", Source("option", detail))


def without_time(facts: Sequence[Fact], missing: Sequence[Missing]) -> list[Missing]:
    """Drop the gaps that a measurement has filled."""
    known = {fact.name for fact in facts}
    return [gap for gap in missing if gap.name not in known]
