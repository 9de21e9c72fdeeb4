"""Build the small containers in `tests/scan/data` again; needs nvcc, fatbinary and ar.

python tests/scan/build_data.py
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
KERNELS = HERE.parent / "kernels"
DATA = HERE / "data"


def run(*command: str, cwd: str) -> None:
    """Run one tool."""
    subprocess.run(command, check=True, cwd=cwd)


def code(*architectures: str) -> list[str]:
    """Give nvcc's options for machine code of some architectures."""
    return [
        option
        for arch in architectures
        for option in ("-gencode", f"arch=compute_{arch},code=sm_{arch}")
    ]


def main() -> None:
    """Write a shared library, a static one with two members of one name, and a fat binary."""
    saxpy, two, spilled = (str(KERNELS / f"{n}.cu") for n in ("saxpy", "two_kernels", "spilled"))
    with tempfile.TemporaryDirectory() as folder:
        for name, source, archs in (("a", saxpy, ("80", "86")), ("b", two, ("80",))):
            (Path(folder) / name).mkdir()
            run("nvcc", "-c", "-O2", *code(*archs), source, "-o", f"{name}/part.o", cwd=folder)
            run("ar", "q", "same_names.a", f"{name}/part.o", cwd=folder)
        shared = ("-shared", "-cudart", "none", "-Xcompiler", "-fPIC", "-O2")
        run("nvcc", *shared, *code("80", "90"), saxpy, two, spilled, "-o", "library.so", cwd=folder)
        run("strip", "library.so", cwd=folder)
        images = [
            f"--image3=kind=elf,sm={arch},file={KERNELS}/cubin/{name}.sm_{arch}.cubin"
            for name, arch in (("saxpy", "86"), ("chain", "90"))
        ]
        run("fatbinary", "--create=mixed.fatbin", "--64", "--compress-all", *images, cwd=folder)
        for name in ("same_names.a", "library.so", "mixed.fatbin"):
            (DATA / name).write_bytes((Path(folder) / name).read_bytes())


if __name__ == "__main__":
    main()
