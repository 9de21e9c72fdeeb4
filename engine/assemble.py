"""From an inference to the diagnosis: every section of the JSON, each list in a fixed order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..facts.code import Code, CodeStall
from ..facts.derive import Derivation
from ..facts.mix import MixLine
from ..facts.model import Fact
from ..parsers.expression_tree import Expression, Tree, unparse
from ..parsers.record import dataclass
from ..rules.comparison import sides
from ..rules.model import Rule
from . import diagnosis as d
from . import sections
from .certainty import Certainty, certainty
from .conflicts import Related, relations
from .explain import why
from .infer import Inference
from .missing import missing_facts
from .plan import plan
from .rank import Ranked, rank
from .sections import UNKNOWN, View
from .whynot import Failed, WhyNot, near_misses, why_not
from .wording import quantity, render


@dataclass(frozen=True)
class Subject:
    """What the diagnosis is about, beside the facts."""

    code: Code
    demangled: str
    source: str
    tool: d.Tool
    remarks: tuple[tuple[str, str], ...] = ()  # limits that this very run has: (id, text)


def assemble(
    subject: Subject, inference: Inference, derivations: Sequence[Derivation]
) -> d.Diagnosis:
    """Build the diagnosis; the same facts and rules give the same one."""
    v = View(inference.facts)
    ranked = rank(inference)
    edges = relations(inference, derivations)
    best = plan(ranked, edges, inference)
    undecided = [
        r for r in inference.knowledge.rules if inference.outcomes[r.id].state == "undecided"
    ]
    return d.Diagnosis(
        tool=subject.tool,
        kernel=d.Kernel(subject.code.name, subject.demangled, subject.code.arch, subject.source),
        launch=sections.launch(v),
        device=sections.device(v),
        baseline=sections.baseline(v),
        roofline=sections.roofline(v),
        bound=_bound(v, subject.code),
        bound_detail=_bound_detail(v, subject.code, inference),
        bounds=sections.bounds(v, subject.code),
        occupancy=sections.occupancy(v),
        tile=_tile(subject.code, v, inference),
        mix=[_mix_row(row, dict(subject.code.executed)) for row in subject.code.mix],
        stalls=[_stall_row(row) for row in subject.code.stalls],
        smem=sections.smem(v),
        strategies=[_strategy(item, edges, inference) for item in ranked],
        not_chosen=_not_chosen(inference),
        pitfalls=[_pitfall(rule, inference) for rule in inference.fired("pitfall")],
        conflicts=[d.Conflict(list(e.between), e.kind, e.because) for e in edges],
        plan=d.Plan(list(best.strategies), {"low": best.low, "high": best.high}),
        missing=[
            d.MissingFact(gap.fact, list(gap.would_decide), gap.how)
            for gap in missing_facts(inference, undecided)
        ],
        checklist=sections.checklist(v),
        limits=[
            *(d.Limit(r.id, _said(r, inference)) for r in inference.fired("limitation")),
            *(d.Limit(id, text) for id, text in subject.remarks),
        ],
        facts=[_fact_row(fact) for fact in inference.facts],
    )


def _said(rule: Rule, inference: Inference) -> str:
    return render(rule.why, inference.facts.value, inference.knowledge.vocabulary)


def _bound(v: View, code: Code) -> str:
    """Give the bound; without a time, the side of the largest lower bound, as a prediction."""
    judged = v.judgement("bound")
    if judged == UNKNOWN and v.number("baseline.time_ms") is None and code.bounds:
        return max(code.bounds, key=lambda bound: bound.time_ms).side
    return judged


def _bound_detail(v: View, code: Code, inference: Inference) -> d.BoundDetail:
    """Say what decided: the share of each side, how sure that is, and the causes of latency."""
    bound = _bound(v, code)
    rows = sections.bounds(v, code)
    own = [row for row in rows if row.class_ == bound] or rows
    causes = [
        name.removeprefix("cause.").replace("_", " ")
        for name in sorted(inference.facts.facts)
        if name.startswith("cause.") and v.claim(name)
    ]
    predicted = bound != v.judgement("bound")
    sure = certainty(inference) if not predicted else Certainty("low", ())
    return d.BoundDetail(
        resource=own[0].resource if own and bound != UNKNOWN else None,
        cause=", ".join(causes) if bound == "latency" and causes else None,
        predicted=predicted,
        confidence=sure.confidence,
        unexplained_share=_unexplained(rows),
        reasons=[*_reasons(inference), *sure.reasons],
    )


def _unexplained(rows: Sequence[d.ResourceBound]) -> float | None:
    shares = [float(row.share) for row in rows if row.share is not None]
    return max(0.0, 1 - max(shares)) if shares else None


def _reasons(inference: Inference) -> list[str]:
    """Give the reason of each verdict that decided the bound, and of each cause."""
    deciding = [
        rule
        for rule in inference.fired("verdict")
        if any(name == "bound" or name.startswith("cause.") for name in rule.sets)
    ]
    return [f"{rule.title}: {_evidence(rule, inference)}" for rule in deciding]


def _evidence(rule: Rule, inference: Inference) -> str:
    """Write the conditions of a rule with the values that they compared."""
    return ", ".join(_compared(condition.expression, inference) for condition in rule.when)


def _compared(expression: Expression, inference: Inference) -> str:
    left, operator, right = sides(expression.tree)
    parts = [unparse(left), _value(left, inference)]
    if right != ("bool", True):
        parts += [operator, unparse(right).strip('"'), _value(right, inference)]
    return " ".join(part for part in parts if part)


def _value(tree: Tree, inference: Inference) -> str:
    """Write the value of a side that is a fact; a constant speaks for itself."""
    if tree[0] != "name":
        return ""
    vocabulary = inference.knowledge.vocabulary
    entry = vocabulary.entry(tree[1])
    value = inference.facts.value(tree[1])
    shown = quantity(value, entry.unit if entry else "", vocabulary, tree[1])
    return f"({shown})"


def _tile(code: Code, v: View, inference: Inference) -> d.Tile | None:
    loop = code.loop
    if loop is None:
        return None
    instructions = v.number("tile.instructions")
    return d.Tile(
        d.Loop(
            f"0x{loop.first:04x}",
            f"0x{loop.last:04x}",
            loop.depth,
            int(instructions) if instructions is not None else loop.instructions,
            loop.chosen_because,
        ),
        v.text("tile.compute_op"),
        v.number("tile.compute_ops"),
        v.number("tile.load_ops"),
        v.number("tile.load_bytes"),
        v.number("tile.ratio"),
        v.judgement("tile.class"),
        v.number("tile.flops_per_byte"),
        v.judgement("tile.cp_async"),
        v.judgement("tile.cp_async_by_ratio"),
        v.judgement("tile.cp_async_by_bytes"),
        v.judgement("tile.cp_async_decided_by"),
        _said_of("tile.cp_async", inference),
        _said_of("tile.copies", inference),
    )


def _said_of(name: str, inference: Inference) -> str:
    """Give the reasons of the verdicts that set a fact, filled with this kernel's numbers."""
    deciding = [rule for rule in inference.fired("verdict") if name in rule.sets]
    return " ".join(_said(rule, inference) for rule in deciding)


def _stall_row(row: CodeStall) -> d.StallRow:
    return d.StallRow(
        row.mnemonic, row.stall, row.count, row.independent, row.required, row.reducible_cycles
    )


def _mix_row(row: MixLine, executed: Mapping[str, float]) -> d.MixRow:
    stalls = None if row.stalls is None else {str(s): count for s, count in row.stalls.items()}
    count = executed.get(row.mnemonic)
    ran = int(count) if count is not None and count.is_integer() else count
    return d.MixRow(row.mnemonic, row.opcode, row.count, row.in_loop, ran, stalls, "")


def _strategy(item: Ranked, edges: Sequence[Related], inference: Inference) -> d.Strategy:
    rule = item.rule
    look, words = inference.facts.value, inference.knowledge.vocabulary
    gain = d.Gain(item.gain.low, item.gain.high, item.gain.basis)
    conflicts = sorted(
        {_other(e, rule.id) for e in edges if e.kind != "enables" and rule.id in e.between}
    )
    unlocks = sorted(
        {e.between[1] for e in edges if e.kind == "enables" and e.between[0] == rule.id}
    )
    return d.Strategy(
        id=rule.id,
        title=rule.title,
        action=render(rule.action, look, words),
        rank=item.rank,
        gain=gain,
        status=rule.status,
        limited_by=item.gain.limited_by,
        conflicts=conflicts,
        unlocks=unlocks,
        evidence=list(rule.evidence),
        experiment=render(rule.experiment, look, words) or None,
        wrong_when=list(rule.wrong_when),
        file=rule.file,
        why=why(inference, rule.id),
    )


def _other(edge: Related, id: str) -> str:
    return edge.between[1] if edge.between[0] == id else edge.between[0]


def _pitfall(rule: Rule, inference: Inference) -> d.Pitfall:
    title = f"{rule.title}. {_said(rule, inference)}"
    return d.Pitfall(rule.id, title, rule.severity or "note", why(inference, rule.id))


def _not_chosen(inference: Inference) -> list[d.NotChosen]:
    rules = [*inference.silent("strategy"), *inference.undecided("strategy")]
    return [_not_chosen_row(found, inference) for found in near_misses(inference, rules)]


def _not_chosen_row(found: WhyNot, inference: Inference) -> d.NotChosen:
    failed = [row for f in found.failed for row in _failed_rows(f, inference, {found.rule.id})]
    return d.NotChosen(found.rule.id, found.rule.title, failed, list(found.unknown))


def _failed_rows(failed: Failed, inference: Inference, above: set[str]) -> list[d.FailedCondition]:
    """Give a failed condition and, where a rule sets its fact, what that rule failed on.

    Of several rules that could set it the nearest miss is followed. Where it would have to keep
    its default, what would stop the rules that set it is given instead.
    """
    if failed.holds is not False:
        return []
    row = d.FailedCondition(
        failed.condition, failed.fact, failed.value, failed.needed, failed.margin
    )
    open_rules = [id for id in failed.producers if id not in above]
    behind = sorted((why_not(inference, id) for id in open_rules), key=lambda w: w.distance)
    below = (
        [
            r
            for f in behind[0].failed
            for r in _failed_rows(f, inference, above | {behind[0].rule.id})
        ]
        if behind
        else [r for kept in failed.kept_by for r in _failed_rows(kept, inference, above)]
    )
    return [row, *below]


def _fact_row(fact: Fact) -> d.FactRow:
    source: dict[str, str | list[str]] = {"kind": fact.source.kind, "detail": fact.source.detail}
    if fact.inputs:
        source["inputs"] = list(fact.inputs)
    return d.FactRow(fact.name, fact.value, fact.unit, source)
