"""`kneck kb backtest`: reported outcomes and sets of measured kernels, replayed without a GPU."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..facts.request import Request
from ..parsers.errors import KneckError
from ..rules.outcomes import outcome_files, read_outcomes
from ..rules.overlay import knowledge_folders
from .knowledge import Setting, load_setting
from .replay import Tally, replay

DEMANDS = {"fires": "Fired", "silent": "Silent", "gain": "Gain inside", "rank": "Rank"}
NO_SET = (
    "Measured kernels: none here; they come with the repository, tests/truth. Replay them, or a "
    "set of your own, with: kneck kb backtest --truth DIR\n"
)
Part = tuple[str, dict[str, Any], bool]  # text, data, and whether something is wrong
Counts = dict[str, dict[str, tuple[int, int]]]  # rule -> demand -> met, asked


def run(
    files: Sequence[str], kb: tuple[str, ...], truth: str | None, outcomes_only: bool, form: str
) -> tuple[str, bool]:
    """Replay, and give the report and whether anything is not as it should be."""
    if truth is not None and outcomes_only:
        raise KneckError("--truth and --outcomes-only exclude each other", help="give one of them")
    setting = load_setting(Request(target="", kb=kb))
    paths = [*outcome_files(tuple(knowledge_folders(kb))), *map(Path, files)]
    tally = replay([entry for path in paths for entry in read_outcomes(path)], setting)
    parts = [_outcomes(tally, setting)]
    if not outcomes_only:
        parts += _measured(truth, setting)
    failed = bool(tally.faults) or any(part[2] for part in parts[1:])
    if form == "json":
        data: dict[str, Any] = {**parts[0][1], "measured": {}}
        for _, plain, _ in parts[1:]:
            data["measured"] |= plain
        return json.dumps(data, indent=2) + "\n", failed
    return "\n".join(text for text, _, _ in parts), failed


def _measured(folder: str | None, setting: Setting) -> list[Part]:
    """Replay one set, or those of the repository; the data stand under the folder's name."""
    from .truth.load import load_judge, load_set, own_sets

    paths = [Path(folder)] if folder is not None else own_sets()
    if not paths:
        return [(NO_SET, {}, False)]
    from .truth.report import data_of, text_of
    from .truth.run import replay_set

    judge, parts = load_judge(), []
    for path in paths:
        truth = load_set(path)
        found = replay_set(truth, setting, judge)
        gpu = truth.manifest.gpu
        title = f"{path.name}: {len(truth.manifest.kernels)} kernels measured on {gpu}"
        data = {path.name: data_of(found, judge)}
        parts.append((text_of(found, judge, title), data, bool(found.missed)))
    return parts


def _outcomes(tally: Tally, setting: Setting) -> Part:
    rules = [r for r in setting.knowledge.rules if r.kind in ("strategy", "pitfall")]
    counts: Counts = {
        rule.id: {d: (tally.met[rule.id, d], tally.asked[rule.id, d]) for d in DEMANDS}
        for rule in rules
        if any(tally.asked[rule.id, d] for d in DEMANDS)
    }
    unproven = [rule.id for rule in rules if rule.id not in counts]
    data = {
        "outcomes": tally.cases,
        "as_reported": tally.cases_met,
        "rules": {
            rule: {d: {"met": met, "asked": asked} for d, (met, asked) in row.items()}
            for rule, row in counts.items()
        },
        "not_as_reported": tally.faults,
        "unproven": unproven,
    }
    return _text(tally, counts, unproven), data, bool(tally.faults)


def _text(tally: Tally, counts: Counts, unproven: Sequence[str]) -> str:
    from tabulate import tabulate

    def cell(count: tuple[int, int]) -> str:
        return f"{count[0]} of {count[1]}" if count[1] else ""

    def total(demand: str) -> tuple[int, int]:
        columns = [row[demand] for row in counts.values()]
        return sum(met for met, _ in columns), sum(asked for _, asked in columns)

    table = [[rule, *(cell(row[d]) for d in DEMANDS)] for rule, row in counts.items()]
    table.append(["Total", *(cell(total(d)) for d in DEMANDS)])
    lines = [
        f"{tally.cases_met} of {tally.cases} outcomes come out as reported",
        "",
        tabulate(table, ["Rule", *DEMANDS.values()], "simple"),
    ]
    if tally.faults:
        lines += ["", "Not as reported", *(f"  {fault}" for fault in tally.faults)]
    lines += ["", f"Unproven, no outcome asks for them: {len(unproven)}"]
    lines += [f"  {rule}" for rule in unproven]
    return "\n".join(lines) + "\n"
