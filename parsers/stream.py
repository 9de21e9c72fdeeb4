"""Functions of a cubin one by one, while the disassembler is still writing.

For libraries whose text would not fit into memory: at any time only the function that is being
read and a piece of text are held.
"""

from __future__ import annotations

import codecs
import os
import subprocess
from collections.abc import Generator, Iterable, Iterator, Sequence

from .artifact import first_line, refused
from .launch import DISASSEMBLER, OPTIONS, content_of, memory_file
from .listing import Function
from .sass_lines import Reader
from .tools import find_tool

_PIECE_BYTES = 1 << 20
_INSTRUCTION_START = "\n        /*"  # both tools indent like this; text before it is complete


def stream_functions(pieces: Iterable[str], path: str = "<text>") -> Iterator[Function]:
    """Parse a listing that comes in pieces, as nvdisasm and cuobjdump write it on Unix.

    A function is given as soon as the next one starts. Code that kneck does not read is left out.
    """
    reader = Reader(path)
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
    place: str, path: str, arch: str, symbols: Sequence[int] = ()
) -> Generator[Function, None, None]:
    """Disassemble a cubin at a place and give its functions; `path` names it in errors.

    `symbols` restricts it to the functions with these indices in the symbol table.
    Raises KneckError where the disassembler refuses the cubin, also after some functions.
    """
    tool = find_tool(DISASSEMBLER)
    command = [tool.path, *OPTIONS, os.path.abspath(place)]
    if symbols:
        command += ["-fun", ",".join(str(index) for index in symbols)]
    messages = memory_file("messages")
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=messages
    )
    try:
        yield from stream_functions(_text_of(process), path)
        status = process.wait()
    finally:
        process.kill()
        process.wait()
        told = first_line(content_of(messages))
    if status:
        raise refused(path, arch, told or f"exit status {status}")


def _text_of(process: subprocess.Popen[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    output = process.stdout
    if output is None:
        return
    with output:
        while data := output.read(_PIECE_BYTES):
            yield decoder.decode(data)
    yield decoder.decode(b"", final=True)
