"""Functions that come one by one are those of the whole listing, in bounded memory."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kneck.parsers import stream
from kneck.parsers.cubin import read_cubin
from kneck.parsers.disassembly import read_target
from kneck.parsers.errors import KneckError
from kneck.parsers.stream import stream_cubin, stream_functions
from kneck.parsers.tools import Tool

CUBIN = Path(__file__).parent / "data" / "switch.sm_86.cubin"


@pytest.fixture(scope="module")
def text() -> str:
    return read_target(str(CUBIN)).text


@settings(max_examples=30, deadline=None)
@given(size=st.integers(1, 30_000))
def test_pieces_of_any_size_give_the_functions_of_the_whole(text: str, size: int) -> None:
    whole = read_target(str(CUBIN)).listing.functions
    pieces = (text[at : at + size] for at in range(0, len(text), size))
    assert tuple(stream_functions(pieces)) == whole


def test_a_function_is_given_before_the_text_ends(text: str) -> None:
    start = text.rindex("\t.section\t.text.")

    def pieces() -> Iterator[str]:
        yield text[:start]
        yield text[start : start + 2000]
        raise AssertionError("the text was read on although a function was complete")

    assert len(list(islice(stream_functions(pieces()), 1))) == 1


def test_a_cubin_streams_the_functions_of_its_listing() -> None:
    whole = read_target(str(CUBIN)).listing.functions
    assert tuple(stream_cubin(str(CUBIN), "x", "sm_86")) == whole


def test_single_functions_are_asked_for_by_their_symbol() -> None:
    cubin = read_cubin(CUBIN.read_bytes(), "x")
    name = cubin.kernels[0]
    found = stream_cubin(str(CUBIN), "x", cubin.arch, cubin.needed_for(name))
    assert [function.name for function in found] == [name]


def test_a_stream_that_is_left_early_ends_its_disassembler() -> None:
    functions = stream_cubin(str(CUBIN), "x", "sm_86")
    assert next(functions).instructions
    functions.close()
    assert list(functions) == []


def test_a_disassembler_that_hangs_is_ended_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = tmp_path / "nvdisasm"
    silent.write_text("#!/bin/sh\nexec sleep 600\n")
    silent.chmod(0o700)
    monkeypatch.setattr(
        stream, "find_tools", lambda name: [Tool("nvdisasm", str(silent), "a test")]
    )
    monkeypatch.setattr(stream, "limit_s", lambda command: 0.2)
    with pytest.raises(KneckError, match="hangs: nothing came from it for 0.2 s"):
        list(stream_cubin(str(CUBIN), "x", "sm_86"))


def test_only_waiting_for_the_disassembler_counts_as_its_silence() -> None:
    with subprocess.Popen(["sleep", "600"]) as process:
        silence = stream.Silence(process, 0.05)
        with silence:
            pass  # data came at once
        time.sleep(0.2)  # the reader takes its time
        assert process.poll() is None and not silence.is_over
        with silence:
            process.wait()
        assert silence.is_over


def test_a_refused_cubin_is_a_named_error(tmp_path: Path) -> None:
    data = bytearray(CUBIN.read_bytes())
    data[49] = 70
    path = tmp_path / "volta.cubin"
    path.write_bytes(bytes(data))
    with pytest.raises(KneckError, match="no disassembler here reads this cubin of sm_70"):
        list(stream_cubin(str(path), "volta.cubin", "sm_70"))
