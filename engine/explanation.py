"""`kneck explain` as data and as text: why, why not, and what a change would do."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..facts.model import Value
from ..rules.model import Rule
from . import numbers as n
from .conflicts import relations
from .explain import why
from .infer import Inference, infer
from .missing import missing_facts
from .rank import rank
from .saved import Reopened
from .trees import render_tree
from .whatif import what_if
from .whynot import Failed, WhyNot, near_misses, tried, why_not
from .wording import render

WIDTH = 100
ADVICE_KINDS = ("strategy", "pitfall")


def explain_rule(reopened: Reopened, rule: Rule) -> dict[str, Any]:
    """Explain one rule: its state, its tree, and what it would have needed where it is silent."""
    inference = reopened.inference
    state = inference.outcomes[rule.id].state
    document: dict[str, Any] = {
        "id": rule.id,
        "kind": rule.kind,
        "title": rule.title,
        "state": state,
        "status": rule.status,
        "file": rule.file,
        "says": render(rule.why, inference.facts.value, inference.knowledge.vocabulary),
        "why": why(inference, rule.id),
        "evidence": list(rule.evidence),
        "wrong_when": list(rule.wrong_when),
    }
    if state == "fired":
        document.update(_fired(reopened, rule))
    else:
        document["why_not"] = _why_not(
            tried(why_not(inference, rule.id), inference, reopened.derivations)
        )
    return document


def _fired(reopened: Reopened, rule: Rule) -> dict[str, Any]:
    inference = reopened.inference
    ranked = [item for item in rank(inference) if item.rule.id == rule.id]
    edges = relations(inference, reopened.derivations) if ranked else []
    return {
        "gain": asdict(ranked[0].gain) if ranked else None,
        "conflicts": [
            {"between": list(e.between), "kind": e.kind, "because": e.because}
            for e in edges
            if rule.id in e.between
        ],
        "experiment": render(rule.experiment, inference.facts.value, inference.knowledge.vocabulary)
        or None,
    }


def _why_not(found: WhyNot) -> dict[str, Any]:
    return {
        "failed": [_failed(failed) for failed in found.failed],
        "unknown": list(found.unknown),
        "would_fire_with": [{"fact": c.fact, "value": c.to} for c in found.changes],
        "would_fire": found.would_fire,
    }


def _failed(failed: Failed) -> dict[str, Any]:
    return {
        "condition": failed.condition,
        "holds": failed.holds,
        "fact": failed.fact,
        "value": failed.value,
        "needed": failed.needed,
        "margin": failed.margin,
        "relative_margin": failed.relative,
        "missing": list(failed.missing),
        "could_be_set_by": list(failed.producers),
        "kept_by": [_failed(kept) for kept in failed.kept_by],
    }


def overview(reopened: Reopened) -> dict[str, Any]:
    """List every strategy and pitfall with its state, the nearest misses first."""
    inference = reopened.inference
    rules = [r for r in inference.knowledge.rules if r.kind in ADVICE_KINDS]
    fired = [item.rule for item in rank(inference)] + inference.fired("pitfall")
    rest = near_misses(inference, [r for r in rules if not inference.has_fired(r.id)])
    undecided = [r for r in rules if inference.outcomes[r.id].state == "undecided"]
    return {
        "fired": [{"id": r.id, "kind": r.kind, "status": r.status} for r in fired],
        "not_fired": [
            {"id": w.rule.id, "kind": w.rule.kind, "state": _state(inference, w), **_why_not(w)}
            for w in rest
        ],
        "missing": [asdict(gap) for gap in missing_facts(inference, undecided)],
    }


def _state(inference: Inference, found: WhyNot) -> str:
    return inference.outcomes[found.rule.id].state


def changed_by(reopened: Reopened, changes: Mapping[str, Value]) -> dict[str, Any]:
    """Infer again with facts changed, and say what is different afterwards."""
    before = reopened.inference
    facts = what_if(before.base, changes, reopened.derivations, before.knowledge.vocabulary)
    after = infer(facts, before.knowledge)
    names = sorted({*before.facts.facts, *after.facts.facts})
    moved = [name for name in names if before.facts.value(name) != after.facts.value(name)]
    return {
        "changes": dict(changes),
        "facts": [
            {"name": name, "before": before.facts.value(name), "after": after.facts.value(name)}
            for name in moved
        ],
        "rules": [
            {"id": rule.id, "kind": rule.kind, "before": was.state, "after": now.state}
            for rule in before.knowledge.rules
            if (was := before.outcomes[rule.id]).state != (now := after.outcomes[rule.id]).state
        ],
    }


def rule_text(document: dict[str, Any]) -> str:
    """Write the explanation of one rule."""
    lines = [f"{document['title']}", "", *render_tree(document["why"])]
    lines += ["", _filled(document["says"], "")]
    if document.get("gain"):
        gain = document["gain"]
        capped = f", capped by {gain['limited_by']}" if gain["limited_by"] else ""
        lines += ["", f"Gain        {n.gain(gain['low'], gain['high'])} ({gain['basis']}{capped})"]
    for key, label in (("evidence", "Evidence"), ("wrong_when", "Wrong when")):
        lines += [_filled(text, f"{label:<12}") for text in document[key]]
    for edge in document.get("conflicts", ()):
        text = f"{' x '.join(edge['between'])}, {edge['kind']}: {edge['because']}"
        lines.append(_filled(text, f"{'Edge':<12}"))
    if document.get("experiment"):
        lines.append(_filled(document["experiment"], f"{'Isolate':<12}"))
    if "why_not" in document:
        lines += ["", *_why_not_lines(document["why_not"])]
    return "\n".join(lines) + "\n"


def _why_not_lines(document: dict[str, Any]) -> list[str]:
    lines = ["Why not"]
    for failed in document["failed"]:
        text = f"{failed['condition']}: {_missed(failed)}"
        if failed["could_be_set_by"]:
            text += f"; could be set by {', '.join(failed['could_be_set_by'])}"
        text += "".join(f"; {_missed(kept)}" for kept in failed["kept_by"])
        lines.append(_filled(text, "  "))
    if document["unknown"]:
        lines.append(_filled(f"not known: {', '.join(document['unknown'])}", "  "))
    if document["would_fire_with"]:
        told = ", ".join(
            f"{c['fact']} = {n.anything(c['value'])}" for c in document["would_fire_with"]
        )
        outcome = {True: "it fires", False: "it is still silent", None: "it might fire"}
        lines.append(_filled(f"with {told} {outcome[document['would_fire']]}", "  "))
    return lines


def _missed(failed: dict[str, Any]) -> str:
    """Write what a fact is, what it would have to be, and how far that is."""
    text = f"{failed['fact']} is {n.anything(failed['value'])}, needed {failed['needed']}"
    if failed["margin"] is not None:
        text += f", off by {n.plain(failed['margin'])}"
        if failed["relative_margin"] is not None:
            text += f" ({n.percent(failed['relative_margin'])})"
    return text


def overview_text(document: dict[str, Any]) -> str:
    """Write the list of all strategies and pitfalls."""
    lines = ["Fired"]
    lines += [f"  {row['id']:<32}{row['kind']:<10}{row['status']}" for row in document["fired"]]
    if not document["fired"]:
        lines.append("  nothing")
    lines += ["", "Not fired, the nearest first"]
    for row in document["not_fired"]:
        first = row["failed"][0]
        reason = f"{first['condition']}, is {n.anything(first['value'])}"
        if row["state"] == "undecided":
            reason = f"needs {', '.join(row['unknown']) or 'a fact that is not known'}"
        lines.append(_filled(reason, f"  {row['id']:<32}{row['state']:<11}"))
    if document["missing"]:
        lines += ["", "Missing, the cheapest first"]
        lines += [
            _filled(
                f"{gap['how']} (decides {', '.join(gap['would_decide'])})", f"  {gap['fact']}: "
            )
            for gap in document["missing"]
        ]
    return "\n".join(lines) + "\n"


def changes_text(document: dict[str, Any]) -> str:
    """Write what a change of facts changes."""
    told = ", ".join(f"{name} = {n.anything(v)}" for name, v in document["changes"].items())
    lines = [f"What if {told}", ""]
    width = max((len(row["name"]) for row in document["facts"]), default=0)
    lines += [
        f"  {row['name']:<{width}}  {n.anything(row['before'])} -> {n.anything(row['after'])}"
        for row in document["facts"]
    ]
    lines += ["" if document["rules"] else "\n  no rule changes its state"]
    lines += [
        f"  {row['kind']} {row['id']}: {row['before']} -> {row['after']}"
        for row in document["rules"]
    ]
    return "\n".join(lines) + "\n"


def _filled(text: str, label: str) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=label,
        subsequent_indent=" " * len(label),
        break_long_words=False,
        break_on_hyphens=False,
    )
