"""The report for a terminal: verdict, numbers, advice, what was not advised, what is not seen."""

from __future__ import annotations

import textwrap

from . import numbers as n
from .currencies import decision
from .diagnosis import Diagnosis, NotChosen, Strategy

WIDTH = 100
SHOWN_BOUNDS = 5  # the smaller ones do not bind; all of them are in the JSON
ROOFLINE_BOUNDS = 2  # arithmetic and DRAM alone are in the lines above
CONTENDERS = 3  # experiments that are written out; all of them are in `kneck explain ID`
NEAR_MISSES = 6  # more of them are in `kneck explain`; a report is read, not searched


def render(d: Diagnosis) -> str:
    """Write the whole report, at most 100 columns wide."""
    parts = [headline(d), numbers_block(d), bounds_block(d), mix_block(d), advice(d), plan(d)]
    parts += [no_winner(d), pitfalls(d), not_advised(d), missing(d), limits(d), closing(d)]
    return "\n\n".join(part for part in parts if part) + "\n"


def headline(d: Diagnosis) -> str:
    """Write kernel, architecture, device and the verdict on one line, the reasons below."""
    left = "  ".join(x for x in (d.kernel.demangled, d.kernel.arch, d.device.name) if x)
    right = verdict(d)
    gap = WIDTH - len(left) - len(right)
    line = f"{left}{' ' * gap}{right}" if gap >= 2 else f"{left}\n{right}"
    reasons = [paragraph(reason, "  ") for reason in d.bound_detail.reasons]
    return "\n".join([line, *reasons])


def verdict(d: Diagnosis) -> str:
    """Say the bound in one phrase, with the resource and the share that decided."""
    roof = d.roofline
    side = f"{roof.side} side" if roof.side != "unknown" else ""
    if d.bound == "unknown":
        return ", ".join(x for x in (side, "bound unknown") if x)
    row = next((row for row in d.bounds if row.resource == d.bound_detail.resource), None)
    at = ""
    if row is not None and row.share is not None:
        at = f", {row.resource} at {n.percent(row.share)}"
    elif row is not None:
        at = f" by {row.resource}"
    predicted = " (predicted)" if d.bound_detail.predicted else ""
    return ", ".join(x for x in (side, f"{d.bound}-bound{at}{predicted}") if x)


def numbers_block(d: Diagnosis) -> str:
    """Write the key numbers, each with its unit and what it is measured against."""
    rows = [*_time_rows(d), *_occupancy_rows(d), *_tile_rows(d), *_smem_rows(d)]
    return "\n".join(_row(*row) for row in rows)


def _row(name: str, value: str, note: str) -> str:
    """Write one row; a note that is too long goes on below itself."""
    left = f"  {name:<22}{value:<16}  "
    right = textwrap.fill(
        note, WIDTH, initial_indent=left, subsequent_indent=" " * len(left), break_long_words=False
    )
    return right if note else left.rstrip()


def _time_rows(d: Diagnosis) -> list[tuple[str, str, str]]:
    base, roof = d.baseline, d.roofline
    precision = roof.precision or "precision unknown"
    unit = "OPS" if precision.startswith("int") else "FLOPS"
    return [
        ("Kernel time", n.milliseconds(base.time_ms), base.time_source or ""),
        ("Effective", n.rate(base.gflops, unit), _effective(d)),
        (
            "Arithmetic intensity",
            _with(n.plain(roof.arithmetic_intensity), "FLOP/B"),
            f"balance point {n.decimal(roof.balance_point)} ({precision}, {d.device.peaks_basis})",
        ),
    ]


def _effective(d: Diagnosis) -> str:
    """Write the bandwidth, and the share of the roof at this intensity."""
    share = d.roofline.attained_fraction
    roof = "" if share is None else f", {n.percent(share)} of the roof"
    return f"{_per_second(d.baseline.gb_per_s)}{roof}"


def _per_second(gb_per_s: float | int | None) -> str:
    return _with(n.plain(gb_per_s), "GB/s")


def _with(text: str, unit: str) -> str:
    return text if text == n.UNKNOWN else f"{text} {unit}"


def _occupancy_rows(d: Diagnosis) -> list[tuple[str, str, str]]:
    o = d.occupancy
    limited = f", limited by {' and '.join(o.limiters)}" if o.limiters else ""
    note = f"theoretical occupancy {n.percent(o.theoretical_occupancy)}{limited}"
    blocks = _with(n.plain(o.blocks_per_sm), "blocks/SM")
    return [
        ("Active warps", _per(o.active_warps, "SM"), note),
        ("Registers", _per(o.registers_per_thread, "thread"), blocks),
    ]


def _per(value: float | int | None, of: str) -> str:
    return n.UNKNOWN if value is None else f"{n.plain(value)}/{of}"


def _tile_rows(d: Diagnosis) -> list[tuple[str, str, str]]:
    t = d.tile
    if t is None:
        return [("Compute/load ratio", "no loop", "")]
    work = f"{n.plain(t.compute_ops)} {t.compute_op}" if t.compute_op else "no arithmetic"
    ops = f"{work}, {n.plain(t.load_ops)} loads per iteration"
    ratio = f"{n.plain(t.ratio)} : 1" if t.ratio is not None else n.UNKNOWN
    where = f"{t.loop.first}-{t.loop.last}"
    per_byte = _with(n.plain(t.flops_per_byte), "FLOP/B")
    return [
        ("Compute/load ratio", ratio, f"{ops}, {t.class_}"),
        ("Per loaded byte", per_byte, f"balance point {n.decimal(d.roofline.balance_point)}"),
        ("cp.async", t.cp_async, _sentences(decision(t), t.copies)),
        ("K-tile loop", where, f"{t.loop.instructions} instructions"),
    ]


def _sentences(*parts: str) -> str:
    """Join phrases; after a full stop the next one begins a sentence."""
    told = ""
    for part in parts:
        if told.endswith("."):
            told += f" {part[:1].upper()}{part[1:]}"
        elif part:
            told += f"; {part}" if told else part
    return told


def _smem_rows(d: Diagnosis) -> list[tuple[str, str, str]]:
    s = d.smem
    per_block = f"{n.size(s.per_block)}/block" if s.per_block is not None else n.UNKNOWN
    if s.over_cliff is None or s.cliff is None:
        return [("Shared memory", per_block, "")]
    side = "over" if s.over_cliff else "under"
    return [("Shared memory", per_block, f"{side} the {n.size(s.cliff)} cliff for two blocks")]


def bounds_block(d: Diagnosis) -> str:
    """Write the lower bounds on the time, where more than the roofline is known."""
    if len(d.bounds) <= ROOFLINE_BOUNDS:
        return ""
    lines = [
        f"  {row.resource:<14}{row.class_:<9}{n.milliseconds(row.time_ms):>10}"
        f"{n.percent(row.share) if row.share is not None else '-':>8}   {row.basis}"
        for row in d.bounds[:SHOWN_BOUNDS]
    ]
    return "\n".join(["Each resource needs at least", *lines])


def mix_block(d: Diagnosis) -> str:
    """Write the instruction mix: what the loop holds and what its stall counts are."""
    from tabulate import tabulate

    if not d.mix:
        return ""
    rows = [
        (row.mnemonic, row.count, "-" if row.in_loop is None else row.in_loop, stalls(row.stalls))
        for row in d.mix[:12]
    ]
    table = tabulate(rows, ["Instruction", "Count", "In loop", "Stall counts"], "simple")
    more = len(d.mix) - len(rows)
    tail = f"\n  and {more} more mnemonics (kneck facts)" if more > 0 else ""
    return textwrap.indent(table, "  ") + tail


def stalls(histogram: dict[str, int] | None) -> str:
    """Write a histogram of stall counts: `S01 x62  S04 x2`."""
    if histogram is None:
        return "no encodings"
    return "  ".join(f"S{int(s):02d} x{count}" for s, count in histogram.items())


def advice(d: Diagnosis) -> str:
    """Write the ranked strategies with gain, status, action and conflicts."""
    if not d.strategies:
        is_open = any(entry.unknown for entry in d.not_chosen)
        undecided = " yet: facts are missing, see below" if is_open else ""
        return f"Advice\n  none{undecided}"
    return "\n".join(["Advice", *(block(d, strategy) for strategy in d.strategies)])


def block(d: Diagnosis, s: Strategy) -> str:
    """Write one strategy."""
    gain = n.gain(s.gain.low, s.gain.high)
    head = f"  {s.rank}  {s.id:<25} {gain:<15} {s.status:<12}"
    if s.gain.basis == "ceiling":
        head += "ceiling only"
    lines = [head.rstrip(), paragraph(s.action or s.title, "       ")]
    for edge in d.conflicts:
        if s.id == edge.between[0]:
            other = edge.between[1]
            lines.append(paragraph(f"{edge.kind} {other}: {edge.because}", "       "))
    if s.limited_by:
        lines.append(paragraph(f"limited by {s.limited_by}", "       "))
    return "\n".join(lines)


def plan(d: Diagnosis) -> str:
    """Write the best compatible set where it holds more than one strategy."""
    if len(d.plan.strategies) < 2:
        return ""
    low, high = d.plan.gain.get("low"), d.plan.gain.get("high")
    line = f"{', then '.join(d.plan.strategies)}: {n.gain(low, high)} together"
    return f"Plan\n{paragraph(line, '  ')}"


def no_winner(d: Diagnosis) -> str:
    """Write, where several strategies may be the best, the experiment that isolates each."""
    contenders = [s for s in d.contenders() if s.experiment][:CONTENDERS]
    if len(contenders) < 2:
        return ""
    lines = [paragraph(f"{s.id}: {s.experiment}", "  ") for s in contenders]
    return "\n".join(["No clear winner; try each alone before combining", *lines])


def pitfalls(d: Diagnosis) -> str:
    """Write the pitfalls that were found."""
    if not d.pitfalls:
        return ""
    lines = [paragraph(f"{p.severity}: {p.title} ({p.id})", "  ") for p in d.pitfalls]
    return "\n".join(["Pitfalls", *lines])


def not_advised(d: Diagnosis) -> str:
    """Write the nearest strategies that were not chosen, each with the condition that failed."""
    silent = [entry for entry in d.not_chosen if entry.why_not]
    if not silent:
        return ""
    lines = [paragraph(why_not(entry), "  ") for entry in silent[:NEAR_MISSES]]
    if len(silent) > NEAR_MISSES:
        lines.append(f"  and {len(silent) - NEAR_MISSES} more (kneck explain)")
    return "\n".join(["Not advised", *lines])


def why_not(entry: NotChosen) -> str:
    """Write why one strategy was not chosen: the first failed condition, down to its root."""
    first, *deeper = entry.why_not
    root = deeper[0] if deeper else first
    value = f"is {n.anything(root.value)}" if root.value is not None else "does not apply"
    text = f"{entry.id}: {root.fact} {value}, needed {root.needed}"
    return f"{text} for {first.condition}" if deeper else text


def missing(d: Diagnosis) -> str:
    """Write what is not known and which measurement would supply it."""
    if not d.missing:
        return ""
    lines = []
    for gap in d.missing[:8]:
        ids = gap.would_decide
        decides = f" (would decide {', '.join(ids[:3])}{', ...' if len(ids) > 3 else ''})"
        lines.append(paragraph(f"{gap.fact}: {gap.how}{decides if ids else ''}", "  "))
    return "\n".join(["Not known", *lines])


def limits(d: Diagnosis) -> str:
    """Write what this analysis cannot see."""
    if not d.limits:
        return ""
    lines = [paragraph(f"{limit.id}: {limit.text}", "  ") for limit in d.limits]
    return "\n".join(["Limits of this analysis", *lines])


def closing(d: Diagnosis) -> str:
    """Name the command that shows the evidence."""
    if not d.strategies:
        return "`kneck explain` shows why nothing was chosen."
    return f"`kneck explain {d.strategies[0].id}` shows the evidence."


def paragraph(text: str, indent: str) -> str:
    """Wrap to the width of the report; continuation lines stand two columns deeper."""
    return textwrap.fill(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_long_words=False
    )
