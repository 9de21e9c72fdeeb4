"""Registers, shared memory, spills and barriers as facts, from the cubin or a build log."""

from __future__ import annotations

from collections.abc import Iterable

from ..parsers.listing import ResourceRecord
from .model import Fact, Missing, Source

# fact -> (field of the record, unit, what to say where the artifact does not tell)
FIELDS = {
    "occupancy.registers_per_thread": ("registers", "registers", "the registers are not known"),
    "occupancy.static_smem": ("static_smem", "B", "the static shared memory is not known"),
    "occupancy.barriers": ("barriers", "barriers", "the named barriers are not known"),
    "resources.stack": ("stack", "B", "the stack frame is not known"),
    "resources.spill_stores": ("spill_stores", "B", "only a build log tells spills"),
    "resources.spill_loads": ("spill_loads", "B", "only a build log tells spills"),
    "resources.constant": ("constant", "B", "the constant memory is not known"),
    "resources.max_threads": ("max_threads", "threads", "the cubin states no launch bound"),
}


def resource_facts(records: Iterable[ResourceRecord]) -> tuple[list[Fact], list[Missing]]:
    """Take each figure from the first record that has it; records are all of one kernel.

    Give the most trusted record first: the cubin itself before a log that may be of another build.
    """
    known = list(records)
    facts, missing = [], []
    for name, (field, unit, reason) in FIELDS.items():
        for record in known:
            value = getattr(record, field)
            if value is not None:
                facts.append(Fact(name, value, unit, at(record)))
                break
        else:
            missing.append(Missing(name, reason, applies=not _is_told(name, known)))
    telling = [record for record in known if record.static_smem is not None]
    telling.sort(key=lambda record: not record.smem_includes_reserve)
    if telling:
        included = telling[0].smem_includes_reserve
        facts.append(Fact("resources.includes_reserve", included, "", at(telling[0])))
    else:
        reason = "the static shared memory is not known"
        missing.append(Missing("resources.includes_reserve", reason))
    return facts, missing


def _is_told(name: str, records: list[ResourceRecord]) -> bool:
    """A cubin states a launch bound where it has one, so there is none where it says nothing."""
    read_from_cubin = any(record.parameters is not None for record in records)
    return name == "resources.max_threads" and read_from_cubin


def disagreements(records: Iterable[ResourceRecord]) -> list[str]:
    """Say on which figures the records of one kernel differ; the first one's count.

    They are of different builds then.
    """
    known = list(records)
    found = []
    for name, (field, unit, _) in FIELDS.items():
        values = [(getattr(r, field), r) for r in known if getattr(r, field) is not None]
        if len({value for value, _ in values}) > 1:
            told = ", ".join(f"{value} {unit} in {r.path}" for value, r in values)
            found.append(f"{name} is of different builds, the first one counts: {told}")
    return found


def at(record: ResourceRecord) -> Source:
    """Name where a record stands."""
    place = f"{record.path}:{record.line}" if record.line else record.path
    return Source("file", f"{place}, {record.name}")
