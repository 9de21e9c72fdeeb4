"""Compile the test kernels: manifest.yaml names them, cubin/ receives what nvcc makes of them.

    python tests/kernels/build.py                 all of them
    python tests/kernels/build.py saxpy igemm     these files only
    python tests/kernels/build.py --check         compile again and compare with what is committed

The cubins and logs are committed, so only those who change a kernel need nvcc (13.0 made the
committed ones). Same compiler, same bytes: the one figure in a log that varies, ptxas' own compile
time, is written as zero.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
COMPILE_TIME = re.compile(r"(Compile time = )[0-9.]+( ms)")


@dataclass(frozen=True)
class Build:
    """One source file for one architecture."""

    source: str
    arch: str
    flags: tuple[str, ...]

    @property
    def stem(self) -> str:
        """The name that cubin and log share."""
        return f"{Path(self.source).stem}.{self.arch}"

    def command(self, folder: Path) -> list[str]:
        """The nvcc line; run it in the folder of the sources."""
        out = folder / f"{self.stem}.cubin"
        fixed = ["nvcc", "--cubin", f"-arch={self.arch}", "-O2", "--resource-usage"]
        return [*fixed, *self.flags, "-o", str(out), self.source]


def builds(manifest: dict[str, Any], only: list[str]) -> Iterator[Build]:
    """The compiler runs that the manifest asks for, each once.

    Raises ValueError where two kernels of one file ask for different flags.
    """
    seen: dict[tuple[str, str], Build] = {}
    for kernel in manifest["kernels"]:
        if only and Path(kernel["file"]).stem not in only:
            continue
        for arch in kernel["archs"]:
            build = Build(kernel["file"], arch, tuple(kernel.get("flags", ())))
            known = seen.setdefault((build.source, build.arch), build)
            if known != build:
                raise ValueError(f"{kernel['id']}: {build.source} is built with {known.flags}")
            if known is build:
                yield build


def compile_into(folder: Path, build: Build) -> None:
    """Write the cubin and the resource log of one build into the folder.

    Raises CalledProcessError with the compiler's own message.
    """
    done = subprocess.run(
        build.command(folder), cwd=HERE, check=True, capture_output=True, text=True
    )
    log = COMPILE_TIME.sub(r"\g<1>0.000\g<2>", done.stdout + done.stderr)
    (folder / f"{build.stem}.log").write_text(log, encoding="utf-8")


def differing(build: Build) -> list[str]:
    """The committed files of a build that compiling again does not reproduce."""
    with tempfile.TemporaryDirectory() as scratch:
        compile_into(Path(scratch), build)
        return [
            name
            for name in (f"{build.stem}.cubin", f"{build.stem}.log")
            if not (HERE / "cubin" / name).exists()
            or (Path(scratch) / name).read_bytes() != (HERE / "cubin" / name).read_bytes()
        ]


def main() -> int:
    """Compile, or compare; 1 when a comparison fails or a kernel does not compile."""
    parser = argparse.ArgumentParser(description="Compile the test kernels.")
    parser.add_argument("names", nargs="*", help="source files without .cu; default: all")
    parser.add_argument("--check", action="store_true", help="compare with the committed files")
    options = parser.parse_args()
    manifest = yaml.safe_load((HERE / "manifest.yaml").read_text(encoding="utf-8"))
    (HERE / "cubin").mkdir(exist_ok=True)
    failures = 0
    for build in builds(manifest, options.names):
        try:
            if options.check:
                for name in differing(build):
                    print(f"differs: {name}", file=sys.stderr)
                    failures += 1
            else:
                compile_into(HERE / "cubin", build)
                print(build.stem)
        except subprocess.CalledProcessError as error:
            print(f"{build.stem}:\n{error.stdout}{error.stderr}", file=sys.stderr)
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
