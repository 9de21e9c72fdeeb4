"""Functions of a cubin one by one, while the disassembler is still writing.

For libraries whose text would not fit into memory: at any time only the function that is being
read and a piece of text are held.
"""

from __future__ import annotations

import codecs
import os
import subprocess
import threading
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from mmap import ACCESS_READ, mmap
from types import MappingProxyType

from .artifact import first_line, refused
from .carve import carved, codes_of, has_debugging
from .elf import read_elf
from .errors import KneckError
from .launch import (
    DISASSEMBLER,
    NOTED_OPCODES,
    OPTIONS,
    QUICK,
    WITHOUT_ENCODINGS,
    content_of,
    limit_s,
    memory_file,
)
from .listing import Function
from .sass_lines import Reader
from .tools import find_tool, find_tools

_OWN_FILES = "/proc/self/fd"  # open files by number, where the system shows them so
PARTS_ALONE = os.path.isdir(_OWN_FILES)  # some functions of a cubin need not load the others
_PIECE_BYTES = 1 << 20
_INSTRUCTION_START = "\n        /*"  # both tools indent like this; text before it is complete


def stream_functions(
    pieces: Iterable[str],
    path: str = "<text>",
    codes: Mapping[str, memoryview] = MappingProxyType({}),
) -> Iterator[Function]:
    """Parse a listing that comes in pieces, as nvdisasm and cuobjdump write it on Unix.

    A function is given as soon as the next one starts. Code that kneck does not read is left out.
    `codes` are the encodings of functions by name, for a text that prints none.
    """
    reader = Reader(path, codes)
    held = ""
    for piece in pieces:
        held += piece
        cut = held.rfind(_INSTRUCTION_START) + 1
        if cut > 0:
            reader.feed(held[:cut])
            held = held[cut:]
        yield from reader.take_functions()
    reader.feed(held)
    yield from reader.listing().functions


def stream_cubin(
    place: str,
    path: str,
    arch: str,
    symbols: Sequence[int] = (),
    names: Collection[str] = (),
    is_quick: bool = False,
) -> Generator[Function, None, None]:
    """Disassemble a cubin at a place and give its functions; `path` names it in errors.

    `symbols` restricts it to the functions with these indices in the symbol table, whose names are
    `names`. With `is_quick` the disassembler leaves its data-flow analysis out; a function that
    turns out to need it is read again. The next disassembler is asked where one refuses the cubin
    before its first function.
    Raises KneckError where all refuse it, or one stops after some functions.
    """
    restriction = ["-fun", ",".join(str(index) for index in symbols)] if symbols else []
    refusals = []
    for tool in find_tools(DISASSEMBLER):
        command, told = [tool.path, *restriction], ""
        for functions in _ways(command, os.path.abspath(place), path, names, is_quick):
            try:
                first = next(functions)
            except StopIteration:
                return
            except _Stopped as stopped:
                told = stopped.told
                continue
            yield first
            try:
                yield from functions
            except _Stopped as stopped:
                raise refused(path, arch, stopped.told) from None
            return
        refusals.append(told)  # of the whole cubin, which is read last
    if not refusals:
        find_tool(DISASSEMBLER)
    raise refused(path, arch, refusals[0])


def _ways(
    command: list[str], place: str, path: str, names: Collection[str], is_quick: bool
) -> Iterator[Iterator[Function]]:
    """Read the named functions alone where that can be, and the whole cubin where it is refused.

    Encodings are taken from the cubin itself where every function is found there: the disassembler
    writes a third of the text without them.
    """
    try:
        with open(place, "rb") as file:
            data = memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))
        elf = read_elf(data, path)
        codes = codes_of(elf)
    except (KneckError, OSError, ValueError):  # ValueError: it is empty
        codes = {}  # the disassembler tells what is wrong with it
    if not names or not codes.keys() >= set(names):
        yield _functions_of([*command, *OPTIONS, place], path, {})
        return

    def alone(options: Sequence[str], some: Collection[str]) -> Iterator[Function]:
        with memory_file("part") as held:
            held.write(carved(data, elf, some))
            number = held.fileno()
            yield from _functions_of([*options, f"{_OWN_FILES}/{number}"], path, codes, (number,))

    options = [*command, *WITHOUT_ENCODINGS]
    if not PARTS_ALONE:
        yield _functions_of([*options, place], path, codes)
        return
    whole = [*options, place]
    is_cut = len(names) < len(codes) or has_debugging(elf)
    if is_quick:
        options.append(QUICK)
    if is_cut or is_quick:
        some = alone(options, names) if is_cut else _functions_of([*options, place], path, codes)
        again = [command[0], *WITHOUT_ENCODINGS]
        yield (
            next(alone(again, (f.name,)), f) if is_quick and _is_noted(f) else f for f in some
        )  # fmt: skip
    yield _functions_of(whole, path, codes)


def _is_noted(function: Function) -> bool:
    """Tell whether the data-flow analysis would have named targets."""
    return any(
        opcode.startswith(NOTED_OPCODES) for opcode in {i.opcode for i in function.instructions}
    )


class _Stopped(Exception):
    """A disassembler ended with an error."""

    def __init__(self, told: str) -> None:
        super().__init__(told)
        self.told = told


def _functions_of(
    command: list[str], path: str, codes: Mapping[str, memoryview], files: tuple[int, ...] = ()
) -> Generator[Function, None, None]:
    messages = memory_file("messages")
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=messages,
        pass_fds=files,
    )
    silence = Silence(process, limit_s(command))
    try:
        yield from stream_functions(_text_of(process, silence), path, codes)
        status = process.wait()
    finally:
        process.kill()
        process.wait()
        told = first_line(content_of(messages))
    if silence.is_over:
        raise _Stopped(f"it hangs: nothing came from it for {silence.limit_s} s")
    if status:
        raise _Stopped(told or f"exit status {status}")


class Silence:
    """Ends a program that is waited for too long; what the reader takes itself does not count."""

    def __init__(self, process: subprocess.Popen[bytes], limit_s: float) -> None:
        self.process = process
        self.limit_s = limit_s
        self.is_over = False

    def __enter__(self) -> None:
        self._timer = threading.Timer(self.limit_s, self._end)
        self._timer.daemon = True
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _end(self) -> None:
        self.is_over = True
        self.process.kill()


def _text_of(process: subprocess.Popen[bytes], silence: Silence) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    output = process.stdout
    if output is None:
        return
    with output:
        while True:
            with silence:
                data = output.read(_PIECE_BYTES)
            if not data:
                break
            yield decoder.decode(data)
    yield decoder.decode(b"", final=True)
