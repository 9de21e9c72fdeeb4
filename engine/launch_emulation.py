"""The emulation of a launch: what runs, what it touches, and how long each resource needs."""

from __future__ import annotations

from pathlib import Path

from ..facts.anchor import FlopsOf
from ..facts.arch_table import ArchTable
from ..facts.arguments import Argument
from ..facts.bounds import Bound, Chip, Work, bounds
from ..facts.code import Code
from ..facts.constant_banks import compiler_constants
from ..facts.hardware import Architecture, Device
from ..facts.latency import Latency, latency
from ..facts.launch_arguments import LaunchSpec, Task
from ..facts.launch_facts import axes
from ..facts.launch_work import LaunchWork, launch_work
from ..facts.occupancy import occupancy
from ..facts.problem import Problem
from ..facts.remedy_facts import BoundsOf
from ..facts.request import Request
from ..facts.time_anchor import settled
from ..parsers.errors import KneckError
from ..parsers.listing import Function, Instruction, ResourceRecord
from ..parsers.record import dataclass
from .emulation_settings import emulation_settings
from .knowledge import Setting

PRECISION = "roofline.precision"


@dataclass(frozen=True)
class Launched:
    """A function with what is known of its launch; `path` is the file that it was read from."""

    function: Function
    path: str
    request: Request
    problem: Problem | None
    device: Device | None
    architecture: Architecture | None


@dataclass(frozen=True)
class Gap:
    """Why a launch cannot be emulated, and the facts that would make it possible."""

    because: str
    needs: tuple[str, ...]


@dataclass(frozen=True)
class Emulated:
    """The work of a launch, and the bound of each resource."""

    work: LaunchWork
    limits: tuple[Bound, ...]
    bounds_of: BoundsOf
    table: ArchTable
    chain: Latency | None = None  # where the counts are emulated


def emulated(code: Code, launched: Launched, setting: Setting) -> Emulated | Gap:
    """Emulate the launch and bound its time, or say why that cannot be."""
    request, device = launched.request, launched.device
    architecture = launched.architecture
    pipes = setting.hardware.pipes(architecture.name) if architecture is not None else None
    if request.grid is None or request.block is None:
        return Gap("the launch was not given", ("launch.grid", "launch.block"))
    if device is None:
        return Gap("the device is not known", ("device.id",))
    if architecture is None or pipes is None:
        name = architecture.name if architecture is not None else code.arch
        return Gap(f"kb/pipes has no file for {name}", ())
    spec = launch_spec(code, launched, architecture)
    if spec is None:
        return Gap("the block cannot be launched", ())
    table = ArchTable(setting.hardware.instructions, architecture.name, device.product_class)
    chip = _chip(device, setting)
    task, flops_of = _task(launched.problem), _flops(code, table)
    settings = emulation_settings(setting)
    found = launch_work(
        launched.function, spec, task, chip, pipes, setting.hardware.operands, flops_of, settings
    )

    def bounds_of(work: Work, time_ms: float | None = None) -> tuple[Bound, ...]:
        return bounds(
            work, chip, pipes, table.table, architecture, time_ms, settings.plausible_share
        )

    chain = latency(found, pipes, chip.sm_count, chip.boost_ghz, settings.launch_ms)
    if request.time_ms is not None and (not found.scale_known or found.anchor is not None):
        found = settled(found, bounds_of, chain, request.time_ms, settings)
    return Emulated(
        found,
        bounds_of(found.work, request.time_ms),
        lambda work: bounds_of(work, request.time_ms),
        table,
        chain if found.work.executed.basis == "emulation" else None,
    )


def check_arguments(code: Code, launched: Launched) -> None:
    """Hold --args against the parameters that the binary declares; raises KneckError.

    A listing declares none.
    """
    from ..facts.parameters import check_parameters

    arguments = arguments_of(launched)
    record = next(iter(code.records), None)
    if arguments is not None and record is not None and record.parameters is not None:
        check_parameters(arguments, record.parameters, structures=True)


def arguments_of(launched: Launched) -> tuple[Argument, ...] | None:
    """Read --args with the problem's dimensions; None where it was not given."""
    from ..facts.arguments import parse_arguments

    request, problem = launched.request, launched.problem
    if request.args is None:
        return None
    dimensions = {} if problem is None else {n: float(v) for n, v in problem.dimensions.items()}
    return parse_arguments(request.args, dimensions)


def _chip(device: Device, setting: Setting) -> Chip:
    dram = device.peak("dram_gb_per_s", setting.basis)
    return Chip(
        device.id,
        device.sm_count,
        device.boost_ghz,
        device.product_class,
        device.l2_bytes,
        dram.value if dram is not None else None,
    )


def _task(problem: Problem | None) -> Task:
    if problem is None:
        return Task()
    dimensions = {name: float(value) for name, value in problem.dimensions.items()}
    return Task(problem.kind, dimensions, problem.flops, problem.bytes)


def _flops(code: Code, table: ArchTable) -> FlopsOf:
    """Count operations of the kernel's own precision only."""
    precision = next((f.value for f in code.facts if f.name == PRECISION), None)

    def flops_of(instruction: Instruction) -> float | None:
        info = table.info(instruction)
        if info is None:
            return None
        return info.flops_per_warp if info.precision == precision else 0

    return flops_of


def launch_spec(code: Code, launched: Launched, architecture: Architecture) -> LaunchSpec | None:
    """Describe the launch, the driver's reserve of shared memory included; None: it cannot be."""
    request = launched.request
    record: ResourceRecord | None = next(iter(code.records), None)
    grid, block = axes(request.grid or ""), axes(request.block or "")
    registers = record.registers if record is not None else None
    smem = (record.static_smem or 0 if record is not None else 0) + (request.dynamic_smem or 0)
    blocks = 1
    if registers is not None:
        try:
            threads = block[0] * block[1] * block[2]
            blocks = occupancy(architecture.limits, registers, threads, smem).blocks_per_sm
        except KneckError:
            return None
        if blocks == 0:
            return None
    banks = {}
    if record is not None and request.stdin is None:
        banks = compiler_constants(Path(launched.path).read_bytes(), code.name, launched.path)
    return LaunchSpec(
        (grid[0], grid[1], grid[2]),
        (block[0], block[1], block[2]),
        record.parameters if record is not None else None,
        record.parameter_base if record is not None else None,
        smem + architecture.limits.smem_reserved_bytes_per_block,
        blocks,
        arguments_of(launched),
        banks,
        record.stack if record is not None else None,
    )
