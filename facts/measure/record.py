"""Keeps the outcome of a comparison as evidence: one entry of a YAML list per outcome."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...parsers.errors import KneckError, Place
from .comparison import Comparison

HEADER = "# Measured outcomes, one entry per comparison; `kneck compare --record` appends.\n"


def outcome(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    found: Comparison,
    today: datetime.date,
) -> dict[str, Any]:
    """Give what an evidence file keeps of a comparison; raises KneckError without two times."""
    if found.speed_up is None:
        raise KneckError(
            "an outcome needs both times", help="diagnose both with --time-ms, --bench or --measure"
        )
    noise = found.speed_up.noise_fraction
    return {
        "date": today.isoformat(),
        "before": _kernel(before),
        "after": _kernel(after),
        "device": (after.get("device") or {}).get("id"),
        "problem": (after.get("baseline") or {}).get("problem"),
        "strategies": list(found.strategies),
        "predicted": _predicted(before, found.strategies),
        "verdicts": list(found.verdicts),
        "before_ms": found.speed_up.before_ms,
        "after_ms": found.speed_up.after_ms,
        "gain_percent": round(found.speed_up.gain_percent, 2),
        "noise_percent": None if noise is None else round(100 * noise, 2),
        "measurable": found.speed_up.measurable,
    }


def _predicted(before: Mapping[str, Any], applied: Sequence[str]) -> dict[str, Any]:
    """Give what the first diagnosis said of the strategies that the change corresponds to."""
    said = {item["id"]: item for item in before.get("strategies") or ()}
    found = {}
    for strategy in applied:
        if strategy in said:
            gain = said[strategy].get("gain") or {}
            found[strategy] = {
                "rank": said[strategy].get("rank"),
                "low_percent": gain.get("low"),
                "high_percent": gain.get("high"),
            }
    return found


def _kernel(diagnosis: Mapping[str, Any]) -> dict[str, Any]:
    kernel, tool = diagnosis.get("kernel") or {}, diagnosis.get("tool") or {}
    return {
        "name": kernel.get("name"),
        "arch": kernel.get("arch"),
        "hash": tool.get("input_hash"),
    }


def append(entry: Mapping[str, Any], path: Path) -> None:
    """Append one outcome; the file is made if it is not there. JSON values are YAML."""
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    text = "\n- " + "\n  ".join(lines) + "\n"
    try:
        new = not path.exists()
        with path.open("a", encoding="utf-8") as file:
            file.write((HEADER if new else "") + text)
    except OSError as error:
        reason = (error.strerror or "cannot be written").lower()
        raise KneckError(reason, Place(str(path)), "give a file in a writable folder") from None
