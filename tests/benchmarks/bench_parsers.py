"""Parsing against disassembling: one run, one cubin, one core each, printed as a ratio.

    python tests/benchmarks/bench_parsers.py                  builds a cubin of 100,000 instructions
    python tests/benchmarks/bench_parsers.py --cubin FILE     takes one that is there

The bound is 1.0 for parsing and facts together; this prints parsing alone. Building takes about a
minute and needs nvcc.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from kneck.parsers import operands
from kneck.parsers.sass import parse_sass
from kneck.parsers.tools import find_tool

KERNELS, STATEMENTS = 60, 1000  # about 1,900 instructions a kernel
ROUNDS = 3


def kernel(number: int, rng: random.Random) -> str:
    """Write one unrolled kernel: arithmetic, loads, stores, comparisons, a few branches."""
    lines = [
        f'extern "C" __global__ void k{number}(const float* __restrict__ a, float* __restrict__ o,',
        "    int n, const int* __restrict__ q) {",
        "  float r[64]; int k[16]; int t = threadIdx.x + blockIdx.x * blockDim.x;",
        *(f"  r[{i}] = a[t + {i * 32}];" for i in range(64)),
        *(f"  k[{i}] = q[t * {i + 1}];" for i in range(16)),
    ]
    for at in range(STATEMENTS):
        x, y, z = (rng.randrange(64) for _ in range(3))
        u, v = rng.randrange(16), rng.randrange(16)
        lines.append(
            rng.choices(
                [
                    f"  r[{x}] = fmaf(r[{y}], r[{z}], r[{x}]);",
                    f"  r[{x}] += a[t * {rng.randrange(1, 40)} + {rng.randrange(4000)}];",
                    f"  k[{u}] = (k[{u}] ^ k[{v}]) + {rng.randrange(100_000)};",
                    f"  r[{x}] *= k[{u}] > {rng.randrange(1000)} ? r[{y}] : {rng.random():.6f}f;",
                    f"  o[t + {rng.randrange(100_000)}] = r[{x}];",
                ],
                [60, 10, 15, 10, 5],
            )[0]
        )
        if at % 200 == 199:
            lines.append(f"  if (k[{u}] > n) {{ r[{x}] = __expf(r[{y}]); o[n] = 1; }}")
            lines.append("  __syncthreads();")
    lines.append("  for (int i = 0; i < 64; i++) o[t * 64 + i] = r[i] + k[i & 15];")
    return "\n".join([*lines, "}", ""])


def build(folder: Path, arch: str) -> Path:
    """Compile the kernels into one cubin."""
    rng = random.Random(1)
    source, cubin = folder / "unrolled.cu", folder / "unrolled.cubin"
    source.write_text("".join(kernel(number, rng) for number in range(KERNELS)))
    subprocess.run(["nvcc", "-cubin", f"-arch={arch}", "-o", str(cubin), str(source)], check=True)
    return cubin


def best_seconds(work: Callable[[], object]) -> float:
    """Give the shortest of several runs: the machine may be shared."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def compare(cubin: Path) -> None:
    """Disassemble and parse a cubin, and print both times and their ratio."""
    command = [find_tool("nvdisasm").path, "-c", "-hex", str(cubin)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    count = sum(len(each.instructions) for each in parse_sass(text).functions)

    def disassemble() -> None:
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)

    def parse_afresh() -> None:
        operands.forget()
        parse_sass(text)

    disassembling = best_seconds(disassemble)
    parsing = best_seconds(parse_afresh)
    print(f"{cubin.name}: {count:,} instructions, {len(text):,} characters")
    print(f"nvdisasm -c -hex   {disassembling:6.2f} s")
    print(f"parse_sass         {parsing:6.2f} s   {count / parsing:,.0f} instructions/s")
    print(f"ratio              {parsing / disassembling:6.2f}")


def main() -> None:
    """Build or take a cubin and compare."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--cubin", type=Path, help="take this cubin instead of building one")
    options.add_argument("--arch", default="sm_86", help="architecture to build for")
    chosen = options.parse_args()
    if chosen.cubin is not None:
        compare(chosen.cubin)
        return
    with tempfile.TemporaryDirectory() as folder:
        print(f"building {KERNELS} kernels for {chosen.arch}", file=sys.stderr)
        compare(build(Path(folder), chosen.arch))


if __name__ == "__main__":
    main()
