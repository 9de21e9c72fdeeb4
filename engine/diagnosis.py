"""The result of one inference as plain records, in the order and with the keys of the JSON.

`None` stands for what is not known; `"unknown"` where a judgement stands. Renderers and other
programs read these records only, so that text, Markdown, HTML and JSON can never disagree.
"""

from __future__ import annotations

from typing import Any, dataclass_transform

SCHEMA = "kneck.diagnosis/1"
Number = int | float
Tree = dict[str, Any]  # {rule, file, status, conditions: [...]}, see the contract


@dataclass_transform(frozen_default=True)
class Record:
    """A record like a frozen dataclass, without the code that dataclasses generate at import.

    The fields are the annotations of the class; start-up pays nothing for them.
    """

    _fields: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        cls._fields = tuple(name for name in cls.__annotations__)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        values = dict(zip(self._fields, args, strict=False))
        values.update(kwargs)
        missing = [n for n in self._fields if n not in values and not hasattr(type(self), n)]
        unknown = values.keys() - set(self._fields)
        if missing or unknown or len(args) > len(self._fields):
            wrong = ", ".join([*missing, *sorted(unknown)]) or "too many values"
            raise TypeError(f"{type(self).__name__}: {wrong}")
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"{type(self).__name__}({shown})"


class Tool(Record):
    version: str
    kb: list[dict[str, str]]
    input_hash: str
    command: str


class Kernel(Record):
    name: str
    demangled: str
    arch: str
    source: str


class Launch(Record):
    grid: list[int] | None
    block: list[int] | None
    dynamic_smem: Number | None
    threads: Number | None
    warps: Number | None
    waves: Number | None


class Device(Record):
    id: str | None
    name: str | None
    arch: str | None
    peaks_basis: str


class Baseline(Record):
    time_ms: Number | None
    time_source: str | None
    problem: str | None
    flops: Number | None
    bytes: Number | None
    gflops: Number | None
    gb_per_s: Number | None
    expected_fraction: Number | None


class Roofline(Record):
    arithmetic_intensity: Number | None
    balance_point: Number | None
    precision: str | None
    side: str
    attained_fraction: Number | None
    peak_gflops: Number | None
    peak_gb_per_s: Number | None


class BoundDetail(Record):
    resource: str | None
    cause: str | None
    predicted: bool
    confidence: str
    unexplained_share: Number | None
    reasons: list[str]


class ResourceBound(Record):
    """A lower bound on the time that one resource sets; `share` is bound / measured time."""

    resource: str
    class_: str
    time_ms: Number | None
    share: Number | None
    basis: str


class Occupancy(Record):
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


class Loop(Record):
    first: str
    last: str
    depth: int
    instructions: int
    chosen_because: str


class Tile(Record):
    loop: Loop
    compute_op: str | None
    compute_ops: Number | None
    load_ops: Number | None
    load_bytes: Number | None
    ratio: Number | None
    class_: str
    flops_per_byte: Number | None
    cp_async: str
    cp_async_by_ratio: str
    cp_async_by_bytes: str
    cp_async_decided_by: str
    cp_async_because: str
    copies: str


class MixRow(Record):
    mnemonic: str
    opcode: str
    count: int
    in_loop: int | None
    executed: Number | None
    stalls: dict[str, int] | None
    note: str


class StallRow(Record):
    mnemonic: str
    stall: int
    count: int
    independent: int | None
    required: int | None
    reducible_cycles: int | None


class Smem(Record):
    per_block: Number | None
    cliff: Number | None
    over_cliff: bool | None
    blocks_per_sm: Number | None
    cliffs: dict[str, Number]
    doubled: dict[str, Number | None]


class Gain(Record):
    """A speed-up in percent, 100 * (time before / time after - 1)."""

    low: Number | None
    high: Number | None
    basis: str


class Strategy(Record):
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


class FailedCondition(Record):
    condition: str
    fact: str
    value: bool | Number | str | None
    needed: str
    margin: Number | None


class NotChosen(Record):
    id: str
    title: str
    why_not: list[FailedCondition]
    unknown: list[str]


class Pitfall(Record):
    id: str
    title: str
    severity: str
    why: Tree


class Conflict(Record):
    between: list[str]
    kind: str
    because: str


class Plan(Record):
    strategies: list[str]
    gain: dict[str, Number | None]


class MissingFact(Record):
    fact: str
    would_decide: list[str]
    how: str


class ChecklistItem(Record):
    step: str
    done: bool
    missing: list[str]


class Limit(Record):
    id: str
    text: str


class FactRow(Record):
    name: str
    value: bool | Number | str
    unit: str
    source: dict[str, str | list[str]]


class Diagnosis(Record):
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
    schema: str = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON document (`kneck.diagnosis/1`)."""
        document = _plain(self)
        return {"schema": document.pop("schema"), **document}

    def to_json(self, indent: int | None = 2) -> str:
        """Give the JSON text; the same diagnosis is the same text, byte for byte."""
        import json

        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False) + "\n"

    def to_markdown(self) -> str:
        """Give the report with the headings of the method's template."""
        from .markdown import render

        return render(self)

    def contenders(self) -> list[Strategy]:
        """Give the strategies that the first cannot be told from, itself included.

        That is where their gain ranges overlap the first one's, or where none has a range; empty
        where a single one leads.
        """
        if not self.strategies:
            return []
        first, *rest = self.strategies
        if first.gain.low is None:
            found = [s for s in rest if s.gain.high is not None]
        else:
            found = [
                s for s in rest if s.gain.low is not None and (s.gain.high or 0) > first.gain.low
            ]
        return [first, *found] if found else []

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
    if isinstance(value, Record):
        return {name.rstrip("_"): _plain(getattr(value, name)) for name in value._fields}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
