"""Compile the micro-benchmarks and count what ptxas made of their loops.

    python kb/probes/build.py            needs nvcc (13.0 made the committed files) and nvdisasm
    python kb/probes/build.py --check    count again and compare with loops.json

Writes one fatbin per source (machine code for the architectures below and PTX for all later
ones) and loops.json: per source, architecture and kernel the opcodes of one trip through its
longest loop. `kneck probe` divides by these counts, so a probe whose instruction the compiler
replaced is seen here and not in a wrong figure.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ARCHS = {
    "support": ("75", "80", "86", "89", "90", "100", "120"),
    "cost": ("75", "80", "86", "89", "90", "100", "120"),
    "mma": ("75", "80", "86", "89", "90", "100", "120"),
    "memory": ("75", "80", "86", "89", "90", "100", "120"),
    "wgmma": ("90a",),
}
PTX = {"wgmma": ()}  # the instructions of 90a exist on no later architecture
NVCC = ("nvcc", "-std=c++17", "-O3", "--compress-mode=size")
INSTRUCTION = re.compile(
    r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:\{\s*)?(?:@!?U?P\w+\s+)?([A-Z][A-Za-z0-9_.]*)([^;]*);?"
)
LABEL = re.compile(r"^(\.L_x?_?\w+):")
TARGET = re.compile(r"`\((\.L\w+)\)")


def nvdisasm() -> str:
    """Find the disassembler: on the PATH, in CUDA_HOME, or from the PyPI package."""
    places = [shutil.which("nvdisasm")]
    if "CUDA_HOME" in os.environ:
        places.append(os.environ["CUDA_HOME"] + "/bin/nvdisasm")
    places += [
        str(p) for p in Path(sys.prefix).glob("lib/python*/site-packages/nvidia/*/bin/nvdisasm")
    ]
    for place in places:
        if place and Path(place).exists():
            return place
    raise SystemExit("nvdisasm not found: pip install nvidia-cuda-nvdisasm")


def compile_cubin(source: str, arch: str, out: Path) -> None:
    """Compile one source for one architecture."""
    target = f"arch=compute_{arch},code=sm_{arch}"
    command = [*NVCC, "-cubin", "-gencode", target, f"{source}.cu", "-o", str(out)]
    subprocess.run(command, cwd=HERE, check=True)


def compile_fatbin(source: str, out: Path) -> None:
    """Compile one source for all its architectures, with PTX of the oldest and the newest."""
    archs = ARCHS[source]
    targets: list[str] = []
    for arch in archs:
        targets += ["-gencode", f"arch=compute_{arch},code=sm_{arch}"]
    for arch in PTX.get(source, (archs[0], archs[-1])):
        targets += ["-gencode", f"arch=compute_{arch},code=compute_{arch}"]
    command = [*NVCC, "-fatbin", "--threads=0", *targets, f"{source}.cu", "-o", str(out)]
    subprocess.run(command, cwd=HERE, check=True)


def loops(cubin: Path) -> dict[str, dict[str, int]]:
    """Count the opcodes of the longest loop of each kernel, by mnemonic."""
    text = subprocess.run(
        [nvdisasm(), "-c", str(cubin)], capture_output=True, text=True, check=True
    ).stdout
    found: dict[str, dict[str, int]] = {}
    for section in re.split(r"^\s*\.section\s+\.text\.", text, flags=re.MULTILINE)[1:]:
        name = re.match(r"[\w$]+", section)
        if name:
            found[name[0]] = longest_loop(section.splitlines())
    return found


def longest_loop(lines: list[str]) -> dict[str, int]:
    """Count the instructions between a label and the farthest branch back to it."""
    code: list[tuple[str, str]] = []
    labels: dict[str, int] = {}
    spans: list[tuple[int, int]] = []
    for line in lines:
        label = LABEL.match(line)
        if label:
            labels[label[1]] = len(code)
        match = INSTRUCTION.match(line)
        if not match:
            continue
        mnemonic, operands = match[2], match[3]
        target = TARGET.search(operands)
        if mnemonic.startswith("BRA") and target and target[1] in labels:
            start = labels[target[1]]
            if start < len(code):  # not the filler that branches to itself
                spans.append((start, len(code)))
        code.append((mnemonic, operands))
    if not spans:
        return {}
    start, end = max(spans, key=lambda span: span[1] - span[0])
    body = [mnemonic for mnemonic, _ in code[start : end + 1]]
    return dict(sorted(Counter(body).items()))


def all_loops(only: list[str]) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
    """Compile every source for every architecture into a scratch folder and count."""
    counted: dict[str, dict[str, dict[str, dict[str, int]]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for source, archs in ARCHS.items():
            if only and source not in only:
                continue
            for arch in archs:
                cubin = Path(folder, f"{source}.{arch}.cubin")
                compile_cubin(source, arch, cubin)
                counted.setdefault(source, {})[f"sm_{arch}"] = loops(cubin)
    return counted


def written(counts: dict[str, dict[str, dict[str, dict[str, int]]]]) -> str:
    """Write the counts as JSON, one kernel a line."""
    sources = []
    for source, archs in sorted(counts.items()):
        parts = []
        for arch, kernels in sorted(archs.items()):
            lines = ",\n".join(
                f"   {json.dumps(name)}: {json.dumps(opcodes, separators=(',', ':'))}"
                for name, opcodes in sorted(kernels.items())
            )
            parts.append(f"  {json.dumps(arch)}: {{\n{lines}\n  }}")
        sources.append(f" {json.dumps(source)}: {{\n" + ",\n".join(parts) + "\n }")
    return "{\n" + ",\n".join(sources) + "\n}\n"


def main() -> int:
    """Build, or check what is committed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("sources", nargs="*", help="these only")
    options = parser.parse_args()
    counted = all_loops(options.sources)
    table = HERE / "loops.json"
    known = json.loads(table.read_text()) if table.exists() else {}
    if options.check:
        different = [source for source in counted if counted[source] != known.get(source)]
        print("different: " + ", ".join(different) if different else "as committed")
        return 1 if different else 0
    known.update(counted)
    table.write_text(written(known))
    for source in counted:
        compile_fatbin(source, HERE / f"{source}.fatbin")
        print(source, (HERE / f"{source}.fatbin").stat().st_size, "bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
