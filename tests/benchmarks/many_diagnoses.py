"""Diagnose one kernel many times in one process and print how much memory that takes.

    python tests/benchmarks/many_diagnoses.py [1000]

The result is a list of JSON objects: how many diagnoses were made, and the resident set in KiB.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path

import kneck

CUBIN = Path(__file__).resolve().parents[1] / "kernels" / "cubin" / "saxpy.sm_86.cubin"
STEP = 50


def resident_kib() -> int:
    """Read the resident set of this process (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4


def diagnose() -> None:
    """Make one diagnosis from start to end, with a verdict."""
    kneck.infer(
        str(CUBIN),
        grid=65536,
        block=256,
        problem="elementwise:n=16777216,reads=2,writes=1,flops=2,dtype=f32",
        time_ms=0.36,
    ).to_json()


def main(count: int) -> None:
    """Print the memory after every few diagnoses."""
    rows = []
    for made in range(1, count + 1):
        diagnose()
        if made % STEP == 0:
            gc.collect()
            rows.append({"diagnoses": made, "kib": resident_kib()})
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
