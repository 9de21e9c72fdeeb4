"""The emulation ends after a count of work, however the code jumps and however slow the machine."""

from __future__ import annotations

import random
import re
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import kneck
from kneck.engine.code_analysis import launched_code
from kneck.engine.emulation_settings import emulation_settings
from kneck.engine.extraction import problem_of
from kneck.engine.launch_emulation import Launched, launch_spec
from kneck.engine.target import opened
from kneck.engine.truth.verdicts import request_for
from kneck.facts import emulator
from kneck.facts.emulator.budget import Budget, Limits
from kneck.facts.emulator.emulate import Emulation, emulate
from kneck.facts.emulator.launch import Launch
from kneck.facts.executed import from_emulation
from kneck.facts.launch_arguments import Task, make_launch
from kneck.facts.sampled_lines import sampled_lines
from kneck.parsers.listing import Function
from kneck.parsers.sass import branch_target
from kneck.parsers.tools import find_tool

from ...truth.analysis import HERE, setting, truth

SETTINGS = emulation_settings(setting())
LIMITS = replace(SETTINGS.limits, budget=SETTINGS.limits.budget / 20)
ALTERED = [  # kernels and seeds that never end by themselves
    ("sgemm_naive", 0), ("sgemm_naive", 1), ("hgemm_direct", 1), ("chase_one", 0),
    ("spill_capped", 1), ("scan_shuffle", 0),
]  # fmt: skip


@cache
def kernel(name: str) -> tuple[Function, Launch]:
    """Read a kernel of the set, and the launch that it was measured with."""
    request = request_for(truth().kernel(name), truth(), True)
    with opened(request, setting()) as target:
        problem = problem_of(request, setting())
        code, found = launched_code(target.start().result(), target, problem, setting())
    return found.function, _launch(code, found)


def _launch(code: Any, found: Launched) -> Launch:
    assert found.architecture is not None
    spec = launch_spec(code, found, found.architecture)
    pipes = setting().hardware.pipes(found.architecture.name)
    assert spec is not None and pipes is not None
    return make_launch(spec, Task(), pipes, SETTINGS)[0]


def altered(function: Function, seed: int) -> Function:
    """Let every direct branch go to an instruction taken at random."""
    chosen = random.Random(seed)
    code, labels = list(function.instructions), dict(function.labels)
    for place, instruction in enumerate(code):
        if instruction.opcode not in ("BRA", "BSSY") or not branch_target(instruction, function):
            continue
        name = f".L_altered_{place}"
        labels[name] = code[chosen.randrange(len(code))].address
        operands = tuple(
            replace(o, text=name, label=name) if o.kind == "label" else o
            for o in instruction.operands
        )
        code[place] = replace(instruction, operands=operands)
    return replace(function, instructions=tuple(code), labels=labels)


def run(name: str, seed: int, limits: Limits = LIMITS) -> Emulation:
    """Emulate a kernel whose branches were altered."""
    function, launch = kernel(name)
    return emulate(altered(function, seed), launch, setting().hardware.operands, limits)


def dearest_block(found: Emulation) -> float:
    """Give the most that one more block can cost: itself, and every way to close a loop there."""
    budget, size = Budget(LIMITS), found.launch.size
    controls = sum(map(len, found.log.results))
    most = max(
        budget.of_block(len(b.steps), len(b.steps), len(b.steps), size)
        for b in found.program.blocks
    )
    return most + 32 * budget.of_following(controls, size, controls)


@pytest.mark.parametrize(("name", "seed"), ALTERED)
def test_altered_branches_cost_no_more_than_the_budget(name: str, seed: int) -> None:
    found = run(name, seed)
    assert found.doubt.ended_early
    assert LIMITS.budget < found.spent < LIMITS.budget + dearest_block(found)
    # Whatever is analysed afterwards has been paid for when it was recorded.
    assert len(found.log) * LIMITS.costs.block < found.spent
    per_access = LIMITS.costs.access + LIMITS.costs.access_lane * found.launch.size
    assert len(found.log.touches) * per_access < found.spent


def test_the_same_work_ends_at_the_same_place_every_time() -> None:
    once, again = run("sgemm_naive", 0), run("sgemm_naive", 0)
    assert once.log.blocks == again.log.blocks
    assert once.log.weights == again.log.weights
    assert once.spent == again.spent


def test_a_larger_budget_goes_on_where_the_smaller_one_ended() -> None:
    small = run("hgemm_direct", 1)
    large = run("hgemm_direct", 1, replace(LIMITS, budget=2 * LIMITS.budget))
    assert len(large.log) > len(small.log)
    assert large.log.blocks[: len(small.log)] == small.log.blocks


def test_no_module_of_the_emulator_reads_a_clock() -> None:
    folder = Path(emulator.__file__).parent
    modules = sorted(folder.glob("*.py"))
    assert len(modules) > 10
    assert not [
        m.name for m in modules if re.search(r"^\s*(import|from) time\b", m.read_text(), re.M)
    ]


def test_counts_of_an_emulation_that_was_ended_are_no_upper_limit() -> None:
    found = from_emulation(run("sgemm_naive", 0))
    assert not found.exact
    assert any("budget" in doubt for doubt in found.doubts)
    assert {span.high for span in found.counts.values()} == {float("inf")}


def test_lines_are_worked_out_up_to_a_number_and_what_is_left_out_is_said() -> None:
    function, launch = kernel("spill_free")
    whole = emulate(function, launch, setting().hardware.operands, SETTINGS.limits)
    assert not whole.doubt.ended_early
    every = sampled_lines(whole, SETTINGS.most_lines)
    total = sum(len(found or ()) for found in every.requests)
    assert every.complete and total
    some = sampled_lines(whole, total // 2)
    assert not some.complete
    assert len(some.requests) == len(every.requests)
    last = max(len(found or ()) for found in every.requests)
    assert total // 2 < sum(len(found or ()) for found in some.requests) <= total // 2 + last


def test_a_report_says_that_the_emulation_was_ended(tmp_path: Path) -> None:
    entry = truth().kernel("sgemm_naive")
    cubin = HERE / "cubin" / "sgemm.cubin"
    command = [str(find_tool("nvdisasm").path), "-c", "-hex", str(cubin)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    begin = text.index(f".section\t.text.{entry.name}")
    part = text[begin : text.find(".section\t.text.", begin + 1)]
    names = re.findall(r"^(\.L_x_\d+):", part, re.M)
    chosen = random.Random(3)
    jump = re.compile(r"(BRA `\()\.L_x_\d+")
    changed = jump.sub(lambda match: match[1] + chosen.choice(names), part)
    path = tmp_path / "altered.sass"
    path.write_text(text[:begin] + changed + text[begin + len(part) :])
    found = kneck.infer(
        str(path), kernel=entry.name, gpu="h200", grid=(128, 128), block=(16, 16),
        args="f32[4194304], f32[4194304], f32[4194304], i32=2048, i32=2048, i32=2048",
    )  # fmt: skip
    facts = {row.name: row.value for row in found.facts}
    said = {limit.id for limit in found.limits}
    assert facts["emulation.ended_early"] is ("emulation-ended-early" in said)
    assert "emulation-ended-early" in said
