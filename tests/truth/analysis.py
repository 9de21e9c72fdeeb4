"""The counts of one kernel of the set, from cubin, launch, problem and time.

Nothing measured goes in but the time. The verdict is not made here: accuracy.py asks `kneck.infer`.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from kneck.facts.arguments import parse_arguments
from kneck.facts.bounds import Bound, Chip, Work, bounds
from kneck.facts.constant_banks import compiler_constants
from kneck.facts.emulator.launch import Launch
from kneck.facts.hardware import Architecture, Device
from kneck.facts.latency import latency
from kneck.facts.launch_arguments import LaunchSpec, Settings, Task, make_launch
from kneck.facts.launch_work import LaunchWork, launch_work
from kneck.facts.occupancy import occupancy
from kneck.facts.problem import Problem, parse_problem
from kneck.facts.time_anchor import anchor_on_time
from kneck.parsers.cubin import read_cubin
from kneck.parsers.listing import Function, Instruction, Listing, ResourceRecord
from kneck.parsers.sass import parse_sass
from kneck.parsers.tools import find_tool
from kneck.rules.hardware import (
    load_architecture,
    load_device,
    load_instructions,
    load_problem_models,
)
from kneck.rules.hardware_files import shipped_folder
from kneck.rules.operands import load_operand_rules
from kneck.rules.pipes import load_pipes

HERE = Path(__file__).parent
DEVICE = "h200"
DRAM = "dram_gb_per_s"


@dataclass(frozen=True)
class Case:
    """What is known of one kernel before it is analysed."""

    function: Function
    record: ResourceRecord
    problem: Problem
    spec: LaunchSpec


@dataclass(frozen=True)
class Sides:
    """The share of the time that each side needs at least."""

    compute: float
    memory: float


@dataclass(frozen=True)
class Result:
    """What the analysis says, and the processor seconds that it took."""

    work: LaunchWork
    bounds: tuple[Bound, ...]
    roofline: Sides
    seconds: float


@dataclass
class Bench:
    """Hardware data and listings, read once."""

    device_id: str = DEVICE
    listings: dict[str, Listing] = field(default_factory=dict)
    disassembly_seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        folders = [shipped_folder()]
        self.device: Device = load_device(self.device_id, folders)
        architecture = load_architecture(self.device.arch, folders)
        pipes = load_pipes(self.device.arch, folders)
        assert architecture is not None and pipes is not None
        self.architecture: Architecture = architecture
        self.pipes = pipes
        self.table = load_instructions(folders)
        self.rules = load_operand_rules(folders)
        self.models = load_problem_models(folders)

    @cached_property
    def chip(self) -> Chip:
        """What bounds need of the device."""
        device = self.device
        return Chip(
            device.id, device.sm_count, device.boost_ghz, device.product_class, device.l2_bytes,
            self._peak(DRAM),
        )  # fmt: skip

    def _peak(self, name: str) -> float | None:
        peak = self.device.peak(name, "dense")
        return None if peak is None else peak.value

    def listing(self, family: str) -> Listing:
        """Disassemble the cubin of a family."""
        if family not in self.listings:
            tool = find_tool("nvdisasm").path
            command = [str(tool), "-c", "-hex", str(HERE / "cubin" / f"{family}.cubin")]
            began = time.perf_counter()
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            self.disassembly_seconds[family] = time.perf_counter() - began
            self.listings[family] = parse_sass(done.stdout)
        return self.listings[family]

    def case(self, entry: Mapping[str, Any], with_arguments: bool) -> Case:
        """Put together what a user would give."""
        name = str(entry["name"])
        family = name.split("_")[0]
        cubin = (HERE / "cubin" / f"{family}.cubin").read_bytes()
        record = next(r for r in read_cubin(cubin, family).records if r.name == name)
        function = next(f for f in self.listing(family).functions if f.name == name)
        problem = parse_problem(entry["problem"], self.models)
        grid, block = _axes(entry["grid"]), _axes(entry["block"])
        smem = (record.static_smem or 0) + int(entry.get("dynamic_smem", 0))
        threads = block[0] * block[1] * block[2]
        fit = occupancy(self.architecture.limits, record.registers or 1, threads, smem)
        spec = LaunchSpec(
            grid=grid,
            block=block,
            parameters=record.parameters,
            parameter_base=record.parameter_base,
            smem_bytes_per_block=smem + self.architecture.limits.smem_reserved_bytes_per_block,
            blocks_per_sm=fit.blocks_per_sm,
            arguments=parse_arguments(entry["args"], entry.get("dims", {}))
            if with_arguments
            else None,
            banks=compiler_constants(cubin, name),
            frame_bytes=record.stack,
        )
        return Case(function, record, problem, spec)

    def launch(self, case: Case) -> Launch:
        """Give the launch as the emulator sees it."""
        return make_launch(case.spec, self._task(case.problem), self.pipes, Settings())[0]

    def analyse(self, case: Case, time_ms: float) -> Result:
        """Do the analysis with a measured time."""
        began = time.process_time()
        precision = self._precision(case.function)

        def flops_of(instruction: Instruction) -> float | None:
            info = self.table.info(instruction, self.architecture.name, self.device.product_class)
            if info is None or info.precision != precision:
                return None
            return info.flops_per_warp

        work = launch_work(
            case.function, case.spec, self._task(case.problem), self.chip, self.pipes, self.rules,
            flops_of,
        )  # fmt: skip
        roofline = self._roofline(case, precision, time_ms)
        if not work.scale_known:
            chain = latency(work, self.pipes, self.chip.sm_count, self.chip.boost_ghz)
            work = anchor_on_time(work, self._bounds, chain, time_ms)
        found = self._bounds(work.work, time_ms)
        seconds = time.process_time() - began
        return Result(work, found, roofline, seconds)

    def _bounds(self, work: Work, time_ms: float | None = None) -> tuple[Bound, ...]:
        return bounds(work, self.chip, self.pipes, self.table, self.architecture, time_ms)

    def _task(self, problem: Problem) -> Task:
        dimensions = {
            name: float(value)
            for name, value in problem.dimensions.items()
            if isinstance(value, (int, float))
        }
        return Task(problem.kind, dimensions, problem.flops, problem.bytes)

    def _precision(self, function: Function) -> str | None:
        """Give the precision that most operations of the code have, plain integers last."""
        totals: dict[str, float] = {}
        for instruction in function.instructions:
            info = self.table.info(instruction, self.architecture.name, self.device.product_class)
            if info is not None and info.flops_per_warp and info.precision not in (None, "none"):
                name = str(info.precision)
                totals[name] = totals.get(name, 0.0) + float(info.flops_per_warp)
        return max(totals, key=lambda name: (name != "int32", totals[name]), default=None)

    def _roofline(self, case: Case, precision: str | None, time_ms: float) -> Sides:
        """Take operations and unique bytes alone."""
        problem = case.problem
        peak = self._peak(precision) if precision else None
        dram = self._peak(DRAM)
        compute = problem.flops / (peak * 1e6) if problem.flops and peak else 0.0
        memory = problem.bytes / (dram * 1e6) if problem.bytes and dram else 0.0
        return Sides(compute / time_ms, memory / time_ms)


def _axes(values: list[int]) -> tuple[int, int, int]:
    x, y, z = [*values, 1, 1][:3]
    return x, y, z
