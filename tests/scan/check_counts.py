"""Compare what a scan counted with an independent count: the JSON of nvdisasm.

    kneck scan LIBRARY... -o scan.jsonl
    python -m tests.scan.check_counts scan.jsonl

Every cubin of the scan is extracted again by cuobjdump alone and counted in nvdisasm's JSON, piece
by piece. Prints one line per cubin that differs and a sum; exit status 1 where one differs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kneck.engine.scan.archive import members
from kneck.engine.scan.walk import kind_of
from kneck.parsers.tools import find_tool

MARKS = (b'"function-name":', b'"opcode":')
PIECE_BYTES = 1 << 20


def counted(cubin: Path) -> tuple[int, int] | None:
    """Count functions and instructions of a cubin; None where nvdisasm refuses it."""
    process = subprocess.Popen(
        [find_tool("nvdisasm").path, "-json", str(cubin)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    counts = [0, 0]
    held = b""
    assert process.stdout is not None
    while piece := process.stdout.read(PIECE_BYTES):
        held += piece
        cut = held.rfind(b",") + 1
        for index, mark in enumerate(MARKS):
            counts[index] += held.count(mark, 0, cut)
        held = held[cut:]
    for index, mark in enumerate(MARKS):
        counts[index] += held.count(mark)
    return None if process.wait() else (counts[0], counts[1])


def cubins(path: Path, folder: Path) -> Iterator[tuple[str | None, Path]]:
    """Give every cubin of a file with the name that a scan gives it."""
    kind = kind_of(str(path))
    if kind == "cubin":
        yield None, path
    elif kind == "archive":
        for index, (name, member) in enumerate(members(str(path), folder)):
            inner = folder / str(index)
            inner.mkdir()
            for label, cubin in extracted(member, inner):
                yield f"{name}: {label}", cubin
    else:
        yield from extracted(path, folder)


def extracted(path: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Extract with cuobjdump, which names each cubin after the file."""
    command = [find_tool("cuobjdump").path, "-xelf", "all", str(path.resolve())]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    stem = path.name.rpartition(".")[0]
    for cubin in sorted(folder.glob("*.cubin")):
        yield cubin.name.removeprefix(stem + ".").removesuffix(".cubin"), cubin


def main(scan: Path) -> int:
    """Check every cubin of a scan."""
    expected: dict[str, dict[str | None, tuple[int, int]]] = {}
    for line in scan.read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["record"] == "cubin":
            counts = (row["functions"], row["instructions"])
            expected.setdefault(row["file"], {})[row["cubin"]] = counts
    checked = differing = instructions = 0
    for file, wanted in expected.items():
        with tempfile.TemporaryDirectory() as folder:
            for label, cubin in cubins(Path(file), Path(folder)):
                if label not in wanted:
                    continue
                found = counted(cubin)
                if found is None and wanted[label] == (0, 0):
                    continue  # both say that it cannot be read
                checked += 1
                instructions += wanted[label][1]
                if found != wanted[label]:
                    differing += 1
                    print(f"{file}: {label}: scan {wanted[label]}, nvdisasm {found}")
    print(f"{checked} cubins, {instructions:,} instructions, {differing} cubins differ")
    return 1 if differing or not checked else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
