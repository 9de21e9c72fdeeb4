"""Test kernels with their launch, and the command line run in this process."""

from __future__ import annotations

import contextlib
import io
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import kneck
from kneck.engine.cli import main
from kneck.engine.diagnosis import Diagnosis

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "tests" / "kernels"


@dataclass(frozen=True)
class Run:
    """What one command left behind."""

    status: int
    out: str
    err: str


def run(*args: str | Path, stdin: str | None = None) -> Run:
    """Run `kneck ARGS` in this process."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.stdin
    sys.stdin = io.StringIO(stdin or "")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([str(arg) for arg in args])
    finally:
        sys.stdin = before
    return Run(status, out.getvalue(), err.getvalue())


@cache
def manifest() -> dict[str, dict[str, Any]]:
    """Give the test kernels by id."""
    document = yaml.safe_load((KERNELS / "manifest.yaml").read_text(encoding="utf-8"))
    return {kernel["id"]: kernel for kernel in document["kernels"]}


def cubin(id: str, arch: str = "sm_86") -> Path:
    """Give the cubin of a test kernel."""
    return KERNELS / "cubin" / f"{Path(manifest()[id]['file']).stem}.{arch}.cubin"


def options(id: str, **more: Any) -> dict[str, Any]:
    """Give launch, problem, arguments and assumed time of a test kernel as keywords of infer."""
    kernel = manifest()[id]
    launch = kernel["launch"]
    return {
        "kernel": kernel["kernel"],
        "grid": tuple(launch["grid"]),
        "block": tuple(launch["block"]),
        "dynamic_smem": launch["dynamic_smem"],
        "problem": kernel["problem"],
        "args": kernel["args"],
        "time_ms": kernel["assumed_time_ms"],
        **more,
    }


def diagnosed(id: str, arch: str = "sm_86", **more: Any) -> Diagnosis:
    """Diagnose a test kernel as its manifest launches it."""
    return kneck.infer(str(cubin(id, arch)), **options(id, **more))


def value(diagnosis: Diagnosis, name: str) -> Any:
    """Give the value of a fact of a diagnosis, None where it has none."""
    fact = diagnosis.fact(name)
    return None if fact is None else fact.value
