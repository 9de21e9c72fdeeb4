"""A target in, an `Artifact` out: read, find the cubin, disassemble, parse.

`start_disassembly` returns at once; the disassembler runs beside whatever the caller does until
it asks for the result.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace

from . import cache
from .choose import choose_name
from .containers import architecture_of, choose_cubin, embedded_cubins, extracted, run_tool
from .cubin import Cubin, read_cubin
from .errors import KneckError, MissingProgramError, Place, printable
from .generations import first_readable, generation_name, is_readable
from .listing import Listing, ResourceRecord
from .targets import STANDARD_INPUT, Kind, Target, decode, read_file
from .tools import PACKAGES, find_tools

_LEVEL = re.compile(r"^nvdisasm\s+(?:fatal|error|warning)\s*:\s*")
OPTIONS = ("-c", "-hex")
_WHOLE_CUBIN_BYTES = 1 << 20  # of code; above it only the chosen kernel is disassembled
_REFUSALS = ("is deprecated", "Invalid ELF", "invalid ELF", "compatibility section", "nsupported")


@dataclass(frozen=True, slots=True)
class Artifact:
    """A target as far as it could be read.

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
class _Code:
    """What the thread hands over: text to parse and what the binary itself said."""

    path: str
    kind: Kind
    text: str
    sha256: str
    cubin: Cubin | None
    architectures: tuple[str, ...]
    kernel: str | None


@dataclass(frozen=True, slots=True)
class _Wish:
    kernel: str | None
    arch: str | None
    prefer: str | None
    reserve_bytes: Mapping[str, int]
    shown: str | None = None


class Disassembly:
    """A disassembly under way; `result` waits for it."""

    def __init__(self, target: str, stdin: str | bytes | None, wish: _Wish) -> None:
        self._code: _Code | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(
            target=self._run, args=(target, stdin, wish), name="disassembly", daemon=True
        )
        self._thread.start()

    def _run(self, target: str, stdin: str | bytes | None, wish: _Wish) -> None:
        try:
            self._code = _read_code(target, stdin, wish)
        except BaseException as error:  # handed over to the thread that asks for the result
            self._error = error

    def result(self) -> Artifact:
        """Wait for the text and parse it; raises the KneckError that reading it ended with."""
        from .sass import parse_sass

        self._thread.join()
        if self._error is not None:
            raise self._error
        code = self._code
        assert code is not None
        listing = parse_sass(code.text, code.path)
        found = tuple(dict.fromkeys(function.arch for function in listing.functions))
        return Artifact(
            code.path,
            code.kind,
            listing,
            code.cubin.records if code.cubin else (),
            code.architectures or found,
            code.sha256,
            code.text,
            code.kernel,
        )


def start_disassembly(
    target: str,
    kernel: str | None = None,
    arch: str | None = None,
    prefer: str | None = None,
    stdin: str | bytes | None = None,
    reserve_bytes: Mapping[str, int] | None = None,
    shown: str | None = None,
) -> Disassembly:
    """Start to read a target; nothing is imported for it that is not needed at once.

    `target` is a path, or `-` for the text in `stdin`. `arch` chooses the code of a fat binary,
    `prefer` is the device's architecture and chooses where `arch` does not. `reserve_bytes` as for
    `parse_resources`. `shown` is the name that sources and errors give a file that was made of
    another one.
    """
    wish = _Wish(kernel, arch, prefer, reserve_bytes or {}, shown)
    return Disassembly(target, stdin, wish)


def read_target(
    target: str,
    kernel: str | None = None,
    arch: str | None = None,
    prefer: str | None = None,
    stdin: str | bytes | None = None,
    reserve_bytes: Mapping[str, int] | None = None,
) -> Artifact:
    """Read a target and wait for it; the same as `start_disassembly(...).result()`."""
    return start_disassembly(target, kernel, arch, prefer, stdin, reserve_bytes).result()


def _read_code(target: str, stdin: str | bytes | None, wish: _Wish) -> _Code:
    if target == STANDARD_INPUT and stdin is not None:
        data = stdin.encode("utf-8", "surrogatepass") if isinstance(stdin, str) else stdin
        return _from_text(Target("<stdin>", "text", data))
    file = read_file(target)
    if wish.shown is not None and file.kind != "container":
        file = replace(file, path=wish.shown)
    if file.kind == "text":
        return _from_text(file)
    if file.kind == "cubin":
        return _from_cubin(file, target, wish, (), "cubin")
    return _from_container(file, wish)


def _from_text(file: Target) -> _Code:
    digest = hashlib.sha256(file.data).hexdigest()
    text = decode(file.data, file.path)
    return _Code(file.path, "text", text, digest, None, (), None)


def _from_container(file: Target, wish: _Wish) -> _Code:
    cubins = embedded_cubins(file.path)
    known = tuple(dict.fromkeys(each.arch for each in cubins))
    arch = architecture_of(cubins, wish.arch, wish.prefer, file.path)
    refuse_old(arch, file.path)
    with extracted(file.path, arch) as files:
        path, kernel = choose_cubin(files, wish.kernel, file.path)
        inner = Target(wish.shown or file.path, "cubin", path.read_bytes())
        chosen = _Wish(kernel or wish.kernel, arch, wish.prefer, wish.reserve_bytes)
        return _from_cubin(inner, str(path), chosen, known, "container")


def _from_cubin(file: Target, place: str, wish: _Wish, known: tuple[str, ...], kind: Kind) -> _Code:
    digest = hashlib.sha256(file.data).hexdigest()
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
    text = disassemble(place, file.path, digest, cubin, kernel)
    return _Code(file.path, kind, text, digest, cubin, known or (cubin.arch,), kernel)


def disassemble(place: str, path: str, digest: str, cubin: Cubin, kernel: str | None) -> str:
    """Give the text of a cubin at a place, from the cache or from the first tool that reads it.

    Raises KneckError where every tool refuses it, MissingProgramError where there is none.
    """
    options = list(OPTIONS)
    if kernel is not None and cubin.code_bytes > _WHOLE_CUBIN_BYTES:
        options += ["-fun", ",".join(str(index) for index in cubin.needed_for(kernel))]
    refusals = []
    for tool in find_tools("nvdisasm"):
        entry = cache.key(digest, tool.identity, *options)
        text = cache.load(entry)
        if text is not None:
            return text
        command = [tool.path, *options, os.path.abspath(place)]
        text, messages, status = run_tool(command, path)
        if status == 0 and text.strip():
            cache.store(entry, text)
            return text
        refusals.append(_first_line(messages) or f"exit status {status}")
    if not refusals:
        raise _no_disassembler()
    raise _refused(path, cubin.arch, refusals)


def refuse_old(arch: str, path: str) -> None:
    """Raise KneckError for code of a generation that kneck does not read."""
    if not is_readable(arch):
        raise KneckError(
            f"{arch} is {generation_name(arch)}, and kneck reads {first_readable()} and later",
            Place(path),
            f"compile for {first_readable()} or later: nvcc -cubin -arch=ARCH",
        )


def _refused(path: str, arch: str, refusals: list[str]) -> KneckError:
    told = refusals[0]
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
        "nvdisasm was not found in the Python packages, in CUDA_HOME or on the PATH",
        help=f"pip install {PACKAGES['nvdisasm']}, or set CUDA_HOME to a CUDA toolkit; "
        "SASS text (cuobjdump -sass FILE > FILE.sass on another machine) works without it",
    )


def _first_line(messages: str) -> str:
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    fatal = [line for line in lines if "fatal" in line or "error" in line]
    return printable(_LEVEL.sub("", (fatal or lines or [""])[0]))
