"""Building a `.cu`: the user's command or the default nvcc line, without a shell."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .errors import KneckError, MissingProgramError, Place, printable
from .record import dataclass

DEFAULT = "nvcc --cubin -arch={arch} -O2 --resource-usage -o {out} {source}"
LIMIT_SECONDS = 600  # a build that takes longer than this is hung
SHOWN_LINES = 20


@dataclass(frozen=True, slots=True)
class Build:
    """A finished build: where the output is, what the command said, and the command."""

    output: Path
    log: str
    command: tuple[str, ...]


def build(source: str, folder: Path, arch: str, command: str | None = None) -> Build:
    """Compile a source file into the folder, or with the user's own command.

    `{source}`, `{out}` and `{arch}` of the command are replaced; without `{out}` the path after
    `-o` is the output. Raises KneckError with the compiler's own message where it fails,
    MissingProgramError where there is no such program.
    """
    out = folder / (Path(source).stem + ".cubin")
    words, output = _words(command or DEFAULT, source, out, arch)
    program = _program(words[0])
    try:
        done = subprocess.run(
            [program, *words[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        what = f"the build ran longer than {LIMIT_SECONDS} s"
        raise KneckError(what, Place(source), "build it yourself and give the cubin") from None
    except OSError as error:
        raise KneckError(f"cannot run {words[0]}: {error.strerror}", Place(source)) from None
    log = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0:
        lines = [printable(line) for line in log.splitlines()][:SHOWN_LINES]
        told = "\n".join(["the build failed:", *(f"    {line}" for line in lines)])
        raise KneckError(told, Place(source), f"the command was: {shlex.join(words)}")
    if not output.is_file():
        what = f"the build made no {output}"
        raise KneckError(what, Place(source), f"the command was: {shlex.join(words)}")
    return Build(output, log, tuple(words))


def _words(command: str, source: str, out: Path, arch: str) -> tuple[list[str], Path]:
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise KneckError(f"--build: {error}", help="close the quotes") from None
    if not parts:
        raise KneckError("--build is empty", help=f"write it like: {DEFAULT}")
    named = any("{out}" in part for part in parts)
    words = [
        part.replace("{source}", source).replace("{out}", str(out)).replace("{arch}", arch)
        for part in parts
    ]
    if named:
        return words, out
    return words, Path(_after_o(words))


def _after_o(words: Sequence[str]) -> str:
    for position, word in enumerate(words):
        if word in ("-o", "--output-file") and position + 1 < len(words):
            return words[position + 1]
        if word.startswith("-o") and len(word) > 2:
            return word[2:]
    raise KneckError(
        "--build names no output", help="write {out} where the output goes, or name it with -o"
    )


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None and name == "nvcc":
        home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
        candidate = Path(home, "bin", "nvcc") if home else None
        found = str(candidate) if candidate is not None and candidate.is_file() else None
    if found is None:
        raise MissingProgramError(
            f"{name} was not found",
            help="install the CUDA toolkit or set CUDA_HOME; a cubin needs no compiler",
        )
    return found
