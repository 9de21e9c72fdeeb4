"""Shape of `kb/measurement.yaml` and `kb/probes/probes.yaml`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

Fraction = Annotated[float, Field(gt=0, le=1)]
Quantity = Literal[
    "cycles_per_instruction", "per_sm_clock", "per_ns", "latency_cycles", "latency_ns"
]
Arch = Annotated[str, Field(pattern=r"sm_[0-9]{2,3}")]


class Strict(BaseModel):
    """Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class TimingFile(Strict):
    """Warm-up and measuring loop."""

    warm_up_launches: PositiveInt
    warm_up_ms: PositiveFloat
    warm_up_change_fraction: Fraction
    timer_step_ms: PositiveFloat
    warm_up_limit_s: PositiveFloat
    batch_ms: PositiveFloat
    batch_launches: PositiveInt
    time_limit_s: PositiveFloat
    flush_l2_multiple: PositiveFloat
    rotate_l2_multiple: PositiveFloat
    empty_launches: PositiveInt
    queue_us_per_launch: PositiveFloat


class SeriesFile(Strict):
    """When a series is settled."""

    confidence: Annotated[float, Field(gt=0, lt=1)]
    interval_fraction: Fraction
    smallest_count: PositiveInt
    drift_fraction: Fraction
    drift_score: PositiveFloat
    mode_fraction: Annotated[float, Field(gt=0, lt=0.5)]
    mode_gap_fraction: Fraction
    mode_gap_spreads: PositiveFloat


class HarnessFile(Strict):
    """The user's own benchmark."""

    time_limit_s: PositiveFloat


class ComparisonFile(Strict):
    """Two builds beside each other."""

    change_fraction: Fraction
    regression_fraction: Fraction


class MeasurementFile(Strict):
    """The whole file."""

    timing: TimingFile
    series: SeriesFile
    harness: HarnessFile
    comparison: ComparisonFile


class LaunchEntry(Strict):
    """A block size to try."""

    threads: PositiveInt
    per_sm: PositiveInt = 1
    dynamic_smem: Annotated[int, Field(ge=0)] = 0


class BufferEntry(Strict):
    """How large the buffer is."""

    bytes: PositiveInt | None = None
    l2: PositiveFloat | None = None
    free: Fraction | None = None
    most: PositiveInt | None = None
    per_block: PositiveInt | None = None
    power_of_two: bool = False


class ProbeSettingsFile(Strict):
    """How often and how long."""

    passes: PositiveInt
    repeats: PositiveInt
    target_ms: PositiveFloat
    one_warp_target_ms: PositiveFloat
    tensor_target_ms: PositiveFloat
    launches: list[LaunchEntry]
    tensor_launches: list[LaunchEntry]
    stable_fraction: Fraction
    warm_up_ms: PositiveFloat
    time_limit_s: PositiveFloat
    sub_partitions: PositiveInt
    lanes: PositiveInt


class ProbeEntry(Strict):
    """One micro-benchmark."""

    id: str
    source: str
    kernel: str
    values: dict[str, Quantity]
    opcodes: list[str] = []
    per_instruction: PositiveFloat = 1
    sweep: PositiveFloat | None = None
    contents: Literal["u32", "i8", "f8", "f16", "bf16", "f32", "f64"] = "u32"
    buffer: BufferEntry = BufferEntry(bytes=1 << 20)
    prepare: str | None = None
    each_time: bool = False
    launches: list[LaunchEntry] = []
    one_warp: bool = False
    tensor: bool = False
    target_ms: PositiveFloat | None = None
    oldest: Arch | None = Field(default=None, alias="from")
    only: list[Arch] = []


class ProbesFile(Strict):
    """The whole list."""

    settings: ProbeSettingsFile
    probes: list[ProbeEntry]
    best: dict[str, list[str]]
    peaks: list[str]


class CounterFactEntry(Strict):
    """One fact that counters support."""

    unit: str = ""
    meaning: str
    overrules: bool = False
    formulas: list[str] = Field(alias="from", min_length=1)


class StallsFile(Strict):
    """Reasons why warps wait, and their spellings."""

    formulas: list[str]
    reasons: dict[str, list[str]]


class CounterFile(Strict):
    """The whole of `kb/ncu_metrics.yaml`."""

    facts: dict[str, CounterFactEntry]
    stalls: StallsFile
    labels: dict[str, str]
