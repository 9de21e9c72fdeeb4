"""Scan public wheels that carry CUDA code, and print the table of docs/scan.md.

    python -m tests.scan.public_wheels FOLDER [PACKAGE ...] [--arch sm_XX] [--limit-s 900]

Wheels are downloaded with pip into FOLDER, which is outside of the repository, and kept there.
Closed mathematics libraries come in packages of their own (nvidia-*) and are not downloaded: wheels
are taken without their dependences, and without the libraries of NVIDIA that some bring along. With
--arch both kneck and cuobjdump read that code alone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

from kneck.engine.scan.walk import Found, files_in
from kneck.parsers.tools import find_tool

from .bench_scan import Run, run, total

PACKAGES = (
    "bitsandbytes", "ctranslate2", "torchvision", "xformers", "cupy-cuda12x", "xgboost==2.1.4",
    "faiss-gpu-cu12", "sgl-kernel",
)  # fmt: skip
CLOSED = re.compile(r"lib(cu|nv|npp)[^/]*$")  # libraries of NVIDIA that some wheels bring along
COUNTED = ("cubins", "kernels", "instructions", "unknown", "operands", "unread")
HEADER = (
    "| wheel | files | cubins | kernels | instructions | unknown opcodes, operands | not read "
    "| scan, 2 processes | cuobjdump -sass | wall ratio | processor ratio | peak memory "
    "| largest Python process |\n" + "|---" * 13 + "|"
)


def wheel(package: str, folder: Path) -> Path:
    """Download a wheel once."""
    target = folder / "wheels"
    name = package.partition("=")[0].replace("-", "_")
    if not list(target.glob(f"{name}-*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", package]
        subprocess.run([*command, "-d", str(target)], check=True, timeout=900)
    return next(target.glob(f"{name}-*.whl"))


def unpacked(path: Path, folder: Path) -> Path:
    """Unpack the binaries of a wheel once."""
    target = folder / "unpacked" / path.stem
    if not target.exists():
        with zipfile.ZipFile(path) as file:
            names = [n for n in file.namelist() if ".so" in n or n.endswith((".cubin", ".fatbin"))]
            file.extractall(target, [name for name in names if not CLOSED.search(name)])
    return target


def row(package: str, folder: Path, arch: str | None, limit_s: float) -> str:
    """Scan one wheel and give its line of the table."""
    path = wheel(package, folder)
    root = unpacked(path, folder)
    files = [each.path for each in files_in((str(root),)) if isinstance(each, Found)]
    out = folder / f"{path.stem}{'.' + arch if arch else ''}.jsonl"
    chosen = ["--arch", arch] if arch else []
    command = [sys.executable, "-m", "kneck", "scan", str(root), "--jobs", "2", "-o", str(out)]
    scan = run([*command, *chosen])
    bare: list[Run] = []
    start = time.monotonic()
    for file in files:
        if time.monotonic() - start < limit_s:
            only = ["-arch", arch] if arch else []
            bare.append(run([find_tool("cuobjdump").path, "-sass", *only, file]))
    counts = dict.fromkeys(COUNTED, 0)
    with open(out, encoding="utf-8") as lines:
        for line in lines:
            found = json.loads(line)
            if found["record"] == "cubin":
                counts["cubins"] += 1
                counts["kernels"] += found["kernels"]
                counts["instructions"] += found["instructions"]
            elif found["record"] == "kernel":
                counts["unknown"] += found["facts"]["kernel.unknown_opcodes"] or 0
                counts["operands"] += found["facts"]["kernel.unknown_operands"] or 0
            else:
                counts["unread"] += found["record"] in ("error", "skipped")
    name = "-".join(path.stem.split("-")[:2]) + (f" ({arch})" if arch else "")
    told, wall, ratio = "not finished", "", ""
    if bare and len(bare) == len(files):
        reference = total(bare)
        told = f"{reference.wall_s:.0f} s ({reference.cpu_s:.0f} s processor)"
        wall = f"{scan.wall_s / reference.wall_s:.2f}"
        ratio = f"{scan.cpu_s / reference.cpu_s:.2f}"
    cells = [
        name, len(files), *(f"{counts[key]:,}" for key in ("cubins", "kernels", "instructions")),
        f"{counts['unknown']:,}, {counts['operands']:,}", f"{counts['unread']:,}",
        f"{scan.wall_s:.0f} s ({scan.cpu_s:.0f} s processor)", told, wall, ratio,
        f"{scan.peak_mb:.0f} MB", f"{scan.python_mb:.0f} MB",
    ]  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Print the table, one line as soon as it is known."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("packages", nargs="*", default=list(PACKAGES))
    parser.add_argument("--arch")
    parser.add_argument("--limit-s", type=float, default=900)
    arguments = parser.parse_args()
    os.makedirs(arguments.folder / "wheels", exist_ok=True)
    print(HEADER, flush=True)
    for package in arguments.packages:
        print(row(package, arguments.folder, arguments.arch, arguments.limit_s), flush=True)


if __name__ == "__main__":
    main()
