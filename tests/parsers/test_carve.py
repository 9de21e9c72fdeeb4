"""Cubins cut down to some functions, and what is read of a cubin without its disassembly."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kneck.parsers.carve import carved, codes_of, is_noted
from kneck.parsers.cubin import read_cubin
from kneck.parsers.elf import read_elf
from kneck.parsers.errors import KneckError
from kneck.parsers.launch import NOTED_OPCODES, OPTIONS
from kneck.parsers.listing import Function
from kneck.parsers.sass import parse_sass
from kneck.parsers.stream import stream_cubin
from kneck.parsers.tools import find_tool

CUBINS = Path(__file__).resolve().parents[1] / "kernels" / "cubin"
READ = "BRANCH_TARGETS"  # other notes are left out where that saves an analysis
SOME = sorted(
    CUBINS / f"{stem}.{arch}.cubin"
    for stem in ("two_kernels", "device_call", "switch_brx", "spilled", "hgemm_cp_async", "nbody")
    for arch in ("sm_80", "sm_120")
)


def listed(path: Path) -> dict[str, Function]:
    """The functions as the disassembler prints them, encodings and all."""
    command = [find_tool("nvdisasm").path, *OPTIONS, str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {function.name: plain(function) for function in parse_sass(text).functions}


def plain(function: Function) -> Function:
    """Without lines, and with labels by their address: both depend on the rest of the text."""
    names = {label: hex(address) for label, address in function.labels.items()}
    instructions = []
    for each in function.instructions:
        text = each.text
        for label in sorted(names, key=len, reverse=True):
            text = text.replace(f"({label})", names[label])
        notes = tuple(sorted(note for note in each.annotations if note.startswith(READ)))
        instructions.append(replace(each, line=0, text=text, operands=(), annotations=notes))
    return replace(function, line=0, labels={}, header={}, instructions=tuple(instructions))


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.name)
def test_a_stream_gives_what_the_disassembler_prints(path: Path) -> None:
    wanted = listed(path)
    cubin = read_cubin(path.read_bytes(), path.name)
    names = tuple(record.name for record in cubin.records)
    for is_quick in (False, True):
        found = {
            f.name: plain(f)
            for f in stream_cubin(str(path), path.name, cubin.arch, (), names, is_quick)
        }
        assert found == wanted
    for name in names:
        (alone,) = stream_cubin(
            str(path), path.name, cubin.arch, (cubin.symbol_of[name],), (name,), is_quick=True
        )
        assert plain(alone) == wanted[name]


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.name)
def test_the_code_alone_tells_what_the_disassembler_notes_on(path: Path) -> None:
    codes = codes_of(read_elf(path.read_bytes(), path.name))
    for name, function in listed(path).items():
        opcodes = [i.opcode for i in function.instructions]
        assert is_noted(codes[name]) == any(o.startswith(NOTED_OPCODES) for o in opcodes), name


def test_a_cut_cubin_is_smaller_and_keeps_its_tables() -> None:
    data = (CUBINS / "two_kernels.sm_90.cubin").read_bytes()
    elf = read_elf(data, "two_kernels")
    first, second = codes_of(elf)
    part = carved(memoryview(data), elf, (first,))
    assert len(part) < len(data)
    kept = read_elf(part, "part")
    assert [section.name for section in kept.sections] == [s.name for s in elf.sections]
    assert [symbol.name for symbol in kept.symbols] == [symbol.name for symbol in elf.symbols]
    assert bytes(codes_of(kept)[first]) == bytes(codes_of(elf)[first])
    assert not codes_of(kept)[second]


def test_no_code_is_not_noted() -> None:
    assert not is_noted(memoryview(b""))
    assert not is_noted(memoryview(b"\x49\x09"))  # less than an instruction


def test_an_empty_file_is_a_named_error(tmp_path: Path) -> None:
    path = tmp_path / "empty.cubin"
    path.touch()
    with pytest.raises(KneckError):
        list(stream_cubin(str(path), "empty.cubin", "sm_90", (), ("kernel",)))
