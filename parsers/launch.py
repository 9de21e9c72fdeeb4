"""Programs started beside this one, with as little imported before the start as possible.

A disassembler takes a quarter of a second however small the file is, so `kneck infer` starts it
before it imports anything else. For that this module and `tools.py` stay without dataclasses,
typing, pathlib and regular expressions, and without errors: whatever is wrong with a target is
found and named later, on the ordinary way through `disassembly.py`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from io import FileIO

from . import cache, tools

DISASSEMBLER = "nvdisasm"
OPTIONS = ("-c", "-hex")
WITHOUT_ENCODINGS = ("-c",)
# Without its data-flow analysis the disassembler takes a fifth less, and leaves out the targets of
# indirect branches, which stand on instructions of these opcodes. It notes more, such as which
# accesses to local memory are spills, but nothing here reads that. All else is the same text.
QUICK = "-ndf"
NOTED_OPCODES = ("BRX", "JMX")
LONGEST_RUN_S = 600  # a vendor tool that takes longer hangs, however large the file
SHORTEST_LIMIT_S = 30  # any file gets as much: a start takes seconds on a machine that is busy
SLOWEST_BYTES_PER_S = 50_000  # a tenth of what nvdisasm was seen to read of a cubin
LARGEST_EARLY_BYTES = 1 << 20  # a larger cubin may be read in part, which needs a look into it
_CUDA_ELF = (b"\x7fELF", b"\xbe\x00")  # magic, and EM_CUDA at byte 18


class Running:
    """A program that writes to memory while this process goes on."""

    def __init__(self, command: Sequence[str], cwd: str | None = None) -> None:
        """Start it; raises OSError where that is impossible."""
        self.command = command
        self.limit_s = limit_s(command, cwd)
        self._output, self._messages = memory_file("output"), memory_file("messages")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._messages,
            cwd=cwd,
        )

    def finish(self) -> tuple[str, str, int]:
        """Wait for output, messages and exit status; raises TimeoutExpired where it hangs."""
        try:
            status = self._process.wait(self.limit_s)
        except subprocess.TimeoutExpired:
            self.stop()
            raise
        return content_of(self._output), content_of(self._messages), status

    def stop(self) -> None:
        """End it where its result is no longer wanted."""
        self._process.kill()
        self._process.wait()
        self._output.close()
        self._messages.close()


def limit_s(command: Sequence[str], cwd: str | None = None) -> int:
    """Give the time after which a tool that reads the last file of its command is held to hang."""
    try:
        size_bytes = os.path.getsize(os.path.join(cwd or "", command[-1]))
    except (OSError, ValueError):
        return LONGEST_RUN_S
    return min(LONGEST_RUN_S, SHORTEST_LIMIT_S + size_bytes // SLOWEST_BYTES_PER_S)


class Early:
    """A small cubin whose disassembly was started at once, or stands in the cache."""

    def __init__(self, path: str, data: bytes, digest: str, running: Running | None) -> None:
        self.path = path
        self.data = data
        self.digest = digest
        self.running = running


_begun: Early | None = None


def begin(path: str) -> None:
    """Start with what is likely the target, before the command line is understood.

    `start_early` takes it over, `give_up` ends it where nobody did.
    """
    global _begun
    _begun = _start(path)


def give_up() -> None:
    """End what was begun and is not wanted."""
    global _begun
    if _begun is not None and _begun.running is not None:
        _begun.running.stop()
    _begun = None


def start_early(path: str) -> Early | None:
    """Start to disassemble a small cubin; None where the ordinary way has to look closer."""
    global _begun
    begun = _begun
    if begun is not None and begun.path == path:
        _begun = None
        return begun
    return _start(path)


def _start(path: str) -> Early | None:
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > LARGEST_EARLY_BYTES:
            return None
        with open(path, "rb") as file:
            data = file.read(LARGEST_EARLY_BYTES + 1)
    except (OSError, ValueError):
        return None
    if data[:4] != _CUDA_ELF[0] or data[18:20] != _CUDA_ELF[1]:
        return None
    digest = hashlib.sha256(data).hexdigest()
    tool = next(tools.find_tools(DISASSEMBLER), None)
    if tool is None:
        return None
    running = None
    if not cache.holds(cache.key(digest, tool.identity, *OPTIONS)):
        try:
            running = Running([tool.path, QUICK, *OPTIONS, os.path.abspath(path)])
        except OSError:
            return None
    return Early(path, data, digest, running)


def memory_file(name: str) -> FileIO:
    """Open a file without a name that a program can write to."""
    if hasattr(os, "memfd_create"):
        return FileIO(os.memfd_create(f"kneck-{name}"), "r+")
    from tempfile import TemporaryFile

    return FileIO(os.dup(TemporaryFile().fileno()), "r+")


def content_of(file: FileIO) -> str:
    """Read such a file from its start and close it."""
    file.seek(0)
    content = file.readall()
    file.close()
    return content.decode("utf-8", "replace")
