"""Print what the analysis of a kernel costs against the bare disassembly of it.

    python tests/benchmarks/bench_analysis.py [CUBIN ...]

Both are processor time of the best of several runs. The analysis is everything behind the text:
control flow, loops, the K tile, dependences; reading the text stands beside it.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from kneck.facts.control_flow import control_flow
from kneck.facts.dep_table import TableTiming
from kneck.facts.dependences import dependences
from kneck.facts.loop_linear import Known
from kneck.facts.loop_ranges import Ranges
from kneck.facts.loop_roles import Roles
from kneck.facts.loop_values import Values
from kneck.facts.loops import find_loops
from kneck.facts.tile import tile_loop
from kneck.parsers.listing import Function
from kneck.parsers.sass import parse_sass
from kneck.parsers.tools import find_tool
from kneck.rules.hardware import load_instructions
from kneck.rules.hardware_files import shipped_folder
from kneck.rules.operands import load_operand_rules

ROUNDS = 5
CUBINS = Path(__file__).resolve().parents[1] / "kernels" / "cubin"
LARGEST = ("unrolled_far.sm_86.cubin", "sgemm_long_k.sm_86.cubin", "flash_attention.sm_86.cubin")


def best(work: Callable[[], float]) -> float:
    """Give the smallest of several measurements, in seconds."""
    return min(work() for _ in range(ROUNDS))


def disassembly(cubin: Path) -> float:
    """Measure the processor time of `nvdisasm -c -hex`."""
    command = [str(find_tool("nvdisasm").path), "-c", "-hex", str(cubin)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(cubins: list[Path]) -> None:
    """Print one line for each cubin."""
    table = load_instructions([shipped_folder()])
    operands = load_operand_rules([shipped_folder()])

    def analysis(function: Function) -> float:
        start = time.process_time()
        values = Values(find_loops(control_flow(function)), operands)
        roles = Roles(table, function.arch)
        tile = tile_loop(values.loops, roles, Ranges(values, Known()))
        if tile is not None:
            dependences(values, tile, TableTiming(table, function.arch), roles)
        return time.process_time() - start

    print(
        f"{'cubin':34}{'instructions':>13}{'nvdisasm':>10}{'reading':>10}{'analysis':>10}{'ratio':>7}"
    )
    for cubin in cubins:
        command = [str(find_tool("nvdisasm").path), "-c", "-hex", str(cubin)]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        functions = parse_sass(text).functions

        def reading(text: str = text) -> float:
            start = time.process_time()
            parse_sass(text)
            return time.process_time() - start

        tool, read = best(lambda cubin=cubin: disassembly(cubin)), best(reading)  # type: ignore[misc]
        analysed = sum(best(lambda f=f: analysis(f)) for f in functions)  # type: ignore[misc]
        count = sum(len(function.instructions) for function in functions)
        print(
            f"{cubin.name:34}{count:13}{tool * 1e3:8.0f}ms{read * 1e3:8.0f}ms"
            f"{analysed * 1e3:8.0f}ms{analysed / tool:7.2f}"
        )


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]] or [CUBINS / name for name in LARGEST])
