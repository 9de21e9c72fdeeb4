"""The integer programs of the tests, emulated: what every thread writes to memory."""

from __future__ import annotations

import json
import lzma
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kneck.engine.emulation_settings import emulation_settings
from kneck.engine.knowledge import load_setting
from kneck.facts.arguments import Argument
from kneck.facts.constant_banks import compiler_constants
from kneck.facts.emulator.budget import Limits
from kneck.facts.emulator.emulate import emulate
from kneck.facts.emulator.launch import Launch, natural_offsets, parameter_bytes
from kneck.facts.emulator.samples import Sample
from kneck.facts.emulator.values import known_in, plain_values
from kneck.facts.pipes import ConstantLayout
from kneck.facts.request import Request
from kneck.parsers.listing import Function, Listing
from kneck.parsers.sass import parse_sass
from kneck.parsers.tools import find_tool
from kneck.rules.hardware_files import shipped_folder
from kneck.rules.operands import load_operand_rules

HERE = Path(__file__).parent
LAYOUT = ConstantLayout(block=0, grid=0xC, stack=0x28, parameters=0x210)  # sm_90

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Written:
    """What a program wrote, one word per thread and variable, and which words are known."""

    words: Words
    known: NDArray[np.bool_]
    unknown_opcodes: dict[str, int]


@cache
def plan() -> dict[str, Any]:
    """Read which programs there are, and with which parameters they run."""
    return dict(json.loads((HERE / "programs.json").read_text()))


@cache
def results() -> dict[str, Words]:
    """Read what an H200 wrote."""
    with np.load(HERE / "results.npz") as stored:
        return {name: stored[name].reshape(-1) for name in stored.files}


@cache
def cubin() -> bytes:
    """Unpack the compiled programs."""
    return lzma.decompress((HERE / "programs.sm_90.cubin.xz").read_bytes())


def disassembled(image: bytes, folder: Path) -> Listing:
    """Disassemble a cubin with its control words."""
    path = folder / "programs.cubin"
    path.write_bytes(image)
    command = [str(find_tool("nvdisasm").path), "-c", "-hex", str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return parse_sass(done.stdout)


@cache
def rules() -> Any:
    """Read which registers an instruction reads and writes."""
    return load_operand_rules([shipped_folder()])


@cache
def limits() -> Limits:
    """Read what an emulation may cost."""
    return emulation_settings(load_setting(Request(target=""))).limits


def written(function: Function) -> Written:
    """Emulate one program over all its blocks."""
    parameters = plan()["programs"][function.name]
    arguments = [Argument("array", "u32", 1000)]
    arguments += [Argument("scalar", "u32", None, value) for value in parameters]
    data, addresses = parameter_bytes(
        arguments, natural_offsets([argument.parameter_bytes for argument in arguments])
    )
    blocks, threads = plan()["blocks"], plan()["threads"]
    samples = tuple(Sample((block, 0, 0), 1.0) for block in range(blocks))
    constants = compiler_constants(cubin(), function.name)
    launch = Launch((blocks, 1, 1), (threads, 1, 1), LAYOUT, samples, data, constants)
    emulation = emulate(function, launch, rules(), limits(), observe_stores=True)
    words = np.zeros(launch.size * plan()["variables"], np.uint32)
    known = np.zeros(words.shape, np.bool_)
    base = addresses[0] & 0xFFFFFFFF
    for touch in emulation.log.touches:
        if touch.instruction.opcode != "STG":
            continue
        places = plain_values(touch.low, (launch.size,)).astype(np.int64)
        index = (places[touch.lanes] - base) // 4
        for offset, cell in enumerate(touch.data):
            words[index + offset] = plain_values(cell, (launch.size,))[touch.lanes]
            known[index + offset] = known_in(cell, (launch.size,))[touch.lanes]
    return Written(words, known, dict(emulation.doubt.unknown_opcodes))
