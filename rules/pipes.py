"""Read kb/pipes: groups of opcodes, and per architecture what they cost and the path to memory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PositiveFloat, PositiveInt

from ..facts.pipes import (
    Clocks,
    ConstantLayout,
    L2Path,
    Latencies,
    Pattern,
    PipeTable,
    by_opcode,
    pattern,
)
from ..parsers.suggest import suggestion
from .documents import Document, validate
from .hardware_files import check_sources, entries, load_sources, read_file
from .hardware_schema import ArchName, NonNegativeInt, SourceKeys, Status, Strict

FOLDER = "pipes"
OPCODES = "opcodes"
CITATION = ("source", "status", "note")  # keys of `costs` that are no group
PIPES = frozenset(
    {"fma", "fma_heavy", "alu", "fp64", "xu", "lsu", "adu", "uniform", "branch", "tensor", "fp16"}
)
Share = Annotated[float, Field(ge=0, le=1)]


class GroupFile(Strict):
    """kb/pipes/opcodes.yaml."""

    source: SourceKeys
    groups: dict[str, tuple[str, ...]]


class Cited(Strict):
    """What every group of figures carries."""

    source: SourceKeys
    status: Status


class ConstantBank(Cited):
    """Layout of constant bank 0, in bytes."""

    block: NonNegativeInt
    grid: NonNegativeInt
    stack: NonNegativeInt
    parameters: NonNegativeInt


class L1Figures(Cited):
    """Size and rate of L1."""

    bytes_per_sm: PositiveInt
    usable_fraction: Share
    wavefronts_per_clock: PositiveFloat


class L2Device(Strict):
    """What one chip's L2 does per nanosecond."""

    tags_per_ns: PositiveFloat
    read_sectors_per_ns: PositiveFloat
    write_slots_per_ns: PositiveFloat


class L2Figures(Cited):
    """What requests cost in L2."""

    devices: dict[str, L2Device]
    store_tags_per_line: PositiveFloat
    dram_tags_per_line: PositiveFloat
    dram_tags_per_written_line: PositiveFloat
    read_slots: PositiveFloat
    bulk_read_share: Share


class ClockDevice(Strict):
    """Clocks of one device, in GHz."""

    plain: PositiveFloat
    tensor: PositiveFloat
    warpgroup: PositiveFloat


class ClockFigures(Cited):
    """Clocks as run."""

    devices: dict[str, ClockDevice]
    tensor_from_share: Share


class DramDevice(Strict):
    """What 100 % of DRAM is."""

    gb_per_s: PositiveFloat


class DramFigures(Cited):
    """DRAM by device."""

    devices: dict[str, DramDevice]


class LatencyFigures(Cited):
    """Cycles until a result is there."""

    l1: PositiveFloat
    l2: PositiveFloat
    dram: PositiveFloat
    shared: PositiveFloat
    shuffle: PositiveFloat
    special: PositiveFloat
    constant: PositiveFloat
    atomic: PositiveFloat
    barrier: PositiveFloat
    operands: PositiveFloat
    other: PositiveFloat
    atomic_sector_ns: PositiveFloat


class PipeFile(Strict):
    """One architecture."""

    arch: ArchName
    costs: dict[str, Any]
    tensor_from_rate: tuple[str, ...]
    hot: tuple[str, ...] = ()
    warpgroup: tuple[str, ...] = ()
    constant_bank: ConstantBank
    l1: L1Figures
    l2: L2Figures | None = None
    clock: ClockFigures | None = None
    dram: DramFigures | None = None
    latency: LatencyFigures | None = None


def load_pipes(arch: str, folders: Sequence[Path]) -> PipeTable | None:
    """Read the pipes of an architecture; None where it has no file.

    A name with a target suffix (`sm_90a`) means the same hardware as the one without.
    Raises KnowledgeError for an unknown group, pipe or source, with its place.
    """
    known = entries(folders, FOLDER)
    stem = arch if arch in known else re.sub(r"(?<=[0-9])[a-z]$", "", arch)
    if stem not in known or stem == OPCODES or OPCODES not in known:
        return None
    sources = load_sources(folders)
    groups = _groups(read_file(*known[OPCODES]), sources)
    document = read_file(*known[stem])
    parsed = validate(document, PipeFile)
    if "source" not in parsed.costs:
        raise document.error('missing "source"', "costs", help="cite a key of kb/sources.yaml")
    for section in ("costs", "constant_bank", "l1", "l2", "clock", "dram", "latency"):
        value = document.data.get(section) if isinstance(document.data, dict) else None
        if isinstance(value, dict) and "source" in value:
            keys = value["source"]
            cited = tuple(map(str, keys)) if isinstance(keys, list) else (str(keys),)
            check_sources(document, cited, sources, section, "source")
    return _table(document, parsed, groups)


def _groups(document: Document, sources: Mapping[str, str]) -> tuple[Pattern, ...]:
    parsed = validate(document, GroupFile)
    check_sources(document, parsed.source, sources, "source")
    return tuple(pattern(name, text) for name, texts in parsed.groups.items() for text in texts)


def _table(document: Document, parsed: PipeFile, patterns: tuple[Pattern, ...]) -> PipeTable:
    names = {one.group for one in patterns}
    costs = {
        group: _cost(document, group, uses)
        for group, uses in parsed.costs.items()
        if group not in CITATION
    }
    for group in costs:
        _check_group(document, group, names, "costs", group)
    for key in ("tensor_from_rate", "hot", "warpgroup"):
        for index, group in enumerate(getattr(parsed, key)):
            _check_group(document, group, names, key, index)
    bank, l1, l2 = parsed.constant_bank, parsed.l1, parsed.l2
    return PipeTable(
        arch=parsed.arch,
        patterns=by_opcode(patterns),
        costs=costs,
        from_rate=frozenset(parsed.tensor_from_rate),
        hot_groups=frozenset(parsed.hot),
        warpgroup_groups=frozenset(parsed.warpgroup),
        layout=ConstantLayout(bank.block, bank.grid, bank.stack, bank.parameters),
        l1_bytes=l1.bytes_per_sm,
        l1_usable_fraction=l1.usable_fraction,
        wavefronts_per_clock=l1.wavefronts_per_clock,
        l2={name: _l2(device, l2) for name, device in l2.devices.items()} if l2 else {},
        clocks=_clocks(parsed.clock),
        dram_gb_per_s={
            name: device.gb_per_s
            for name, device in (parsed.dram.devices if parsed.dram else {}).items()
        },
        status=str(parsed.costs.get("status", "hypothesis")),
        latencies=_latencies(parsed.latency),
        sources={"costs": f"{document.place('costs')}"},
    )


def _check_group(document: Document, group: str, names: set[str], *at: str | int) -> None:
    if group not in names:
        raise document.error(f'unknown group "{group}"', *at, help=suggestion(group, names))


def _cost(document: Document, group: str, uses: Any) -> dict[str, float]:
    """Read what one group takes of each pipe, in cycles of a sub-partition."""
    if not isinstance(uses, dict) or not uses:
        what = f'"{group}" takes no pipe'
        raise document.error(what, "costs", group, help="write pipe and cycles, as {fma: 1}")
    found = {}
    for pipe, text in uses.items():
        at = ("costs", group, pipe)
        if pipe not in PIPES:
            raise document.error(f'unknown pipe "{pipe}"', *at, help=suggestion(pipe, PIPES))
        cycles = _positive(text)
        if cycles is None:
            raise document.error(f'"{text}" is no number of cycles', *at, help="write one above 0")
        found[pipe] = cycles
    return found


def _positive(text: Any) -> float | None:
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if 0 < value < inf else None


def _latencies(figures: LatencyFigures | None) -> Latencies | None:
    if figures is None:
        return None
    return Latencies(**figures.model_dump(exclude={"source", "status"}))


def _l2(device: L2Device, figures: L2Figures) -> L2Path:
    return L2Path(
        device.tags_per_ns,
        device.read_sectors_per_ns,
        device.write_slots_per_ns,
        figures.store_tags_per_line,
        figures.dram_tags_per_line,
        figures.dram_tags_per_written_line,
        figures.read_slots,
        figures.bulk_read_share,
    )


def _clocks(figures: ClockFigures | None) -> dict[str, Clocks]:
    if figures is None:
        return {}
    return {
        name: Clocks(device.plain, device.tensor, device.warpgroup, figures.tensor_from_share)
        for name, device in figures.devices.items()
    }
