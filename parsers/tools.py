"""Where NVIDIA's disassemblers are: the PyPI packages first, then CUDA_HOME, then the PATH."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import MissingProgramError

PACKAGES = {"cuobjdump": "nvidia-cuda-cuobjdump", "nvdisasm": "nvidia-cuda-nvdisasm"}
_HOME_VARIABLES = ("CUDA_HOME", "CUDA_PATH")
_SUFFIX = ".exe" if os.name == "nt" else ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that was found; `identity` changes when the program does (for cache keys)."""

    name: str
    path: str
    origin: str  # "package", "CUDA_HOME", "CUDA_PATH" or "PATH"

    @property
    def identity(self) -> str:
        """Name the program by place, size and time of its file: asking it would cost a process."""
        try:
            status = os.stat(self.path)
        except OSError:
            return self.path
        return f"{self.path}:{status.st_size}:{status.st_mtime_ns}"


def find_tools(name: str) -> Iterator[Tool]:
    """Give every program of a name, best first; the first may refuse what a later one can read."""
    seen: set[str] = set()
    for origin, path in _candidates(name + _SUFFIX):
        real = os.path.realpath(path)
        if real not in seen and os.path.isfile(real) and os.access(real, os.X_OK):
            seen.add(real)
            yield Tool(name, str(path), origin)


def find_tool(name: str) -> Tool:
    """Give the best program of a name; raises MissingProgramError with what to install."""
    for tool in find_tools(name):
        return tool
    raise MissingProgramError(
        f"{name} was not found in the Python packages, in CUDA_HOME or on the PATH",
        help=f"pip install {PACKAGES.get(name, name)}, or set CUDA_HOME to a CUDA toolkit; "
        "SASS text (cuobjdump -sass FILE > FILE.sass on another machine) works without it",
    )


def _candidates(file_name: str) -> Iterator[tuple[str, Path]]:
    for root in _package_roots():
        # cu13 wheels: nvidia/cu13/bin; cu12 wheels: nvidia/cuda_nvdisasm/bin
        for path in sorted(root.glob(f"*/bin/{file_name}"), reverse=True):
            yield "package", path
    for variable in _HOME_VARIABLES:
        home = os.environ.get(variable)
        if home:
            yield variable, Path(home) / "bin" / file_name
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if os.path.isabs(folder):  # never a program from the working folder
            yield "PATH", Path(folder) / file_name


def _package_roots() -> Iterator[Path]:
    """Give the `nvidia` folders that Python imports from, without importing anything."""
    for entry in sys.path:
        if entry:
            root = Path(entry) / "nvidia"
            if root.is_dir():
                yield root
