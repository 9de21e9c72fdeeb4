"""Print what `kneck infer` costs behind the text of a kernel, against the bare disassembly of it.

    python tests/benchmarks/bench_analysis.py [ROUNDS]

The analysis is everything that infer does after parsing: control flow, loops, the K tile,
dependences, patterns, the emulated launch and what its accesses cost, derived facts, inference,
effects of each strategy, the plan, the assembled report. Both are processor time, the median of
several rounds taken in turn, so that a busy machine slows both; the smallest of each stands beside
it. Caches are off, modules and the knowledge base are loaded, garbage is collected as seldom as on
the command line. The large kernel stands there twice: of its code alone, and with its launch.
"""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

os.environ["KNECK_CACHE_DIR"] = "off"

import yaml

from kneck.engine.assemble import assemble
from kneck.engine.cli import FEW_COLLECTIONS
from kneck.engine.extraction import extract
from kneck.engine.infer import infer
from kneck.engine.knowledge import Setting, load_setting
from kneck.engine.session import _subject
from kneck.engine.target import Opened, opened
from kneck.facts.request import Request
from kneck.parsers.artifact import Artifact
from kneck.parsers.record import dataclass
from kneck.parsers.sass import parse_sass
from kneck.parsers.tools import find_tool

ROUNDS = 9
HERE = Path(__file__).resolve().parent
KERNELS = HERE.parent / "kernels"
FROM_THE_TESTS = ("unrolled_far", "sgemm_long_k", "flash_attention", "igemm", "saxpy")
UNROLLED = Request(  # 10,000 instructions
    target=str(HERE / "kernels" / "sgemm_unrolled.sm_86.cubin"),
    grid="64,64",
    block="128",
    problem="gemm:M=4096,N=4096,K=4096,dtype=f32,acc=f32,out=f32",
    args="f32[M*N], f32[M*K], f32[K*N], i32 M, i32 N, i32 K",
    time_ms=12.0,
)


@dataclass(frozen=True)
class Parsed(Opened):
    """A target whose text is read already."""

    artifact: Artifact | None = None

    def start(self) -> Any:
        return self

    def result(self) -> Artifact:
        assert self.artifact is not None
        return self.artifact


def requests() -> Iterator[Request]:
    """Give the large kernel, and some of the test kernels as their manifest launches them."""
    yield replace(UNROLLED, grid=None, block=None, args=None, time_ms=None)
    yield UNROLLED
    document = yaml.safe_load((KERNELS / "manifest.yaml").read_text(encoding="utf-8"))
    entries = {kernel["id"]: kernel for kernel in document["kernels"]}
    for id in FROM_THE_TESTS:
        entry = entries[id]
        yield Request(
            target=str(KERNELS / "cubin" / f"{Path(entry['file']).stem}.sm_86.cubin"),
            kernel=entry["kernel"],
            grid=",".join(map(str, entry["launch"]["grid"])),
            block=",".join(map(str, entry["launch"]["block"])),
            dynamic_smem=entry["launch"]["dynamic_smem"],
            problem=entry["problem"],
            args=entry["args"],
            time_ms=entry["assumed_time_ms"],
        )


def seconds(work: Callable[[], object]) -> float:
    """Measure the processor time of this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def seconds_of_child(command: list[str]) -> float:
    """Measure the processor time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def parsed(request: Request, setting: Setting) -> Parsed:
    """Read the text of a target, so that only the rest is left to do."""
    with opened(request, setting) as target:
        artifact = target.start().result()
        known = {name: getattr(target, name) for name in Opened.__dataclass_fields__}
        return Parsed(**known, artifact=artifact)


def analysis(target: Parsed, setting: Setting) -> None:
    """Do all that infer does behind the text."""
    extraction = extract(target, setting)
    inference = infer(extraction.facts, setting.knowledge)
    assemble(_subject(extraction, setting), inference, extraction.derivations).to_text()


def main(rounds: int) -> None:
    """Print one line for each kernel."""
    gc.set_threshold(FEW_COLLECTIONS)
    setting = load_setting(Request(target=""))
    columns = ("instructions", "nvdisasm", "reading", "analysis", "ratio", "of the least")
    print(f"{'kernel':28}" + "".join(f"{name:>14}" for name in columns))
    for request in requests():
        target = parsed(request, setting)
        command = [str(find_tool("nvdisasm").path), "-c", "-hex", request.target]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        count = sum(len(f.instructions) for f in parse_sass(text).functions)
        analysis(target, setting)  # what is only paid once: imports, tables
        samples = [
            (
                seconds_of_child(command),
                seconds(lambda text=text: parse_sass(text)),  # type: ignore[misc]
                seconds(lambda target=target: analysis(target, setting)),  # type: ignore[misc]
            )
            for _ in range(rounds)
        ]
        tool, reading, rest = (median(column) for column in zip(*samples, strict=True))
        least = min(s[2] for s in samples) / min(s[0] for s in samples)
        print(
            f"{Path(request.target).name.removesuffix('.cubin'):28}{count:14,}"
            f"{1e3 * tool:11.0f} ms{1e3 * reading:11.0f} ms{1e3 * rest:11.0f} ms"
            f"{rest / tool:14.2f}{least:14.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
