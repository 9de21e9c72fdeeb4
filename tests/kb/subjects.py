"""Diagnoses of the test kernels with the launch, problem and time of their manifest."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from kneck.engine.knowledge import Setting, load_setting
from kneck.engine.session import Result, diagnose_with
from kneck.facts.request import Request

KERNELS = Path(__file__).resolve().parents[1] / "kernels"
MANIFEST = yaml.safe_load((KERNELS / "manifest.yaml").read_text(encoding="utf-8"))
BY_ID: dict[str, dict[str, Any]] = {kernel["id"]: kernel for kernel in MANIFEST["kernels"]}
LOOSENED = yaml.safe_load((KERNELS / "loosened.yaml").read_text(encoding="utf-8"))["loosened"]
DEVICE = {
    "sm_75": "t4",
    "sm_80": "a100",
    "sm_86": "rtx-3070-ti",
    "sm_90": "h200",
    "sm_120": "rtx-5090",
}


def cubin(kernel: str, arch: str) -> Path:
    """Give the cubin of a kernel of the manifest."""
    return KERNELS / "cubin" / f"{Path(BY_ID[kernel]['file']).stem}.{arch}.cubin"


@cache
def diagnosis_of(
    kernel: str, arch: str = "sm_86", time_ms: float | None = None, **options: Any
) -> Result:
    """Diagnose a kernel of the manifest; `time_ms` and options take the place of its own."""
    entry = BY_ID[kernel]
    launch = entry["launch"]
    given: dict[str, Any] = {
        "target": str(cubin(kernel, arch)),
        "kernel": entry["kernel"],
        "gpu": DEVICE[arch],
        "problem": entry["problem"],
        "grid": ",".join(map(str, launch["grid"])),
        "block": ",".join(map(str, launch["block"])),
        "dynamic_smem": launch["dynamic_smem"],
        "time_ms": entry["assumed_time_ms"] if time_ms is None else time_ms,
        "args": entry["args"],
    }
    request = Request(**{**given, **options})
    return diagnose_with(request, setting(request.peaks))


@cache
def setting(peaks: str | None) -> Setting:
    """Load the knowledge base once for each basis of peaks."""
    return load_setting(Request(target="", peaks=peaks))


@cache
def loosened(kernel: str) -> Result:
    """Diagnose a kernel whose stalls were lengthened."""
    entry = next(each for each in LOOSENED if each["id"] == kernel)
    target = str(KERNELS / entry["cubin"])
    return diagnosis_of(entry["base"], entry["arch"], entry["assumed_time_ms"], target=target)


def state(result: Result, rule: str) -> str:
    """Tell what became of a rule: fired, silent or undecided."""
    return result.inference.outcomes[rule].state


def why_not(result: Result, rule: str) -> str:
    """Name the conditions of a rule that do not hold, with the values of their facts."""
    inference = result.inference
    outcome, known = inference.outcomes[rule], inference.knowledge.by_id[rule]
    values = zip(known.conditions, outcome.when + outcome.unless, strict=True)
    return "; ".join(
        f"{condition.text} is {holds} ("
        + ", ".join(f"{n} = {inference.facts.value(n)}" for n in condition.expression.names)
        + ")"
        for condition, holds in values
        if holds is not (condition in known.when)
    )
