"""How well the analysis agrees with what Nsight Compute measured, from the committed data alone.

    python -m tests.truth.accuracy [--without-arguments] [NAME ...]

The judge is Nsight Compute: its compute and memory throughput, its counts per instruction. A count
that is not known is wrong. Class, resource and confidence are those of `kneck.infer`.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import kneck

from .analysis import DEVICE, HERE, Bench, Result
from .jobs import half, manifest

SUFFIX = ".avg.pct_of_peak_sustained_elapsed"
SATURATED = 0.6
CLASSES = ("compute", "memory", "latency", "unknown")
HALVES = ("calibration", "test")
# What Nsight Compute measures of the units that a bound can name.
COUNTERS = {
    "issue": ("sm__issue_active", "sm__inst_issued"),
    "fma": ("sm__pipe_fma_cycles_active", "sm__pipe_fmaheavy_cycles_active"),
    "alu": ("sm__pipe_alu_cycles_active",),
    "fp64": ("sm__pipe_fp64_cycles_active",),
    "xu": ("sm__inst_executed_pipe_xu",),
    "adu": ("sm__inst_executed_pipe_adu",),
    "uniform": ("sm__inst_executed_pipe_uniform",),
    "branch": ("sm__inst_executed_pipe_cbu_pred_on_any",),
    "tensor": ("sm__pipe_tensor_cycles_active",),
    "lsu": ("sm__inst_executed_pipe_lsu",),
    "l1": ("l1tex__data_pipe_lsu_wavefronts", "l1tex__lsuin_requests"),
    "l2": ("lts__t_tag_requests", "lts__t_sectors", "lts__lts2xbar_cycles_active",
           "lts__xbar2lts_cycles_active"),
    "dram": ("dram__cycles_active", "fbpa__dram_sectors"),
}  # fmt: skip
SIDE = {"l1": "memory", "l2": "memory", "dram": "memory"}
UNITS = {"fma_heavy": "fma", "shared": "l1", "l1_requests": "l1", "l2_tags": "l2",
         "l2_read": "l2", "l2_write": "l2"}  # fmt: skip
NEAR = 3.0  # percentage points within which two units are equally busy


@dataclass(frozen=True)
class Row:
    """One kernel: what was measured, what the analysis says. Ratios are analysis / measured."""

    name: str
    half: str
    measured: str
    found: str
    roofline: str
    confidence: str
    resource: str | None
    busiest: tuple[str, ...]
    executed: float | None
    wavefronts: float | None  # None where nothing was measured
    sectors: float | None
    depends_on_data: bool
    basis: str
    seconds: float


def measured_class(counters: Mapping[str, float]) -> str:
    """Judge the throughputs that Nsight Compute gives in percent."""
    compute = counters.get(f"sm__throughput{SUFFIX}", 0.0)
    memory = counters.get(f"gpu__compute_memory_throughput{SUFFIX}", 0.0)
    return class_of(compute / 100, memory / 100)


def class_of(compute: float, memory: float) -> str:
    """Judge by Nsight Compute's rule: the larger share from 60 %, else latency."""
    if max(compute, memory) < SATURATED:
        return "latency"
    return "compute" if compute > memory else "memory"


def busiest_units(counters: Mapping[str, float], side: str) -> tuple[str, ...]:
    """Name the units of a side that are as busy as the busiest one, give or take NEAR."""
    shares = {
        unit: max(counters.get(name + SUFFIX, 0.0) for name in names)
        for unit, names in COUNTERS.items()
        if SIDE.get(unit, "compute") == side
    }
    most = max(shares.values())
    return tuple(unit for unit, share in shares.items() if share >= most - NEAR)


@cache
def measured() -> tuple[dict[str, Any], dict[str, Any]]:
    """Read figures per kernel, and per instruction."""
    whole = json.loads((HERE / "measured" / "h200.json").read_text())["set"]
    packed = (HERE / "measured" / "h200-instructions.json.xz").read_bytes()
    return whole, json.loads(lzma.decompress(packed))


def diagnose(entry: Mapping[str, Any], with_arguments: bool) -> kneck.Diagnosis:
    """Ask kneck as a user would, with the measured time."""
    name, dims = str(entry["name"]), entry.get("dims", {})
    given = dict(
        gpu=DEVICE,
        kernel=name,
        grid=tuple(entry["grid"]),
        block=tuple(entry["block"]),
        problem=entry["problem"],
        time_ms=measured()[0][name]["time_ms"],
        dynamic_smem=entry.get("dynamic_smem"),
    )
    if with_arguments:
        # the dimensions of --args are those of the problem; these are of the arguments alone
        given["args"] = re.sub(
            r"\b[A-Za-z_]\w*\b", lambda word: str(dims.get(word[0], word[0])), entry["args"]
        )
    return kneck.infer(str(HERE / "cubin" / f"{name.split('_')[0]}.cubin"), **given)


def compare(name: str, result: Result, diagnosis: kneck.Diagnosis) -> Row:
    """Hold one result against the measurement."""
    whole, by_instruction = measured()
    counters, rows = whole[name]["counters"], by_instruction[name]
    truth = measured_class(counters)
    work = result.work.work
    accesses = work.accesses
    shared = sum(a.wavefronts.value for a in accesses if a.space == "shared")
    sectors = sum(a.sectors.value for a in accesses if a.space == "global")
    resource = diagnosis.bound_detail.resource
    return Row(
        name=name,
        half=half(name),
        measured=truth,
        found=diagnosis.bound,
        roofline=class_of(result.roofline.compute, result.roofline.memory),
        confidence=diagnosis.bound_detail.confidence,
        resource=UNITS.get(resource, resource) if resource else None,
        busiest=busiest_units(counters, truth) if truth != "latency" else (),
        executed=_ratio(work.executed.total.value, counters["smsp__inst_executed.sum"])
        if result.work.scale_known
        else None,
        wavefronts=_ratio(shared, _of_shared(rows, accesses)),
        sectors=_ratio(sectors, sum(rows.get("global_sectors", {}).values())),
        depends_on_data=any(a.depends_on_data for a in accesses),
        basis=work.executed.basis,
        seconds=result.seconds,
    )


def _of_shared(rows: Mapping[str, Mapping[str, float]], accesses: Iterable[Any]) -> float:
    """Add up the wavefronts of shared loads and stores; LDGSTS is counted there too, here not."""
    found = rows.get("shared_wavefronts", {})
    return sum(found.get(f"{a.address:x}", 0) for a in accesses if a.space == "shared")


def _ratio(value: float, truth: float) -> float | None:
    return value / truth if truth else None


def rows(with_arguments: bool, names: Sequence[str] = (), bench: Bench | None = None) -> list[Row]:
    """Analyse the set, or some kernels of it."""
    bench = bench or Bench()
    whole, _ = measured()
    found = []
    for entry in manifest()["kernels"]:
        name = entry["name"]
        if names and not any(name.startswith(prefix) for prefix in names):
            continue
        case = bench.case(entry, with_arguments)
        result = bench.analyse(case, whole[name]["time_ms"])
        found.append(compare(name, result, diagnose(entry, with_arguments)))
    return found


@dataclass(frozen=True)
class Figures:
    """What is asked of the analysis, over some rows. Shares are of 1; None where nothing counts."""

    kernels: int
    equal: float | None
    roofline: float | None
    resource: float | None
    executed: float | None
    wavefronts: float | None
    sectors: float | None
    confusion: Mapping[tuple[str, str], int]
    roofline_confusion: Mapping[tuple[str, str], int]
    median_seconds: float
    longest_seconds: float


def figures(found: Sequence[Row]) -> Figures:
    """Summarise rows."""
    bound = [row for row in found if row.busiest]
    fixed = [row for row in found if not row.depends_on_data]
    return Figures(
        kernels=len(found),
        equal=_share(row.found == row.measured for row in found),
        roofline=_share(row.roofline == row.measured for row in found),
        resource=_share(row.resource in row.busiest for row in bound),
        executed=_share(_within(row.executed, 0.05) for row in found),
        wavefronts=_share(_within(r.wavefronts, 0.1) for r in fixed if r.wavefronts is not None),
        sectors=_share(_within(r.sectors, 0.1) for r in fixed if r.sectors is not None),
        confusion=Counter((row.measured, row.found) for row in found),
        roofline_confusion=Counter((row.measured, row.roofline) for row in found),
        median_seconds=statistics.median(row.seconds for row in found),
        longest_seconds=max(row.seconds for row in found),
    )


def _share(hits: Iterable[bool]) -> float | None:
    table = list(hits)
    return sum(table) / len(table) if table else None


def _within(ratio: float | None, distance: float) -> bool:
    return ratio is not None and abs(ratio - 1) <= distance


def report(found: Sequence[Row]) -> str:
    """Print figures and confusion matrices of both halves."""
    lines = []
    for part in (*HALVES, "all"):
        chosen = [row for row in found if part in (row.half, "all")]
        if not chosen:
            continue
        f = figures(chosen)
        lines.append(f"{part}: {f.kernels} kernels")
        for text, share in (
            ("class equal to Nsight Compute's", f.equal),
            ("roofline only", f.roofline),
            ("resource named, of compute and memory", f.resource),
            ("executed instructions within 5 %", f.executed),
            ("shared wavefronts within 10 %", f.wavefronts),
            ("global sectors within 10 %", f.sectors),
        ):
            shown = "-" if share is None else f"{100 * share:.1f} %"
            lines.append(f"  {text:<40} {shown:>8}")
        lines += ["  " + line for line in _matrix(f.confusion, f.roofline_confusion)]
    whole = figures(found)
    lines.append(
        f"analysis: median {whole.median_seconds:.2f} s, longest {whole.longest_seconds:.2f} s"
    )
    return "\n".join(lines)


def _matrix(
    found: Mapping[tuple[str, str], int], roofline: Mapping[tuple[str, str], int]
) -> list[str]:
    names = [n for n in CLASSES if any(n in key for key in (*found, *roofline))]
    head = "".join(f"{name:>9}" for name in names)
    lines = [f"{'measured':<10}{head}   | roofline{head}"]
    for truth in (name for name in names if name != "unknown"):
        counts = ("".join(f"{t.get((truth, n), 0):>9}" for n in names) for t in (found, roofline))
        lines.append(f"{truth:<10}" + "   |         ".join(counts))
    return lines


def main() -> None:
    """Print the figures, and the kernels that are off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-arguments", action="store_true")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    found = rows(not given.without_arguments, given.names)
    for row in found:
        if row.found != row.measured or not _within(row.executed, 0.05) or given.names:
            print(row)
    print(report(found))


if __name__ == "__main__":
    main()
