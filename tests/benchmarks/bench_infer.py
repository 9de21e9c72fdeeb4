"""What `kneck infer` costs beside its references, measured in one run.

    python tests/benchmarks/bench_infer.py [CUBIN] [--repeat N]

Prints the median wall time of each command and two ratios:

- cold: an empty cache, as after an installation, against a bare `cuobjdump -sass` of the same
  cubin (wanted: at most 1.8);
- cached: what is above the bare import of the packages that the run uses, against the same
  `cuobjdump -sass` (wanted: at most 0.5).

Python's own byte code is on disk in both cases, as pip leaves it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kneck.parsers.tools import find_tool

DEFAULT = Path(__file__).parent.parent / "kernels" / "cubin" / "hgemm_over_cliff.sm_86.cubin"
PACKAGES = (
    "click",
    "durable_rules_engine",
    "lark",
    "networkx",
    "numpy",
    "pydantic",
    "tabulate",
    "yaml",
)
USED = """
import sys
from kneck.engine.cli import main
main(sys.argv[1:])
print(" ".join(name for name in {packages} if name in sys.modules), file=sys.stderr)
"""


def main() -> None:
    """Time every command in turn, round by round, so that a slow moment hits all of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("cubin", nargs="?", default=str(DEFAULT))
    parser.add_argument("--repeat", type=int, default=9)
    arguments = parser.parse_args()
    infer = [
        sys.executable, "-m", "kneck", "infer", arguments.cubin, "--grid", "64,64",
        "--block", "128", "--dynamic-smem", "61440", "--time-ms", "8.6",
        "--problem", "gemm:M=4096,N=4096,K=3072,dtype=f16,acc=f32,out=f32",
    ]  # fmt: skip
    disassemble = [find_tool("cuobjdump").path, "-sass", arguments.cubin]
    folder = Path(tempfile.mkdtemp())
    try:
        warm, empty = folder / "warm", folder / "empty"
        timed(infer, warm)
        used = packages(infer[3:], warm)
        bare = [sys.executable, "-c", f"import {', '.join(used)}"]
        times: dict[str, list[float]] = {}
        for _ in range(arguments.repeat):
            shutil.rmtree(empty, ignore_errors=True)
            times.setdefault("cuobjdump -sass", []).append(timed(disassemble, None))
            times.setdefault("kneck infer, cold", []).append(timed(infer, empty))
            times.setdefault("kneck infer, all cached", []).append(timed(infer, warm))
            times.setdefault("bare import of its packages", []).append(timed(bare, None))
    finally:
        shutil.rmtree(folder)
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, value in medians.items():
        print(f"{name:<32}{value * 1000:8.0f} ms")
    reference = medians["cuobjdump -sass"]
    cached = medians["kneck infer, all cached"] - medians["bare import of its packages"]
    print(f"the packages: {', '.join(used)}")
    print(f"cold / cuobjdump                {medians['kneck infer, cold'] / reference:8.2f}")
    print(f"(cached - import) / cuobjdump   {cached / reference:8.2f}")


def packages(arguments: list[str], cache: Path) -> list[str]:
    """Name the packages that a cached run imports."""
    command = [sys.executable, "-c", USED.format(packages=PACKAGES), *arguments]
    environment = {**os.environ, "KNECK_CACHE_DIR": str(cache)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stderr.split()


def timed(command: list[str], cache: Path | None) -> float:
    """Run a command with this cache folder and give its wall time in seconds."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    if cache is not None:
        environment["KNECK_CACHE_DIR"] = str(cache)
    start = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
