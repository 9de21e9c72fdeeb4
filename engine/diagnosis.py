"""The result of one inference as plain records, in the order and with the keys of the JSON.

`None` stands for what is not known; `"unknown"` where a judgement stands. Renderers and other
programs read these records only, so that text, Markdown, HTML and JSON can never disagree.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

SCHEMA = "kneck.diagnosis/1"
Number = int | float
Tree = dict[str, Any]  # {rule, file, status, conditions: [...]}, see the contract


@dataclass(frozen=True)
class Tool:
    version: str
    kb: list[dict[str, str]]
    input_hash: str
    command: str


@dataclass(frozen=True)
class Kernel:
    name: str
    demangled: str
    arch: str
    source: str


@dataclass(frozen=True)
class Launch:
    grid: list[int] | None
    block: list[int] | None
    dynamic_smem: Number | None
    threads: Number | None
    warps: Number | None
    waves: Number | None


@dataclass(frozen=True)
class Device:
    id: str | None
    name: str | None
    arch: str | None
    peaks_basis: str


@dataclass(frozen=True)
class Baseline:
    time_ms: Number | None
    time_source: str | None
    problem: str | None
    flops: Number | None
    bytes: Number | None
    gflops: Number | None
    gb_per_s: Number | None
    expected_fraction: Number | None


@dataclass(frozen=True)
class Roofline:
    arithmetic_intensity: Number | None
    balance_point: Number | None
    precision: str | None
    side: str
    attained_fraction: Number | None
    peak_gflops: Number | None
    peak_gb_per_s: Number | None


@dataclass(frozen=True)
class BoundDetail:
    resource: str | None
    cause: str | None
    predicted: bool
    confidence: str
    unexplained_share: Number | None
    reasons: list[str]


@dataclass(frozen=True)
class ResourceBound:
    """A lower bound on the time that one resource sets; `share` is bound / measured time."""

    resource: str
    class_: str
    time_ms: Number | None
    share: Number | None
    basis: str


@dataclass(frozen=True)
class Occupancy:
    registers_per_thread: Number | None
    threads_per_block: Number | None
    static_smem: Number | None
    dynamic_smem: Number | None
    warps_per_block: Number | None
    block_limits: dict[str, Number | None]
    blocks_per_sm: Number | None
    active_warps: Number | None
    theoretical_occupancy: Number | None
    limiters: list[str]
    sufficient_to_hide_latency: bool | None


@dataclass(frozen=True)
class Loop:
    first: str
    last: str
    depth: int
    instructions: int
    chosen_because: str


@dataclass(frozen=True)
class Tile:
    loop: Loop
    compute_op: str | None
    compute_ops: Number | None
    load_ops: Number | None
    load_bytes: Number | None
    ratio: Number | None
    class_: str
    flops_per_byte: Number | None
    cp_async: str


@dataclass(frozen=True)
class MixRow:
    mnemonic: str
    opcode: str
    count: int
    in_loop: int | None
    executed: Number | None
    stalls: dict[str, int] | None
    note: str


@dataclass(frozen=True)
class StallRow:
    mnemonic: str
    stall: int
    count: int
    independent: int | None
    required: int | None
    reducible_cycles: int | None


@dataclass(frozen=True)
class Smem:
    per_block: Number | None
    cliff: Number | None
    over_cliff: bool | None
    blocks_per_sm: Number | None
    cliffs: dict[str, Number]
    doubled: dict[str, Number | None]


@dataclass(frozen=True)
class Gain:
    """A speed-up in percent, 100 * (time before / time after - 1)."""

    low: Number | None
    high: Number | None
    basis: str


@dataclass(frozen=True)
class Strategy:
    id: str
    title: str
    action: str
    rank: int
    gain: Gain
    status: str
    limited_by: str | None
    conflicts: list[str]
    unlocks: list[str]
    evidence: list[str]
    experiment: str | None
    wrong_when: list[str]
    file: str
    why: Tree


@dataclass(frozen=True)
class FailedCondition:
    condition: str
    fact: str
    value: bool | Number | str | None
    needed: str
    margin: Number | None


@dataclass(frozen=True)
class NotChosen:
    id: str
    title: str
    why_not: list[FailedCondition]
    unknown: list[str]


@dataclass(frozen=True)
class Pitfall:
    id: str
    title: str
    severity: str
    why: Tree


@dataclass(frozen=True)
class Conflict:
    between: list[str]
    kind: str
    because: str


@dataclass(frozen=True)
class Plan:
    strategies: list[str]
    gain: dict[str, Number | None]


@dataclass(frozen=True)
class MissingFact:
    fact: str
    would_decide: list[str]
    how: str


@dataclass(frozen=True)
class ChecklistItem:
    step: str
    done: bool
    missing: list[str]


@dataclass(frozen=True)
class Limit:
    id: str
    text: str


@dataclass(frozen=True)
class FactRow:
    name: str
    value: bool | Number | str
    unit: str
    source: dict[str, str | list[str]]


@dataclass(frozen=True)
class Diagnosis:
    """Everything that `kneck infer` found out about one kernel."""

    tool: Tool
    kernel: Kernel
    launch: Launch
    device: Device
    baseline: Baseline
    roofline: Roofline
    bound: str
    bound_detail: BoundDetail
    bounds: list[ResourceBound]
    occupancy: Occupancy
    tile: Tile | None
    mix: list[MixRow]
    stalls: list[StallRow]
    smem: Smem
    strategies: list[Strategy]
    not_chosen: list[NotChosen]
    pitfalls: list[Pitfall]
    conflicts: list[Conflict]
    plan: Plan
    missing: list[MissingFact]
    checklist: list[ChecklistItem]
    limits: list[Limit]
    facts: list[FactRow]
    schema: str = field(default=SCHEMA)

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON document (`kneck.diagnosis/1`)."""
        document = _plain(self)
        return {"schema": document.pop("schema"), **document}

    def to_json(self) -> str:
        """Give the JSON text; the same diagnosis is the same text, byte for byte."""
        import json

        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def to_markdown(self) -> str:
        """Give the report with the headings of the method's template."""
        from .markdown import render

        return render(self)

    def to_html(self) -> str:
        """Give the report as one HTML page."""
        from .html import render

        return render(self)

    def to_text(self) -> str:
        """Give the report for a terminal."""
        from .text import render

        return render(self)

    def fact(self, name: str) -> FactRow | None:
        """Find a fact by name."""
        return next((row for row in self.facts if row.name == name), None)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {f.name.rstrip("_"): _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
