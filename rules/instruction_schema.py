"""The shape of the files in kb/instructions, except operands.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PositiveFloat, PositiveInt, model_validator

from .hardware_schema import Group, SourceKeys, Strict

Family = Literal[
    "compute_tensor",
    "compute_fma",
    "special",
    "conversion",
    "integer",
    "compare",
    "move",
    "predicate",
    "uniform",
    "load_global",
    "load_generic",
    "load_shared",
    "load_local",
    "load_constant",
    "load_texture",
    "load_tensor_memory",
    "store_global",
    "store_generic",
    "store_shared",
    "store_local",
    "store_texture",
    "store_tensor_memory",
    "async_copy",
    "async_group",
    "bulk_load",
    "bulk_store",
    "prefetch",
    "atomic_global",
    "atomic_generic",
    "atomic_shared",
    "shuffle",
    "vote",
    "barrier",
    "fence",
    "control",
    "system",
    "other",
]
Space = Literal["global", "generic", "shared", "local", "constant", "texture", "tensor"]
Precision = Literal[
    "none",
    "fp32_ffma",
    "fp16_hfma2",
    "fp64",
    "fp16_tensor_fp16acc",
    "fp16_tensor_fp32acc",
    "bf16_tensor",
    "tf32_tensor",
    "int8_tensor",
    "fp8_tensor",
    "int32",
    "fp64_tensor",
    "int4_tensor",
    "b1_tensor",
    "fp6_tensor",
    "fp4_tensor",
]
Rate = Literal[
    "fp32_ffma",
    "fp64",
    "fp16_hfma2",
    "int32_add",
    "int32_imad",
    "special",
    "shuffle",
    "load_store",
    "tensor",
]
Patterns = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    Field(min_length=1),
]


class EntryFile(Strict):
    """One entry; what it leaves out is left to the other entries that match."""

    match: Patterns
    operands: dict[Annotated[int, Field(ge=0)], str] = Field(default_factory=dict)
    family: Family | None = None
    space: Space | None = None
    timing: str | None = None
    precision: Precision | None = None
    sparse: bool | None = None
    flops_per_warp: str | None = None
    bytes_per_thread: str | None = None


class InstructionFile(Strict):
    """kb/instructions/NAME.yaml: a list of entries."""

    source: SourceKeys
    note: str | None = None
    entries: tuple[EntryFile, ...]


class ClassFile(Strict):
    """One timing class."""

    pipe: str
    rate: Rate | None = None
    work: PositiveFloat | None = None
    cycles: PositiveFloat | None = None
    latency: Literal["variable"] | None = None

    @model_validator(mode="after")
    def _one_interval(self) -> ClassFile:
        if self.rate is not None and self.cycles is not None:
            raise ValueError("give rate or cycles, not both")
        if self.work is not None and (self.rate is None or self.rate == "tensor"):
            raise ValueError("work belongs to a rate")
        return self


class ClassesFile(Group):
    """kb/instructions/classes.yaml."""

    classes: dict[str, ClassFile] = Field(default_factory=dict)
    default_bytes: PositiveInt | None = None
    widths: dict[str, PositiveInt] = Field(default_factory=dict)
