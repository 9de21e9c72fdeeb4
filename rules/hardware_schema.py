"""The shape of the files in kb/devices, kb/sources.yaml and kb/method.yaml, and what all share.

Every group of figures carries `source` (keys of kb/sources.yaml), and may carry `status` and
`note`. A figure that is not known is left out, never written as 0.
"""

from __future__ import annotations

from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

Status = Literal[
    "documented",  # NVIDIA says so
    "measured",
    "derived",  # arithmetic on documented figures
    "reported",  # by others, not checked here
    "hypothesis",
    "contested",
    "refuted",
]
ProductClass = Literal["geforce", "pro", "datacenter", "embedded"]
PRODUCT_CLASSES: tuple[ProductClass, ...] = ("geforce", "pro", "datacenter", "embedded")


def checked_name(pattern: str, example: str) -> Any:
    """Make the validator of a name that must match a pattern."""
    import re

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(f"write it like {example}")
        return value

    return AfterValidator(check)


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


ArchName = Annotated[str, checked_name(r"sm_[0-9]+[a-z]?", "sm_86")]
DeviceId = Annotated[str, checked_name(r"[a-z0-9]+(-[a-z0-9]+)*", "rtx-3070-ti")]
SourceKeys = Annotated[tuple[str, ...], BeforeValidator(_as_list), Field(min_length=1)]
NonNegativeInt = Annotated[int, Field(ge=0)]


def unit(text: str) -> Any:
    """Give the field metadata that names the unit of a figure."""
    return Field(default=None, json_schema_extra={"unit": text})


def required(text: str) -> Any:
    """Give the same for a figure that must be there."""
    return Field(json_schema_extra={"unit": text})


class Strict(BaseModel):
    """No unknown keys, no infinities."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)


class Group(Strict):
    """Figures that share a source."""

    source: SourceKeys
    status: Status = "documented"
    note: str | None = None


class Ceilings(Group):
    """Peaks per precision in GFLOP/s (GOP/s for integers), and memory bandwidth in GB/s."""

    formula: str | None = None
    fp32_ffma: PositiveFloat | None = unit("GFLOP/s")
    fp16_hfma2: PositiveFloat | None = unit("GFLOP/s")
    fp64: PositiveFloat | None = unit("GFLOP/s")
    fp16_tensor_fp16acc: PositiveFloat | None = unit("GFLOP/s")
    fp16_tensor_fp32acc: PositiveFloat | None = unit("GFLOP/s")
    bf16_tensor: PositiveFloat | None = unit("GFLOP/s")
    tf32_tensor: PositiveFloat | None = unit("GFLOP/s")
    int8_tensor: PositiveFloat | None = unit("GOP/s")
    fp8_tensor: PositiveFloat | None = unit("GFLOP/s")
    int32: PositiveFloat | None = unit("GOP/s")
    fp64_tensor: PositiveFloat | None = unit("GFLOP/s")
    int4_tensor: PositiveFloat | None = unit("GOP/s")
    b1_tensor: PositiveFloat | None = unit("GOP/s")
    fp6_tensor: PositiveFloat | None = unit("GFLOP/s")
    fp4_tensor: PositiveFloat | None = unit("GFLOP/s")
    dram_gb_per_s: PositiveFloat | None = unit("GB/s")


class Evidence(Strict):
    """Why a published figure is not believed."""

    status: Status
    source: SourceKeys
    because: str


class Published(Ceilings):
    """The figures that the method itself prints, kept beside what is known today."""

    evidence: dict[str, Evidence] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _evidence_for_figures(self) -> Published:
        for name in self.evidence:
            if getattr(self, name, None) is None:
                raise ValueError(f'evidence for "{name}", which has no figure')
        return self


class Measurement(Strict):
    """One ceiling as `kneck probe` found it."""

    value: PositiveFloat
    unit: str
    spread: Annotated[float, Field(ge=0)]  # (largest - smallest) / median of the repetitions
    clock_ghz: PositiveFloat | None = None
    command: str
    source: SourceKeys
    stable: bool = True


class Peaks(Strict):
    """Ceilings by basis; `dense` is the one that verdicts fall back to."""

    dense: Ceilings
    published: Published | None = None
    measured: dict[str, Measurement] = Field(default_factory=dict)


class DeviceFacts(Group):
    """What the product is made of."""

    sm_count: PositiveInt = required("SMs")
    boost_ghz: PositiveFloat = required("GHz")
    l2_bytes: PositiveInt = required("B")
    dram_bytes: PositiveInt | None = unit("B")


class DeviceFile(Strict):
    """kb/devices/ID.yaml."""

    id: DeviceId
    name: str
    arch: ArchName
    product_class: ProductClass
    note: str | None = None
    chip: DeviceFacts
    peaks: Peaks
    measured: dict[str, Measurement] = Field(default_factory=dict)  # costs, latencies, rates


class Citation(Strict):
    """One entry of kb/sources.yaml."""

    title: str
    kind: Literal["header", "manual", "whitepaper", "datasheet", "paper", "project", "measurement"]
    where: str | None = None
    note: str | None = None


def _figure(value: Any) -> Any:
    """Read a scalar as what it looks like: true and false, a number, else text."""
    if isinstance(value, list):
        return tuple(_figure(item) for item in value)
    if value in ("true", "false"):
        return value == "true"
    for kind in (int, float):
        try:
            number = kind(value)
        except (TypeError, ValueError):
            continue
        if not isfinite(number):
            raise ValueError("write a finite number")
        return number
    return value


class MethodFigure(Strict):
    """One threshold of kb/method.yaml."""

    value: Annotated[Any, BeforeValidator(_figure)]
    unit: str
    source: SourceKeys
    status: Status
    note: str | None = None
