"""Print what the analysis of each kernel of tests/truth takes beside the disassembly of its cubin.

    python tests/benchmarks/bench_verdicts.py [--without-arguments] [KERNEL ...]

Processor seconds of one run: `nvdisasm -c -hex` of the whole cubin; everything that `kneck infer`
does behind it, with the measured time and no cache. Asked are a median of at most 1 s, and for the
worst at most the 3 s that the emulation's budget leaves room for.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from kneck.engine.knowledge import Setting, load_setting
from kneck.engine.truth.load import TruthSet, load_set
from kneck.engine.truth.verdicts import ask
from kneck.facts.request import Request
from kneck.parsers.tools import find_tool

TRUTH = Path(__file__).resolve().parents[1] / "truth"
MOST_MEDIAN_S, MOST_S = 1.0, 3.0


@cache
def disassembly_s(cubin: Path) -> float:
    """Measure the bare disassembly of a cubin."""
    command = [str(find_tool("nvdisasm").path), "-c", "-hex", str(cubin)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def analysis_s(name: str, truth: TruthSet, setting: Setting, with_arguments: bool) -> float:
    """Measure one answer; nothing but the knowledge base is there beforehand."""
    began = time.process_time()
    ask(truth.kernel(name), truth, setting, with_arguments)
    return time.process_time() - began


def main(names: Sequence[str], with_arguments: bool) -> int:
    """Print one line per kernel and the figures; 1 where one is above what is asked."""
    os.environ["KNECK_CACHE_DIR"] = "off"
    truth, setting = load_set(TRUTH), load_setting(Request(target=""))
    chosen = [e for e in truth.manifest.kernels if not names or e.name.startswith(tuple(names))]
    took, bare = [], []
    print(f"{'kernel':26}{'analysis s':>12}{'nvdisasm s':>12}{'ratio':>8}")
    for entry in chosen:
        bare.append(disassembly_s(truth.cubin(entry)))
        took.append(analysis_s(entry.name, truth, setting, with_arguments))
        print(f"{entry.name:26}{took[-1]:12.3f}{bare[-1]:12.3f}{took[-1] / bare[-1]:8.2f}")
    median, worst = statistics.median(took), max(took)
    slowest = chosen[took.index(worst)].name
    ratio = statistics.median(a / b for a, b in zip(took, bare, strict=True))
    given = "with" if with_arguments else "without"
    print(f"{len(chosen)} kernels {given} arguments, load {os.getloadavg()[0]:.1f}")
    print(f"analysis: median {median:.3f} s, worst {worst:.3f} s ({slowest})")
    print(f"disassembly: median {statistics.median(bare):.3f} s, worst {max(bare):.3f} s")
    print(f"analysis / disassembly: median {ratio:.2f}, in all {sum(took) / sum(bare):.2f}")
    return int(median > MOST_MEDIAN_S or worst > MOST_S)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-arguments", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    sys.exit(main(options.names, not options.without_arguments))
