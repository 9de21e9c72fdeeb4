"""Where NVIDIA's disassemblers are: the PyPI packages first, then CUDA_HOME, then the PATH."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

PACKAGES = {"cuobjdump": "nvidia-cuda-cuobjdump", "nvdisasm": "nvidia-cuda-nvdisasm"}
_HOME_VARIABLES = ("CUDA_HOME", "CUDA_PATH")
_SUFFIX = ".exe" if os.name == "nt" else ""


class Tool:
    """A program that was found: its name, its path, and whether that came from the packages
    (`package`), from `CUDA_HOME` or `CUDA_PATH`, or from the `PATH`."""

    __slots__ = ("name", "origin", "path")

    def __init__(self, name: str, path: str, origin: str) -> None:
        self.name = name
        self.path = path
        self.origin = origin

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
            yield Tool(name, path, origin)


def find_tool(name: str) -> Tool:
    """Give the best program of a name; raises MissingProgramError with what to install."""
    for tool in find_tools(name):
        return tool
    from .errors import MissingProgramError

    raise MissingProgramError(
        f"{name} was not found in the Python packages, in CUDA_HOME or on the PATH",
        help=f"pip install {PACKAGES.get(name, name)}, or set CUDA_HOME to a CUDA toolkit; "
        "SASS text (cuobjdump -sass FILE > FILE.sass on another machine) works without it",
    )


def _candidates(file_name: str) -> Iterator[tuple[str, str]]:
    for entry in sys.path:
        # cu13 wheels: nvidia/cu13/bin; cu12 wheels: nvidia/cuda_nvdisasm/bin
        root = os.path.join(entry, "nvidia")
        for package in sorted(_folders(root), key=_newest_first) if entry else ():
            yield "package", os.path.join(root, package, "bin", file_name)
    for variable in _HOME_VARIABLES:
        home = os.environ.get(variable)
        if home:
            yield variable, os.path.join(home, "bin", file_name)
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if os.path.isabs(folder):  # never a program from the working folder
            yield "PATH", os.path.join(folder, file_name)


def _newest_first(package: str) -> tuple[int, str]:
    version = package.removeprefix("cu")
    return (-int(version) if version.isdecimal() else 0, package)


def _folders(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []
