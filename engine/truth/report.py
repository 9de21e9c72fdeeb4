"""The figures of a replayed set as text and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .figures import CLASSES, HALVES, Confusion, Figures, figures, pair_figures, within
from .pairs import PairRow
from .run import Replayed
from .schema import Judge
from .verdicts import Row

ROWS = (
    ("class equal to Nsight Compute's", "equal"),
    ("class by roofline alone", "roofline"),
    ("resource named, of compute and memory", "resource"),
    ("executed instructions", "executed"),
    ("shared wavefronts", "wavefronts"),
    ("global sectors", "sectors"),
)


def text_of(found: Replayed, judge: Judge, title: str) -> str:
    """Write everything for a reader."""
    lines = [title]
    if found.given:
        lines += ["", "With arguments", *_verdicts(found.given, judge)]
        lines += ["", "Without arguments", *_verdicts(found.without, judge)]
        lines += ["", "Kernels that come out otherwise", *_odd(found, judge)]
    if found.pairs:
        lines += ["", "Pairs: a kernel, and the same work with one strategy applied"]
        lines += [*_pairs(found.pairs), "", *_pair_shares(found.pairs, judge)]
    if found.missed:
        lines += ["", "Below what the set asks for", *(f"  {text}" for text in found.missed)]
    return "\n".join(lines) + "\n"


def _verdicts(rows: Sequence[Row], judge: Judge) -> list[str]:
    from tabulate import tabulate

    parts = [(half, [row for row in rows if row.half == half]) for half in HALVES]
    parts.append(("all", list(rows)))
    by_part = {name: figures(part, judge) for name, part in parts if part}
    near = judge.tolerance
    notes = {name: f" within {100 * getattr(near, name):.0f} %" for name in
             ("executed", "wavefronts", "sectors")}  # fmt: skip
    table: list[list[str]] = [["kernels", *(str(f.kernels) for f in by_part.values())]]
    for label, key in ROWS:
        shares = (getattr(f, key) for f in by_part.values())
        table.append([label + notes.get(key, ""), *map(percent, shares)])
    lines = tabulate(table, ["", *by_part], "simple", colalign=_right(len(by_part))).splitlines()
    for name, found in by_part.items():
        lines += ["", f"{name}: measured class against the class found", *_matrix(found)]
    whole = by_part["all"]
    seconds = f"median {whole.median_seconds:.2f} s, longest {whole.longest_seconds:.2f} s"
    return [*lines, "", f"answer, of the processor or the cache: {seconds}"]


def _right(columns: int) -> tuple[str, ...]:
    return ("left", *["right"] * columns)


def _matrix(found: Figures) -> list[str]:
    from tabulate import tabulate

    both = (found.confusion, found.roofline_confusion)
    names = [n for n in CLASSES if any(n in key for table in both for key in table)]
    heads = ["measured", *names, "by roofline:", *names]
    rows = [
        [truth, *_counts(found.confusion, truth, names), "",
         *_counts(found.roofline_confusion, truth, names)]
        for truth in names if truth != "unknown"
    ]  # fmt: skip
    return tabulate(rows, heads, "simple").splitlines()


def _counts(table: Confusion, truth: str, names: Sequence[str]) -> list[int]:
    return [table.get((truth, name), 0) for name in names]


def _odd(found: Replayed, judge: Judge) -> list[str]:
    from tabulate import tabulate

    near = judge.tolerance
    rows = [
        [row.name, way, row.measured, row.found, row.resource or "", ", ".join(row.busiest),
         "-" if row.executed is None else f"{row.executed:.3f}"]
        for way, some in (("with", found.given), ("without", found.without))
        for row in some
        if row.found != row.measured or (way == "with" and not within(row.executed, near.executed))
    ]  # fmt: skip
    heads = ["kernel", "arguments", "measured", "found", "resource", "busiest", "executed"]
    return tabulate(rows, heads, "simple").splitlines()


def _pairs(rows: Sequence[PairRow]) -> list[str]:
    from tabulate import tabulate

    table = [
        [f"{row.base} -> {row.variant.removeprefix(row.base.split('_')[0])}", row.strategy,
         row.rank or "", f"{row.gain:+.0f} %", _range(row), row.basis or "",
         percent(row.error), "yes" if row.inside else "no"]
        for row in rows
    ]  # fmt: skip
    heads = ["pair", "strategy", "rank", "gain", "predicted", "basis", "error", "inside"]
    return tabulate(table, heads, "simple").splitlines()


def _range(row: PairRow) -> str:
    if row.low is None or row.high is None:
        return "" if row.high is None else f"up to {row.high:+.0f} %"
    return f"{row.low:+.0f} to {row.high:+.0f} %"


def _pair_shares(rows: Sequence[PairRow], judge: Judge) -> list[str]:
    found = pair_figures(rows, judge)
    published = f"GPA, as published: {100 * judge.published.gain_error:.0f} %"
    among = percent(found.among_first)
    lines = [
        f"{found.pairs} pairs, strategy among the first {judge.first}: {among}",
        f"gain inside the range: {percent(found.inside)}",
        f"mean error of the middle of {found.ranges} ranges: {percent(found.error)} ({published})",
    ]
    if found.ceilings:
        lines.append(f"ceilings that hold: {found.ceilings_that_hold} of {found.ceilings}")
    parts = [(f"{half} half", [row for row in rows if row.half == half]) for half in HALVES]
    parts += [
        ("ranges by model", [row for row in rows if row.basis == "model"]),
        ("ranges by evidence", [row for row in rows if row.basis == "evidence"]),
        ("ranges made without the pair", [row for row in rows if not row.is_evidence]),
        ("pairs that got faster", [row for row in rows if row.gain > 0]),
    ]
    return [*lines, "", *_pair_table([(name, some) for name, some in parts if some], judge)]


def _pair_table(parts: Sequence[tuple[str, Sequence[PairRow]]], judge: Judge) -> list[str]:
    from tabulate import tabulate

    table = []
    for name, rows in parts:
        found = pair_figures(rows, judge)
        shares = (found.among_first, found.inside, found.error)
        table.append([name, found.pairs, *map(percent, shares)])
    heads = ["", "pairs", "among the first", "gain inside", "error of the middle"]
    align = ("left", *["right"] * 4)
    return tabulate(table, heads, "simple", colalign=align).splitlines()


def percent(value: float | None) -> str:
    """Write a share of 1 as percent, `-` where there is none."""
    return "-" if value is None else f"{100 * value:.1f} %"


def data_of(found: Replayed, judge: Judge) -> dict[str, Any]:
    """Give everything for programs; shares of 1, gains in percent."""
    return {
        "with_arguments": _data(found.given, judge),
        "without_arguments": _data(found.without, judge),
        "pairs": {
            **vars(pair_figures(found.pairs, judge)),
            "published_error": judge.published.gain_error,
            "rows": [
                {**vars(row), "inside": row.inside, "error": row.error} for row in found.pairs
            ],
        },
        "below_demands": list(found.missed),
    }


def _data(rows: Sequence[Row], judge: Judge) -> dict[str, Any]:
    parts = {half: [row for row in rows if row.half == half] for half in HALVES}
    parts["all"] = list(rows)
    return {
        **{name: _plain(figures(part, judge)) for name, part in parts.items() if part},
        "rows": [vars(row) for row in rows],
    }


def _plain(found: Figures) -> dict[str, Any]:
    """Turn the pairs of a confusion matrix into nested keys."""
    plain = dict(vars(found))
    for key in ("confusion", "roofline_confusion"):
        nested: dict[str, dict[str, int]] = {}
        for (truth, said), count in plain[key].items():
            nested.setdefault(truth, {})[said] = count
        plain[key] = nested
    return plain
