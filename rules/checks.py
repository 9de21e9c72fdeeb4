"""Checks of a rule among the others: one small function each, listed in CHECKS.

Each notes what is wrong with the place and the next step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..parsers.errors import Place
from ..parsers.suggest import suggestion
from .limits import LARGEST_ANTECEDENTS, antecedents
from .loaded import Context, LoadedRule
from .reachable import contradiction, impossible_value, shadow

REQUIRED = {  # by kind of rule
    "verdict": ("sets", "when", "evidence"),
    "strategy": ("action", "when", "wrong_when", "experiment", "evidence"),
    "pitfall": ("severity", "when", "evidence"),
    "limitation": (),
}
OUT_OF_PLACE = {
    "verdict": ("severity", "action", "experiment", "gain", "side_effects", "edges", "wrong_when"),
    "strategy": ("sets", "severity"),
    "pitfall": ("sets", "gain", "side_effects"),
    "limitation": ("sets", "severity", "gain", "side_effects", "edges", "wrong_when"),
}
ARTICLE = {"verdict": "a verdict", "strategy": "a strategy", "pitfall": "a pitfall"}
EDGE_KEYS = ("conflicts", "enables", "supersedes", "competes")


def required_keys(entry: LoadedRule, context: Context) -> None:
    """A rule has what its kind needs, and no claim stands without evidence."""
    rule = entry.rule
    written: Any = entry.document.data
    written = written[entry.index]
    for key in REQUIRED[rule.kind]:
        if key == "evidence" and rule.status == "hypothesis":
            continue
        if key == "when" and "unless" in written:
            continue
        if not written.get(key):
            what = f'{rule.id}: missing "{key}"'
            help = f"add {key}:"
            if key == "evidence":
                help = 'name who saw it and where, or write "status: hypothesis"'
            context.faults.add(what, entry.place(), help)


def keys_of_other_kinds(entry: LoadedRule, context: Context) -> None:
    """A rule has no key that only means something for another kind."""
    rule = entry.rule
    for key in OUT_OF_PLACE[rule.kind]:
        for written in EDGE_KEYS if key == "edges" else (key,):
            if (entry.index, written) in entry.document.keys:
                what = f'"{written}" has no meaning in a {rule.kind}'
                kinds = [k for k in OUT_OF_PLACE if key not in OUT_OF_PLACE[k]]
                help = f"remove it, or move the rule to the folder of a {' or '.join(kinds)}"
                context.faults.add(what, entry.key_place(written), help)


def no_split_texts(entry: LoadedRule, context: Context) -> None:
    """Texts stand one per line: in brackets each comma of a text would split it."""
    for key in ("evidence", "wrong_when", "source"):
        at = (entry.index, key)
        if entry.document.styles.get(at) == "[" and (*at, 1) in entry.document.values:
            what = f"{key} has several texts in brackets; each comma splits a text"
            help = "write one text per line, or put quotes around a text with commas"
            context.faults.add(what, entry.place(key, 1), help)


def tests_both_ways(entry: LoadedRule, context: Context) -> None:
    """A rule shows facts that fire it, and facts that do not."""
    rule = entry.rule
    shown = {test.fires for test in rule.tests}
    wanted = ("true", "false") if rule.when or rule.unless else ("true",)
    for fires in wanted:
        if fires not in shown:
            what = f"{rule.id}: no test with fires: {fires}"
            place = entry.key_place("tests") if rule.tests else entry.place()
            context.faults.add(what, place, f"add to tests: {{given: {{..}}, fires: {fires}}}")


def tests_name_conditions(entry: LoadedRule, context: Context) -> None:
    """The condition that a test blames is one of the rule."""
    rule = entry.rule
    written: Any = entry.document.data
    written = written[entry.index]
    known = {text for key in ("when", "unless") for text in _texts(written.get(key))}
    for position, test in enumerate(rule.tests):
        if test.because is None:
            continue
        place = entry.place("tests", position, "because")
        if test.fires == "true":
            context.faults.add("a rule that fires has no failed condition", place, "remove it")
        elif test.because not in known:
            help = suggestion(test.because, known)
            context.faults.add(f'"{test.because}" is no condition of {rule.id}', place, help)


def _texts(written: Any) -> list[str]:
    """Give the conditions as written, those with a fault too."""
    return [written] if isinstance(written, str) else list(written or ())


def edges_to_known_rules(entry: LoadedRule, context: Context) -> None:
    """Both ends of an edge exist, and are strategies or pitfalls."""
    known = {rule.id for rule in context.all if rule.kind in ("strategy", "pitfall")}
    seen: set[tuple[str, str]] = set()
    for edge in entry.rule.edges:
        place = Place(entry.document.path, edge.line, edge.column)
        if edge.to == entry.rule.id:
            context.faults.add(f"{edge.to} {edge.kind} itself", place, "remove it")
        elif edge.to not in known:
            other = context.rules.get(edge.to)
            what = f'{edge.kind}: there is no strategy or pitfall "{edge.to}"'
            if other is not None:
                what = f"{edge.kind}: {edge.to} is {ARTICLE.get(other.rule.kind, 'a limitation')}"
            context.faults.add(what, place, suggestion(edge.to, known))
        elif (edge.kind, edge.to) in seen:
            context.faults.add(f"{edge.kind}: {edge.to} stands twice", place, "remove one")
        seen.add((edge.kind, edge.to))


def side_effects_on_inputs(entry: LoadedRule, context: Context) -> None:
    """A strategy changes facts of the kernel, never a verdict about it."""
    set_by_rules = {name for rule in context.all for name in rule.sets}
    for name in entry.rule.side_effects:
        if name in set_by_rules:
            place = entry.document.key_place(entry.index, "side_effects", name)
            what = f"{name} is set by rules and cannot be a side effect"
            context.faults.add(what, place, "change the facts that it follows from")


def fits_into_the_engine(entry: LoadedRule, context: Context) -> None:
    """A rule has no more antecedents than durable_rules can join."""
    needed = antecedents(entry.rule)
    if needed > LARGEST_ANTECEDENTS:
        what = (
            f"{entry.rule.id} needs {needed} antecedents, durable_rules joins {LARGEST_ANTECEDENTS}"
        )
        help = "move some conditions to a verdict rule that sets a fact"
        context.faults.add(what, entry.key_place("when"), help)


def can_fire(entry: LoadedRule, context: Context) -> None:
    """A rule can fire: its conditions do not exclude each other, and no other rule shadows it."""
    rule = entry.rule
    found = contradiction(rule)
    if found is not None:
        what = f'{rule.id} can never fire: "{found[0]}" and "{found[1]}" exclude each other'
        context.faults.add(what, _condition_place(entry, found[1]), "remove or correct one")
        return
    value = impossible_value(rule, context.all, context.vocabulary)
    if value is not None:
        condition, reason = value
        what = f"{rule.id} can never fire: {reason}"
        context.faults.add(what, _condition_place(entry, condition), "add such a rule, or correct")
        return
    other = shadow(rule, context.all)
    if other is not None:
        what = f"{rule.id} can never fire: {other.id} fires whenever its conditions hold"
        help = f"{other.id} stands at {other.file}:{other.line}"
        context.faults.add(what, entry.place("when"), help)


def _condition_place(entry: LoadedRule, text: str) -> Place:
    for condition in (*entry.rule.unless, *reversed(entry.rule.when)):
        if condition.text == text:
            return Place(entry.document.path, condition.line, condition.column)
    return entry.place("when")


CHECKS: tuple[Callable[[LoadedRule, Context], None], ...] = (
    required_keys,
    keys_of_other_kinds,
    no_split_texts,
    tests_both_ways,
    tests_name_conditions,
    edges_to_known_rules,
    side_effects_on_inputs,
    fits_into_the_engine,
    can_fire,
)
