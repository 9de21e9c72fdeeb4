"""A target as far as it could be read, and how its binary and its listing become that."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import replace

from . import cache
from .choose import choose_name
from .containers import architecture_of, choose_cubin, embedded_cubins, extracted, tool_result
from .cubin import Cubin, read_cubin
from .errors import KneckError, MissingProgramError, Place, printable
from .generations import first_readable, generation_name, is_readable
from .launch import (
    DISASSEMBLER,
    LARGEST_EARLY_BYTES,
    NOTED_OPCODES,
    OPTIONS,
    QUICK,
    Early,
    Running,
)
from .listing import Listing, ResourceRecord
from .record import dataclass
from .targets import STANDARD_INPUT, Kind, Target, decode, need_text_size, read_file
from .tools import PACKAGES, Tool, find_tools

_REFUSALS = ("is deprecated", "nvalid ELF", "compatibility section", "nsupported")
_LEVEL = re.compile(r"^nvdisasm\s+(?:fatal|error|warning)\s*:\s*")


@dataclass(frozen=True, slots=True)
class Artifact:
    """A target that was read.

    `kernel` is the mangled name that was chosen while a binary was read, `text` the disassembly or
    the text given (instructions know their line in it), `architectures` all that the file holds.
    """

    path: str
    kind: Kind
    listing: Listing
    resources: tuple[ResourceRecord, ...]
    architectures: tuple[str, ...]
    sha256: str
    text: str
    kernel: str | None = None


@dataclass(frozen=True, slots=True)
class Code:
    """A target before its text is parsed: the text, and what the binary itself said."""

    path: str
    kind: Kind
    text: str
    sha256: str
    cubin: Cubin | None
    architectures: tuple[str, ...]
    kernel: str | None

    def parsed(self) -> Artifact:
        """Parse the text; raises KneckError where it holds no SASS that kneck reads."""
        from .sass import parse_sass

        listing = parse_sass(self.text, self.path)
        found = tuple(dict.fromkeys(function.arch for function in listing.functions))
        return Artifact(
            self.path,
            self.kind,
            listing,
            self.cubin.records if self.cubin else (),
            self.architectures or found,
            self.sha256,
            self.text,
            self.kernel,
        )


@dataclass(frozen=True, slots=True)
class Wish:
    """Which part of a target is wanted; see `start_disassembly`."""

    kernel: str | None
    arch: str | None
    prefer: str | None
    reserve_bytes: Mapping[str, int]
    shown: str | None = None


def read_code(target: str, stdin: str | bytes | None, wish: Wish, early: Early | None) -> Code:
    """Read a target up to its text; raises KneckError for every target that cannot be read."""
    if early is not None:
        cubin = Target(wish.shown or target, "cubin", early.data)
        return _from_cubin(cubin, target, wish, (), early)
    if target == STANDARD_INPUT and stdin is not None:
        data = stdin.encode("utf-8", "surrogatepass") if isinstance(stdin, str) else stdin
        return _from_text(Target("<stdin>", "text", data))
    file = read_file(target)
    if wish.shown is not None and file.kind != "container":
        file = replace(file, path=wish.shown)
    if file.kind == "text":
        return _from_text(file)
    if file.kind == "cubin":
        return _from_cubin(file, target, wish, (), None)
    return _from_container(file, wish)


def _from_text(file: Target) -> Code:
    digest = hashlib.sha256(file.data).hexdigest()
    return Code(file.path, "text", decode(file.data, file.path), digest, None, (), None)


def _from_container(file: Target, wish: Wish) -> Code:
    cubins = embedded_cubins(file.path)
    known = tuple(dict.fromkeys(each.arch for each in cubins))
    arch = architecture_of(cubins, wish.arch, wish.prefer, file.path)
    refuse_old(arch, file.path)
    with extracted(file.path, arch) as files:
        path, kernel = choose_cubin(files, wish.kernel, file.path)
        inner = Target(wish.shown or file.path, "container", path.read_bytes())
        chosen = Wish(kernel or wish.kernel, arch, wish.prefer, wish.reserve_bytes)
        return _from_cubin(inner, str(path), chosen, known, None)


def _from_cubin(
    file: Target, place: str, wish: Wish, known: tuple[str, ...], early: Early | None
) -> Code:
    digest = early.digest if early else hashlib.sha256(file.data).hexdigest()
    cubin = read_cubin(file.data, file.path, wish.reserve_bytes)
    refuse_old(cubin.arch, file.path)
    if not cubin.code_bytes:
        what = "there is no kernel in it"
        raise KneckError(what, Place(file.path), "compile a source with a __global__ function")
    if wish.arch is not None and not known and wish.arch not in (cubin.arch, cubin.family):
        raise KneckError(
            f"there is no code for {printable(wish.arch)} in it",
            Place(file.path),
            f"there is code for {cubin.arch}",
        )
    kernel = None
    if wish.kernel is not None:
        kernel = choose_name(wish.kernel, cubin.kernels, file.path)
    options = list(OPTIONS)
    if kernel is not None and len(file.data) > LARGEST_EARLY_BYTES:
        options += ["-fun", ",".join(str(index) for index in cubin.needed_for(kernel))]
    running = early.running if early else None
    text = _disassembled(place, file.path, digest, cubin.arch, options, running)
    return Code(file.path, file.kind, text, digest, cubin, known or (cubin.arch,), kernel)


def _disassembled(
    place: str, path: str, digest: str, arch: str, options: list[str], running: Running | None
) -> str:
    """Give the text of a cubin, from the cache or from the first tool that reads it.

    Raises KneckError where every tool refuses it, MissingProgramError where there is none.
    """
    refusals = []
    for tool in find_tools(DISASSEMBLER):
        entry = cache.key(digest, tool.identity, *options)
        text = None if running else cache.load(entry)
        if text is not None:
            return text
        text, messages, status = _run(tool, [QUICK, *options], place, path, running)
        running = None
        if status or any(opcode in text for opcode in NOTED_OPCODES):
            text, messages, status = _run(tool, options, place, path, None)
        need_text_size(len(text), path)
        if status == 0 and text.strip():
            cache.store(entry, text)
            return text
        refusals.append(first_line(messages) or f"exit status {status}")
    if not refusals:
        raise _no_disassembler()
    raise refused(path, arch, refusals[0])


def _run(
    tool: Tool, options: list[str], place: str, path: str, running: Running | None
) -> tuple[str, str, int]:
    command = [tool.path, *options, os.path.abspath(place)]
    return tool_result(command, path, running=running)


def refuse_old(arch: str, path: str) -> None:
    """Raise KneckError for code of a generation that kneck does not read."""
    if not is_readable(arch):
        raise KneckError(
            f"{arch} is {generation_name(arch)}, and kneck reads {first_readable()} and later",
            Place(path),
            f"compile for {first_readable()} or later: nvcc -cubin -arch=ARCH",
        )


def refused(path: str, arch: str, told: str) -> KneckError:
    """Say why no disassembler reads a cubin, from what the first one told."""
    if any(word in told for word in _REFUSALS):
        return KneckError(
            f"no disassembler here reads this cubin of {arch}: {told}",
            Place(path),
            "set CUDA_HOME to a CUDA toolkit that knows it (12.9 for code up to sm_72, the newest "
            "for new code), or give its SASS text: cuobjdump -sass FILE > FILE.sass",
        )
    return KneckError(
        f"the cubin cannot be disassembled: {told}",
        Place(path),
        "the file may be damaged or cut off; build it again",
    )


def _no_disassembler() -> MissingProgramError:
    return MissingProgramError(
        f"{DISASSEMBLER} was not found in the Python packages, in CUDA_HOME or on the PATH",
        help=f"pip install {PACKAGES[DISASSEMBLER]}, or set CUDA_HOME to a CUDA toolkit; "
        "SASS text (cuobjdump -sass FILE > FILE.sass on another machine) works without it",
    )


def first_line(messages: str) -> str:
    """Give the line of a tool's messages that says why it failed."""
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    fatal = [line for line in lines if "fatal" in line or "error" in line]
    return printable(_LEVEL.sub("", (fatal or lines or [""])[0]))
