"""Fit what the emulation costs: kernels of tests/truth, as compiled and with altered branches.

    python tests/benchmarks/fit_costs.py [KERNEL ...]

The figures of kb/method.yaml (emulation_*_cost) are these, in threads of a vector operation.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.facts.emulator.test_budget import SETTINGS, altered, kernel
from tests.truth.analysis import setting, truth

from kneck.facts.accesses import collect
from kneck.facts.emulator.emulate import Emulation, emulate
from kneck.facts.footprint import footprints
from kneck.facts.l1_cache import simulate
from kneck.facts.sampled_lines import sampled_lines

LIMITS = replace(SETTINGS.limits, budget=SETTINGS.limits.budget / 4)
LEAST_SECONDS = 0.02  # shorter ones say little; errors count relative to it
CACHE_LINES = 1500


def seconds(work: Any) -> tuple[float, Any]:
    """Give the processor time of a piece of work, and its result."""
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def fitted(rows: Sequence[Sequence[float]], took: Sequence[float]) -> list[float]:
    """Solve for the seconds per column, errors relative to what a row took."""
    weights = 1 / np.maximum(np.array(took), LEAST_SECONDS)
    table = np.array(rows, float) * weights[:, None]
    return [float(v) for v in np.linalg.lstsq(table, np.array(took) * weights, rcond=None)[0]]


def analysed(emulation: Emulation) -> None:
    """Work out the addresses, as the analysis of a launch does."""
    collect(emulation)
    sampled = sampled_lines(emulation, SETTINGS.most_lines)
    footprints(emulation, sampled, SETTINGS.most_arrays, SETTINGS.evenness, lambda address: 1.0)
    simulate(emulation, sampled, CACHE_LINES)


def main(names: Sequence[str]) -> None:
    """Print microseconds per block, step and access, nanoseconds per thread and lane."""
    running, addresses = [], []
    ran, looked = [], []
    rules = setting().hardware.operands
    for name in names:
        function, launch = kernel(name)
        for variant in (function, altered(function, 0), altered(function, 1)):
            took, found = seconds(lambda v=variant, at=launch: emulate(v, at, rules, LIMITS))
            blocks = [found.program.blocks[index] for index in found.log.blocks]
            steps, size = sum(len(block.steps) for block in blocks), found.launch.size
            running.append([len(blocks), steps, steps * size])
            ran.append(took)
            touches = len(found.log.touches)
            addresses.append([touches, touches * size])
            looked.append(seconds(lambda one=found: analysed(one))[0])
    block, step, thread = fitted(running, ran)
    access, lane = fitted(addresses, looked)
    print(f"block {block * 1e6:.1f} us, step {step * 1e6:.2f} us + {thread * 1e9:.2f} ns a thread")
    print(f"access {access * 1e6:.1f} us + {lane * 1e9:.1f} ns a lane")
    print(f"longest: emulation {max(ran):.2f} s, addresses {max(looked):.2f} s")


if __name__ == "__main__":
    main(sys.argv[1:] or [entry.name for entry in truth().manifest.kernels[::3]])
