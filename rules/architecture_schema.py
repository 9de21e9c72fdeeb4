"""The shape of the files in kb/architectures.

Every group carries `source` and may carry `status` and `note`; all groups but `limits` may be left
out, and so may every figure in them: what is not known is not written.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, PositiveFloat, PositiveInt, model_validator

from .hardware_schema import (
    PRODUCT_CLASSES,
    ArchName,
    Group,
    NonNegativeInt,
    Strict,
    checked_name,
    required,
    unit,
)


class Limits(Group):
    """What one SM holds and one block may ask for."""

    threads_per_warp: PositiveInt = required("threads")
    max_warps_per_sm: PositiveInt = required("warps")
    max_threads_per_sm: PositiveInt = required("threads")
    max_blocks_per_sm: PositiveInt = required("blocks")
    max_threads_per_block: PositiveInt = required("threads")
    registers_per_sm: PositiveInt = required("registers")
    registers_per_block: PositiveInt = required("registers")
    max_registers_per_thread: PositiveInt = required("registers")
    launch_check_registers_per_thread: PositiveInt = required("registers")
    register_allocation_unit: PositiveInt = required("registers per warp")
    warp_allocation_granularity: PositiveInt = required("warps")
    sub_partitions: PositiveInt = required("sub-partitions")
    smem_bytes_per_sm: PositiveInt = required("B")
    smem_bytes_per_block_default: PositiveInt = required("B")
    smem_bytes_per_block_optin: PositiveInt = required("B")
    smem_reserved_bytes_per_block: NonNegativeInt = required("B")
    smem_allocation_granularity_bytes: PositiveInt = required("B")
    smem_carveouts_kb: tuple[NonNegativeInt, ...] = required("KB")
    named_barriers_per_sm: PositiveInt | None = unit("barriers")
    virtual_resources_per_sm: PositiveInt | None = unit("virtual resources")

    @model_validator(mode="after")
    def _consistent(self) -> Limits:
        if self.max_warps_per_sm * self.threads_per_warp != self.max_threads_per_sm:
            raise ValueError("max_warps_per_sm x threads_per_warp must be max_threads_per_sm")
        if self.registers_per_sm % self.sub_partitions:
            raise ValueError("registers_per_sm must divide evenly into the sub_partitions")
        if not self.smem_carveouts_kb or max(self.smem_carveouts_kb) * 1024 != (
            self.smem_bytes_per_sm
        ):
            raise ValueError("the largest of smem_carveouts_kb must be smem_bytes_per_sm / 1024")
        return self


class Rates(Group):
    """Throughput of one SM per clock, in lanes unless the name says bytes."""

    fp32_ffma: PositiveFloat | None = unit("fused multiply-adds per SM and clock")
    fp64: PositiveFloat | None = unit("fused multiply-adds per SM and clock")
    fp16_hfma2: PositiveFloat | None = unit("fused multiply-adds per SM and clock")
    int32_add: PositiveFloat | None = unit("operations per SM and clock")
    int32_imad: PositiveFloat | None = unit("multiply-adds per SM and clock")
    special: PositiveFloat | None = unit("lanes per SM and clock")
    shuffle: PositiveFloat | None = unit("lanes per SM and clock")
    load_store: PositiveFloat | None = unit("lanes per SM and clock")
    issue: PositiveFloat | None = unit("warp instructions per SM and clock")
    smem_bytes: PositiveFloat | None = unit("B per SM and clock")


class ClassRates(Strict):
    """A tensor rate that differs between products with the same compute capability."""

    geforce: PositiveFloat | None = None
    pro: PositiveFloat | None = None
    datacenter: PositiveFloat | None = None
    embedded: PositiveFloat | None = None


TensorRate = Annotated[
    ClassRates | None,
    BeforeValidator(lambda v: dict.fromkeys(PRODUCT_CLASSES, v) if isinstance(v, str) else v),
    Field(default=None, json_schema_extra={"unit": "dense multiply-accumulates per SM and clock"}),
]


class Tensor(Group):
    """Dense multiply-accumulates per SM and clock, one figure or one per product class."""

    fp16_tensor_fp16acc: TensorRate = None
    fp16_tensor_fp32acc: TensorRate = None
    bf16_tensor: TensorRate = None
    tf32_tensor: TensorRate = None
    int8_tensor: TensorRate = None
    fp8_tensor: TensorRate = None
    fp64_tensor: TensorRate = None
    int4_tensor: TensorRate = None
    b1_tensor: TensorRate = None
    fp6_tensor: TensorRate = None
    fp4_tensor: TensorRate = None


class Memory(Group):
    """The memory path of one SM."""

    unified_l1_bytes_per_sm: PositiveInt | None = unit("B")
    smem_banks: PositiveInt | None = unit("banks")
    smem_bank_bytes: PositiveInt | None = unit("B")
    sector_bytes: PositiveInt | None = unit("B")
    line_bytes: PositiveInt | None = unit("B")
    tensor_memory_bytes_per_sm: PositiveInt | None = unit("B")


class MemoryLatency(Group):
    """Latencies of a dependent load in cycles, unloaded unless the name says otherwise."""

    smem_latency_cycles: PositiveInt | None = unit("cycles")
    l1_latency_cycles: PositiveInt | None = unit("cycles")
    l2_latency_cycles: PositiveInt | None = unit("cycles")
    dram_latency_cycles: PositiveInt | None = unit("cycles")
    shuffle_latency_cycles: PositiveInt | None = unit("cycles")
    dram_latency_ns: PositiveFloat | None = unit("ns")
    loaded_dram_latency_ns: PositiveFloat | None = unit("ns")


class InstructionCache(Group):
    """Bytes of code that an SM fetches without leaving its own cache."""

    instruction_cache_bytes: PositiveInt = required("B")


class LatencyHiding(Group):
    """The rule of thumb of the method's step 3."""

    min_warps_for_latency: PositiveInt = required("warps")


class Capabilities(Group):
    """What the architecture can do; rules ask these instead of its name. Left out: not known."""

    has_uniform_datapath: bool | None = None
    has_async_copy: bool | None = None
    has_bulk_copy: bool | None = None
    has_tma: bool | None = None
    has_clusters: bool | None = None
    has_tensor_cores: bool | None = None
    has_wgmma: bool | None = None
    has_tcgen05: bool | None = None
    has_ldmatrix: bool | None = None
    has_stmatrix: bool | None = None
    has_warp_reduce: bool | None = None
    has_packed_fp32: bool | None = None
    has_tensor_bf16: bool | None = None
    has_tensor_tf32: bool | None = None
    has_tensor_int8: bool | None = None
    has_tensor_fp8: bool | None = None
    has_tensor_fp8_mma: bool | None = None
    has_tensor_fp64: bool | None = None
    res_usage_includes_reserve: bool | None = None


class Distances(Strict):
    """Rules of the scheduler that hold for all classes, in cycles."""

    cross_pipe_extra: PositiveInt | None = None
    predicate_to_guard: PositiveInt | None = None
    uniform_predicate_to_guard: PositiveInt | None = None
    scoreboard_to_wait: PositiveInt | None = None
    operand_to_load: PositiveInt | None = None  # a load into a register that was just read
    tensor_operand_to_write: PositiveInt | None = None
    control_stall: PositiveInt | None = None
    yield_from_stall: PositiveInt | None = None


class TimingGroup(Group):
    """Issue timing by class; the classes are those that kb/instructions gives to opcodes.

    `between` overrides the distance of a producer and a reader: "producer>reader", each a class
    or a pipe, or "*" for any other.
    """

    fixed_latency: dict[str, PositiveInt] = Field(default_factory=dict)
    variable_latency: tuple[str, ...] = ()
    issue_interval: dict[str, PositiveFloat] = Field(default_factory=dict)
    written_stall: dict[str, PositiveInt] = Field(default_factory=dict)
    between: dict[str, PositiveInt] = Field(default_factory=dict)
    distances: Distances = Field(default_factory=lambda: Distances())

    @model_validator(mode="after")
    def _one_kind(self) -> TimingGroup:
        both = sorted(set(self.fixed_latency) & set(self.variable_latency))
        if both:
            raise ValueError(f"{', '.join(both)}: either fixed_latency or variable_latency")
        return self


class ArchitectureFile(Strict):
    """kb/architectures/sm_XX.yaml."""

    arch: ArchName
    compute_capability: Annotated[str, checked_name(r"[0-9]+\.[0-9]", "8.6")]
    generation: str
    chips: tuple[str, ...] = ()
    limits: Limits
    rates: Rates | None = None
    tensor: Tensor | None = None
    memory: Memory | None = None
    memory_latency: MemoryLatency | None = None
    instruction_cache: InstructionCache | None = None
    latency_hiding: LatencyHiding | None = None
    capabilities: Capabilities | None = None
    timing: TimingGroup | None = None
