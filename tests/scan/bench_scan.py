"""What a scan costs against the bare disassembly of the same files, and its peak memory.

    python -m tests.scan.bench_scan FILE... [--jobs 2]

Prints wall and processor time of `kneck scan`, of `cuobjdump -sass` and of `nvdisasm -c -hex` on
every cubin, their ratios (wanted on two cores: at most 1.3 of the wall time), the size of the
text, and the peak of the memory of the scan with all its processes (wanted: below 600 MB), where
pages that several share count once. On a machine that others use, compare processor times.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from kneck.parsers.tools import find_tool

SAMPLE_S = 0.25


@dataclass
class Run:
    """One command: its times, what it wrote, and the most memory of its whole tree.

    `python_mb` is the most that one process of the command itself held, no tool that it started.
    """

    wall_s: float
    cpu_s: float
    output_bytes: int
    peak_mb: float
    python_mb: float = 0.0


def run(command: list[str], cwd: str | None = None) -> Run:
    """Run a command and watch it."""
    before = os.times()
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    peak = [0.0, 0.0]
    done = threading.Event()
    watcher = threading.Thread(target=watch, args=(process.pid, peak, done))
    watcher.start()
    size = 0
    assert process.stdout is not None
    while piece := process.stdout.read(1 << 20):
        size += len(piece)
    process.wait()
    wall = time.perf_counter() - start
    done.set()
    watcher.join()
    after = os.times()
    cpu = after.children_user + after.children_system
    return Run(wall, cpu - before.children_user - before.children_system, size, *peak)


def watch(pid: int, peak: list[float], done: threading.Event) -> None:
    """Sample the memory of a process and its descendants (Linux)."""
    while not done.wait(SAMPLE_S):
        held = {each: proportional_mb(each) for each in tree(pid)}
        own = [mb for each, mb in held.items() if program(each) == program(pid)]
        peak[0] = max(peak[0], sum(held.values()))
        peak[1] = max(peak[1], *own, 0.0)


def program(pid: int) -> str:
    """Name the file that a process runs."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def tree(pid: int) -> list[int]:
    """Name a process and everything below it."""
    found, waiting = [], [pid]
    while waiting:
        here = waiting.pop()
        found.append(here)
        try:
            for task in os.scandir(f"/proc/{here}/task"):
                waiting += map(int, Path(task.path, "children").read_text().split())
        except OSError:
            continue
    return found


def proportional_mb(pid: int) -> float:
    """Give the memory of a process, shared pages divided among those who share them."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1024


def main() -> None:
    """Measure each in turn."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--no-nvdisasm", action="store_true")
    parser.add_argument("--no-cuobjdump", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "scan.jsonl")
        files = [os.path.abspath(file) for file in arguments.files]
        scan = run(
            [sys.executable, "-m", "kneck", "scan", *files, "--jobs", arguments.jobs, "-o", out]
        )
        report("kneck scan", scan)
        print(
            f"{'':24}peak memory of all its processes {scan.peak_mb:.0f} MB, "
            f"of the largest Python process {scan.python_mb:.0f} MB"
        )
        if not arguments.no_cuobjdump:
            bare = total([run([find_tool("cuobjdump").path, "-sass", file]) for file in files])
            report("cuobjdump -sass", bare)
            ratios(scan, bare)
        if not arguments.no_nvdisasm:
            bare = total([each for file in files for each in nvdisasm(file, folder)])
            report("nvdisasm -c -hex", bare)
            ratios(scan, bare)


def nvdisasm(file: str, folder: str) -> list[Run]:
    """Disassemble every cubin of a file."""
    with tempfile.TemporaryDirectory(dir=folder) as inner:
        command = [find_tool("cuobjdump").path, "-xelf", "all", file]
        subprocess.run(command, cwd=inner, stdout=subprocess.DEVNULL)
        found = [str(path) for path in Path(inner).glob("*.cubin")] or [file]
        return [run([find_tool("nvdisasm").path, "-c", "-hex", cubin]) for cubin in found]


def total(runs: list[Run]) -> Run:
    """Add runs up; the largest peak counts."""
    return Run(
        sum(each.wall_s for each in runs),
        sum(each.cpu_s for each in runs),
        sum(each.output_bytes for each in runs),
        max(each.peak_mb for each in runs),
        max(each.python_mb for each in runs),
    )


def report(name: str, found: Run) -> None:
    """Print one line."""
    text = f", {found.output_bytes / 1e6:,.0f} MB of text" if found.output_bytes else ""
    print(f"{name:24}{found.wall_s:8.1f} s wall {found.cpu_s:8.1f} s processor{text}")


def ratios(scan: Run, bare: Run) -> None:
    """Print the scan over the bare disassembly."""
    print(f"{'':24}wall {scan.wall_s / bare.wall_s:.2f}, processor {scan.cpu_s / bare.cpu_s:.2f}")


if __name__ == "__main__":
    main()
