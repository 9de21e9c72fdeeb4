"""What is known of the hardware: limits of an architecture, peaks of a device.

Limits and rates per SM belong to the architecture (compute capability); the number of SMs, the
clock and the bandwidth belong to the device. Nothing here holds a figure: all of them are read
from `kb/architectures` and `kb/devices` by `rules.hardware`, and each keeps its citation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from ..parsers.record import dataclass
from .model import Fact

PeaksBasis = Literal["dense", "published", "measured"]


@dataclass(frozen=True, slots=True)
class SmLimits:
    """What one SM can hold and what one block may ask for; sizes in bytes unless named KB.

    `named_barriers_per_sm` and `virtual_resources_per_sm` are None where the architecture does
    not limit blocks by them.
    """

    threads_per_warp: int
    max_warps_per_sm: int
    max_threads_per_sm: int
    max_blocks_per_sm: int
    max_threads_per_block: int
    registers_per_sm: int
    registers_per_block: int
    max_registers_per_thread: int
    launch_check_registers_per_thread: int
    register_allocation_unit: int
    warp_allocation_granularity: int
    sub_partitions: int
    smem_bytes_per_sm: int
    smem_bytes_per_block_default: int
    smem_bytes_per_block_optin: int
    smem_reserved_bytes_per_block: int
    smem_allocation_granularity_bytes: int
    smem_carveouts_kb: tuple[int, ...]
    named_barriers_per_sm: int | None = None
    virtual_resources_per_sm: int | None = None


@dataclass(frozen=True)
class Timing:
    """Instruction timing of one architecture, in issue cycles of a sub-partition.

    Keys of the mappings are the timing classes that `kb/instructions` gives to opcodes. `between`
    holds overrides for a producer and a reader ("half>memory"), `distances` the rules that hold
    for all classes (cross_pipe_extra, predicate_to_guard, ...).
    """

    fixed_latency: Mapping[str, int] = field(default_factory=dict)
    variable_latency: frozenset[str] = frozenset()
    issue_interval: Mapping[str, float] = field(default_factory=dict)
    written_stall: Mapping[str, int] = field(default_factory=dict)
    between: Mapping[str, int] = field(default_factory=dict)
    distances: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Architecture:
    """One compute capability.

    `rates` count lanes (fused multiply-adds, instructions times lanes, or bytes) per SM and clock;
    `tensor` counts dense multiply-accumulates per SM and clock, by precision and product class.
    `facts` are the same figures as facts named `arch.*`, each with its place and citation.
    """

    name: str
    compute_capability: str
    generation: str
    limits: SmLimits
    rates: Mapping[str, float]
    tensor: Mapping[str, Mapping[str, float]]
    timing: Timing
    capabilities: Mapping[str, bool]
    facts: tuple[Fact, ...]
    chips: tuple[str, ...] = ()
    path: str = ""

    def tensor_rate(self, precision: str, product_class: str | None) -> float | None:
        """Give dense multiply-accumulates per SM and clock.

        With the product class unknown, the rate is known only where all classes share it.
        """
        rates = self.tensor.get(precision, {})
        if product_class is not None:
            return rates.get(product_class)
        return next(iter(rates.values())) if len(set(rates.values())) == 1 else None


@dataclass(frozen=True, slots=True)
class Peak:
    """One ceiling: GFLOP/s (GOP/s) for a precision, or GB/s for a memory."""

    name: str
    value: float
    unit: str
    basis: PeaksBasis
    source: str
    status: str


@dataclass(frozen=True)
class Device:
    """One product: the chip's SMs, clock, caches, bandwidth and peaks.

    `peaks[basis]` maps a precision (or `dram_gb_per_s` and other measured ceilings) to its peak.
    """

    id: str
    name: str
    arch: str
    product_class: str
    sm_count: int
    boost_ghz: float
    l2_bytes: int
    peaks: Mapping[str, Mapping[str, Peak]]
    facts: tuple[Fact, ...]
    path: str = ""

    def peak(self, name: str, basis: PeaksBasis | None = None) -> Peak | None:
        """Give a ceiling in a basis; without one, the measured value where there is one.

        A basis that lacks the figure falls back to dense, and the result says so in `basis`.
        """
        order = ("measured", "dense") if basis is None else (basis, "dense")
        for candidate in order:
            found = self.peaks.get(candidate, {}).get(name)
            if found is not None:
                return found
        return None
