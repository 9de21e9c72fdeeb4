"""Compile the kernels of the set: kernels/FAMILY.cu to cubin/FAMILY.cubin, log beside it.

Run it after a change of a source; the cubins are committed so that nothing else needs nvcc.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
ACCELERATED = ("wgmma",)  # instructions of sm_90a only


def target(stem: str) -> list[str]:
    """Give the architecture options; the shorthand -arch=sm_90a adds a pass that refuses wgmma."""
    if stem in ACCELERATED:
        return ["-gencode=arch=compute_90a,code=sm_90a"]
    return ["-arch=sm_90"]


def build(source: Path, to: Path) -> None:
    """Compile one file and keep the resource log."""
    cubin = to / f"{source.stem}.cubin"
    command = ["nvcc", "-cubin", *target(source.stem), "-O2", "--resource-usage"]
    command += ["-o", str(cubin), source.name]
    done = subprocess.run(command, cwd=source.parent, check=True, capture_output=True, text=True)
    cubin.with_suffix(".log").write_text(done.stderr)


def main() -> None:
    """Compile the named families, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", nargs="*")
    names = parser.parse_args().family
    to = HERE / "cubin"
    to.mkdir(exist_ok=True)
    for source in sorted((HERE / "kernels").glob("*.cu")):
        if not names or source.stem in names:
            build(source, to)
            print(source.stem)


if __name__ == "__main__":
    main()
