"""The emulator against a GPU and against plain Python: 200 generated integer programs.

Address arithmetic, shifts, predicates, loops and uniform registers; the results of an H200 are
committed, so that the comparison needs no GPU.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from kneck.parsers.listing import Function

from ...truth.driver import Driver
from .emulated import cubin, disassembled, plan, results, written
from .programs import programs

EVERY = 8  # programs that plain Python works out, which is slow


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Function]:
    listing = disassembled(cubin(), tmp_path_factory.mktemp("programs"))
    return {function.name: function for function in listing.functions}


def test_there_are_200_programs_and_a_result_for_each(functions: dict[str, Function]) -> None:
    assert len(plan()["programs"]) == 200
    assert set(plan()["programs"]) == set(results()) == set(functions)


def test_every_word_that_a_program_writes_is_known_and_is_what_the_gpu_wrote(
    functions: dict[str, Function],
) -> None:
    wrong = []
    for name, function in functions.items():
        found = written(function)
        assert not found.unknown_opcodes
        if not found.known.all() or not np.array_equal(found.words, results()[name]):
            wrong.append(name)
    assert not wrong


def test_the_programs_write_different_things(functions: dict[str, Function]) -> None:
    assert len({words.tobytes() for words in results().values()}) > 190


def test_plain_python_gives_what_the_gpu_wrote() -> None:
    for program in programs(200)[::EVERY]:
        assert list(program.parameters) == plan()["programs"][program.name]
        expected = np.array(program.expected(), np.uint32).reshape(-1)
        assert np.array_equal(expected, results()[program.name])


@pytest.mark.gpu
def test_the_gpu_at_hand_writes_what_the_emulator_says(tmp_path: Path) -> None:
    driver = Driver()
    module = driver.module(cubin())
    size = plan()["blocks"] * plan()["threads"] * plan()["variables"] * 4
    out = driver.allocate(size)
    for function in disassembled(cubin(), tmp_path).functions:
        driver.zero(out, size)
        values = [ctypes.c_uint32(p) for p in plan()["programs"][function.name]]
        kernel = driver.function(module, function.name)
        driver.launch(kernel, [plan()["blocks"]], [plan()["threads"]], 0, [out, *values])
        driver.synchronize()
        words = np.frombuffer(driver.download(out, size), np.uint32)
        assert np.array_equal(words, written(function).words)
