"""Files that hold cubins: objects, libraries, executables, archives and fat binaries.

`cuobjdump` lists and extracts; it knows every container and compression that nvcc writes.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .choose import choose_architecture, choose_name
from .cubin import read_cubin
from .elf import is_cubin
from .errors import KneckError, Place, printable
from .generations import is_readable
from .launch import Running
from .record import dataclass
from .tools import find_tool

_ALIAS = "code"
_LISTED = re.compile(r"^ELF file\s+\d+: *(\S.*)$", re.MULTILINE)
_ARCH_IN_NAME = re.compile(r"\.(sm_\d+[a-z]?)\.(?:[^.]*\.)?cubin$")


@dataclass(frozen=True, slots=True)
class Embedded:
    """One cubin of a container."""

    name: str
    arch: str


def tool_result(
    command: list[str], path: str, cwd: str | None = None, running: Running | None = None
) -> tuple[str, str, int]:
    """Run a vendor tool without a shell, or wait for one that runs already.

    Gives output, messages and exit status; raises KneckError where the tool cannot start, hangs
    or is ended by a signal.
    """
    program = os.path.basename(command[0])
    try:
        output, messages, status = (running or Running(command, cwd)).finish()
    except subprocess.TimeoutExpired as hung:
        what = f"{program} gave no result within {hung.timeout:.0f} s"
        raise KneckError(what, Place(path), "the file may be damaged; build it again") from None
    except OSError as error:
        what = f"{program} cannot be run: {error.strerror or error}"
        raise KneckError(what, Place(command[0]), "install it again") from None
    if status < 0:
        what = f"{program} crashed (signal {-status})"
        raise KneckError(what, Place(path), "the file may be damaged; build it again")
    return output, messages, status


def embedded_cubins(path: str) -> list[Embedded]:
    """List the cubins of a container; raises KneckError where it holds no device code."""
    tool = find_tool("cuobjdump")
    with _alias(path) as (folder, alias):
        output, messages, _ = tool_result([tool.path, "-lelf", alias], path, cwd=folder)
        found = []
        for name in _LISTED.findall(output):
            arch = _ARCH_IN_NAME.search(name.rstrip())
            if arch:
                found.append(Embedded(name.rstrip(), arch[1]))
        if not found:
            ptx, _, _ = tool_result([tool.path, "-lptx", alias], path, cwd=folder)
            raise _no_code(path, "PTX file" in ptx, messages)
    return found


@contextmanager
def extracted(path: str, arch: str) -> Iterator[list[Path]]:
    """Extract the cubins of one architecture into a private folder, for as long as it is used."""
    tool = find_tool("cuobjdump")
    with _alias(path) as (folder, alias):
        command = [tool.path, "-xelf", f".{arch}.", alias]
        _, messages, _ = tool_result(command, path, cwd=folder)
        found = []
        for each in os.scandir(folder):
            named = _ARCH_IN_NAME.search(each.name)
            if named and named[1] == arch and each.is_file(follow_symlinks=False):
                found.append(Path(each.path))
        if not found:
            raise KneckError(
                f"cuobjdump extracted nothing for {arch}: {_first_line(messages)}",
                Place(path),
                f"cuobjdump -xelf all {path}, and give kneck one of the cubins",
            )
        yield sorted(found)


def extract_into(path: str, folder: Path) -> list[tuple[Embedded, Path | str]]:
    """Extract all cubins of a container into a folder, in the order of the container.

    Beside each stands its file, or what cuobjdump said where there is none. Raises KneckError
    where there is no device code.
    """
    listed = embedded_cubins(path)
    alias = folder / _ALIAS
    alias.symlink_to(os.path.abspath(path))
    command = [find_tool("cuobjdump").path, "-xelf", "all", _ALIAS]
    _, messages, _ = tool_result(command, path, cwd=str(folder))
    alias.unlink()
    found: list[tuple[Embedded, Path | str]] = []
    seen: set[str] = set()
    for embedded in listed:
        file = folder / os.path.basename(embedded.name)
        whole = embedded.name not in seen and file.is_file() and not file.is_symlink()
        found.append((embedded, file if whole else _first_line(messages)))
        seen.add(embedded.name)
    return found


@contextmanager
def _alias(path: str) -> Iterator[tuple[str, str]]:
    """Give a private folder and a plain name for the file in it.

    cuobjdump makes the names of what it lists and extracts from the name of the file, which may
    hold line ends or the name of an architecture.
    """
    with tempfile.TemporaryDirectory(prefix="kneck-") as folder:
        alias = os.path.join(folder, _ALIAS)
        os.symlink(os.path.abspath(path), alias)
        yield folder, alias


def choose_cubin(files: list[Path], kernel: str | None, path: str) -> tuple[Path, str | None]:
    """Choose the cubin that holds a kernel, and give the kernel's mangled name.

    A single cubin needs no kernel. Damaged ones are passed over while another holds the kernel.
    """
    if kernel is None and len(files) == 1:
        return files[0], None
    names: dict[str, Path] = {}
    damage: KneckError | None = None
    for file in files:
        data = file.read_bytes()
        try:
            kernels = read_cubin(data, path).kernels if is_cubin(data) else ()
        except KneckError as error:
            damage, kernels = error, ()
        for name in kernels:
            names.setdefault(name, file)
    if damage is not None and not names:
        raise damage
    chosen = choose_name(kernel, list(names), path)
    return names[chosen], chosen


def architecture_of(
    cubins: list[Embedded], wanted: str | None, prefer: str | None, path: str
) -> str:
    """Choose the architecture to read; one that no tool disassembles is refused by name later."""
    known = [each.arch for each in cubins]
    readable = [each for each in known if is_readable(each)]
    return choose_architecture(
        readable if readable and wanted is None else known, wanted, prefer, path
    )


def _no_code(path: str, has_ptx: bool, messages: str) -> KneckError:
    if has_ptx:
        return KneckError(
            "there is PTX in it, but no machine code",
            Place(path),
            "compile for an architecture: nvcc -gencode arch=compute_XX,code=sm_XX",
        )
    if "fatal" in messages:
        told = _first_line(messages).partition(":")[2].partition(" in '")[0].strip()
        what = f"cuobjdump cannot read it: {told}"
        return KneckError(what, Place(path), "the file may be damaged or cut off; build it again")
    return KneckError(
        "there is no CUDA device code in it",
        Place(path),
        "give an object, library or program that nvcc built, a cubin, or SASS text",
    )


def _first_line(messages: str) -> str:
    lines = [line for line in messages.splitlines() if line.strip()]
    return printable(lines[0].strip()) if lines else "no message"
