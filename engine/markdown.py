"""The report in Markdown, with the headings and the order of the method's template."""

from __future__ import annotations

from collections.abc import Sequence

from . import numbers as n
from .currencies import decision
from .diagnosis import Diagnosis, MixRow, StallRow, Strategy
from .text import stalls, verdict, why_not


def render(d: Diagnosis) -> str:
    """Write the whole report."""
    sections = [
        ("## Bottleneck Analysis Report: " + d.kernel.demangled, _subject(d)),
        ("### Baseline", _baseline(d)),
        ("### Roofline Classification", _roofline(d)),
        ("### Occupancy", _occupancy(d)),
        ("### Compute/Load Ratio", _ratio(d)),
        ("### SASS Instruction Mix", _mix(d)),
        ("### Smem Cliff", _cliff(d)),
        ("### Recommended Optimizations (ranked)", _recommended(d)),
        ("### Not Recommended", _not_recommended(d)),
        ("### Conflicts", _conflicts(d)),
        ("### Pitfalls", _pitfalls(d)),
        ("### Checklist", _checklist(d)),
        ("### Limits", _limits(d)),
    ]
    return "\n\n".join(f"{title}\n\n{body}" for title, body in sections) + "\n"


def _table(rows: Sequence[tuple[str, ...]], headers: list[str]) -> str:
    from tabulate import tabulate

    return tabulate(rows, headers, "github", disable_numparse=True)


def _items(lines: list[str], otherwise: str) -> str:
    return "\n".join(f"- {line}" for line in lines) if lines else otherwise


def _subject(d: Diagnosis) -> str:
    on = f" on {d.device.name}" if d.device.name else ", device unknown"
    return f"{d.kernel.arch}{on}; {verdict(d)}."


def _baseline(d: Diagnosis) -> str:
    b = d.baseline
    unit = "OPS" if (d.roofline.precision or "").startswith("int") else "FLOPS"
    source = f" ({b.time_source})" if b.time_source else ""
    lines = [
        f"Problem: {b.problem or n.UNKNOWN}",
        f"Kernel time: {n.milliseconds(b.time_ms)}{source}",
        f"Effective G{unit}: {n.plain(b.gflops, 4)} | Effective BW: {n.plain(b.gb_per_s, 4)} GB/s",
    ]
    if b.expected_fraction is not None:
        lines.append(
            f"Expected: {n.percent(b.expected_fraction)} of the peak, attained "
            f"{n.percent(d.roofline.attained_fraction)} of the roof"
        )
    return _items(lines, "")


def _roofline(d: Diagnosis) -> str:
    r = d.roofline
    bound = d.bound if d.bound == "unknown" else f"{d.bound}-bound"
    lines = [
        f"Arithmetic intensity: {n.plain(r.arithmetic_intensity)} FLOP/byte (unique bytes)",
        f"Balance point: {n.decimal(r.balance_point)} FLOP/byte "
        f"({r.precision or n.UNKNOWN}, {d.device.peaks_basis})",
        f"Classification: **{bound}**, roofline side: {r.side}",
        f"Attained fraction: {n.percent(r.attained_fraction)} of the roof "
        f"(peak {n.rate(r.peak_gflops)}, {n.plain(r.peak_gb_per_s)} GB/s)",
    ]
    return _items(lines + d.bound_detail.reasons, "")


def _occupancy(d: Diagnosis) -> str:
    o = d.occupancy
    limit = {fact: d.fact(fact) for fact in ("arch.registers_per_sm", "arch.smem_bytes_per_sm")}
    registers, smem = (row.value if row else None for row in limit.values())
    warps = d.fact("arch.max_warps_per_sm")
    limits = o.block_limits
    rows = [
        (
            "Registers",
            f"{n.plain(o.registers_per_thread)}/thread",
            n.anything(registers),
            n.plain(limits.get("registers")),
        ),
        (
            "Shared mem",
            n.size(d.smem.per_block),
            f"{n.size(n.number(smem))} (cliff: {n.size(d.smem.cliff)})",
            n.plain(limits.get("smem")),
        ),
        (
            "Warps",
            n.plain(o.warps_per_block),
            n.anything(warps.value if warps else None),
            n.plain(limits.get("warps")),
        ),
        ("Blocks", "1", n.plain(limits.get("blocks")), n.plain(limits.get("blocks"))),
        (
            "**Limiting**",
            "",
            " and ".join(o.limiters) or n.UNKNOWN,
            f"**{n.plain(o.blocks_per_sm)}**",
        ),
    ]
    table = _table(rows, ["Resource", "Per Block", "Limit/SM", "Blocks/SM"])
    enough = {True: "sufficient", False: "insufficient", None: "not judged"}
    judged = enough[o.sufficient_to_hide_latency]
    return (
        f"{table}\n\n- Active warps/SM: {n.plain(o.active_warps)} ({judged} for latency hiding), "
        f"theoretical occupancy {n.percent(o.theoretical_occupancy)}"
    )


def _ratio(d: Diagnosis) -> str:
    t = d.tile
    if t is None:
        return "- No loop: there is no K tile to count in."
    loads, each = t.load_ops, None
    if t.load_bytes is not None and loads:
        each = t.load_bytes / loads
    ratio = n.UNKNOWN if t.ratio is None else f"{n.plain(t.ratio)}:1"
    lines = [
        f"K-tile loop: {t.loop.first} to {t.loop.last}, {t.loop.instructions} instructions, "
        f"depth {t.loop.depth} ({t.loop.chosen_because})",
        f"Compute ops/tile: {n.plain(t.compute_ops)} {t.compute_op or ''}".rstrip(),
        f"Load bytes/tile: {n.plain(t.load_bytes)} bytes per thread "
        f"({n.plain(loads)} loads x {n.plain(each)} bytes)",
        f"Ratio: {ratio}, **{t.class_}**; {n.plain(t.flops_per_byte)} FLOP per loaded byte "
        f"against a balance point of {n.decimal(d.roofline.balance_point)}",
        f"cp.async recommendation: {t.cp_async}; {decision(t)}".removesuffix("; "),
        *([f"Copies: {t.copies}"] if t.copies else []),
    ]
    return _items(lines, "")


def _mix(d: Diagnosis) -> str:
    tightenable = {(row.mnemonic, row.stall): row for row in d.stalls}
    rows = [(row.mnemonic, f"{row.count}", _mix_note(row, tightenable)) for row in d.mix]
    return _table(rows, ["Instruction", "Count", "Notes"]) if rows else "No instructions."


def _mix_note(row: MixRow, tightenable: dict[tuple[str, int], StallRow]) -> str:
    notes = [f"{row.in_loop} in the loop"] if row.in_loop else []
    if row.stalls:
        notes.append("stall " + stalls(row.stalls))
    cycles = sum(
        entry.reducible_cycles or 0
        for (mnemonic, _), entry in tightenable.items()
        if mnemonic == row.mnemonic
    )
    if cycles:
        notes.append(f"{cycles} cycles reducible per iteration")
    return "; ".join([*notes, row.note] if row.note else notes)


def _cliff(d: Diagnosis) -> str:
    s = d.smem
    side = {True: "over", False: "under", None: "not judged against"}[s.over_cliff]
    doubled = s.doubled
    lines = [
        f"Smem/block: {n.size(s.per_block)}, {side} the {n.size(s.cliff)} cliff for two blocks",
        f"Blocks/SM: {n.plain(s.blocks_per_sm)} by shared memory",
        f"Double buffering: {n.size(doubled.get('per_block'))} leaves "
        f"{n.plain(doubled.get('blocks_per_sm'))} blocks/SM by shared memory",
    ]
    if s.cliffs:
        every = ", ".join(f"{count}: {n.size(limit)}" for count, limit in s.cliffs.items())
        lines.append(f"Largest block for n blocks/SM: {every}")
    return _items(lines, "")


def _recommended(d: Diagnosis) -> str:
    if not d.strategies:
        return "None: no rule fired." + (" Facts are missing, see Limits." if d.missing else "")
    parts = [_recommendation(strategy) for strategy in d.strategies]
    if len(d.plan.strategies) > 1:
        together = n.gain(d.plan.gain.get("low"), d.plan.gain.get("high"))
        parts.append(f"\nPlan: {', then '.join(d.plan.strategies)} ({together} together).")
    contenders = [f"`{s.id}`" for s in d.contenders()]
    if contenders:
        told = ", ".join(contenders)
        parts.append(
            f"\nNo clear winner among {told}: run each one's isolating experiment before combining."
        )
    return "\n".join(parts)


def _recommendation(s: Strategy) -> str:
    gain = n.gain(s.gain.low, s.gain.high)
    lines = [f"{s.rank}. **{s.title}** (`{s.id}`): estimated {gain} ({s.gain.basis}, {s.status})"]
    lines.append(f"   - Do: {s.action}")
    lines += [f"   - Evidence: {text}" for text in s.evidence]
    lines += [f"   - Wrong when: {text}" for text in s.wrong_when]
    if s.experiment:
        lines.append(f"   - Isolate: {s.experiment}")
    if s.conflicts:
        lines.append(f"   - Conflicts: {', '.join(s.conflicts)}")
    return "\n".join(lines)


def _not_recommended(d: Diagnosis) -> str:
    lines = []
    for entry in d.not_chosen:
        if entry.why_not:
            lines.append(why_not(entry))
        else:
            lines.append(f"{entry.id}: undecided, unknown: {', '.join(entry.unknown)}")
    return _items(lines, "Every strategy of the knowledge base fired.")


def _conflicts(d: Diagnosis) -> str:
    lines = [f"{' x '.join(edge.between)}, {edge.kind}: {edge.because}" for edge in d.conflicts]
    return _items(lines, "None.")


def _pitfalls(d: Diagnosis) -> str:
    return _items([f"{p.severity}: {p.title} (`{p.id}`)" for p in d.pitfalls], "None found.")


def _checklist(d: Diagnosis) -> str:
    lines = []
    for item in d.checklist:
        note = f" (missing: {', '.join(item.missing)})" if item.missing else ""
        lines.append(f"[{'x' if item.done else ' '}] {item.step}{note}")
    return _items(lines, "")


def _limits(d: Diagnosis) -> str:
    lines = [f"{limit.id}: {limit.text}" for limit in d.limits]
    lines += [f"not known: {gap.fact}; {gap.how}" for gap in d.missing]
    return _items(lines, "None.")
