"""A saved diagnosis as an inference again: its facts, derived and judged anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from ..facts.derive import Derivation, derive
from ..facts.model import Fact, FactBase, Source, Value
from ..facts.request import Request
from ..parsers.errors import KneckError
from ..parsers.record import dataclass
from .extraction import asked_names, derivations_for
from .infer import Inference, infer
from .knowledge import Setting, load_setting

FOLLOWING = ("derived", "rule")  # what is computed again


@dataclass(frozen=True)
class Reopened:
    """An inference made of a saved document, with what is needed to change it."""

    inference: Inference
    derivations: Sequence[Derivation]
    setting: Setting


def reopen(document: dict[str, Any], kb: Sequence[str] = ()) -> Reopened:
    """Infer again from the facts of a saved diagnosis; raises KneckError where it has none."""
    setting = load_setting(Request(target="", kb=tuple(kb)))
    try:
        rows = [_fact(row) for row in document["facts"]]
    except (KeyError, TypeError, ValueError):
        help = "write it with kneck infer --format json"
        raise KneckError("the saved diagnosis has no facts", help=help) from None
    facts = [fact for fact in rows if fact.source.kind not in FOLLOWING]
    _check_types(facts, setting.knowledge.types)
    arch = next((str(fact.value) for fact in facts if fact.name == "arch.name"), None)
    architecture = setting.hardware.architecture(arch) if arch is not None else None
    derivations = derivations_for(architecture, setting, asked_names(setting))
    try:
        base = derive(FactBase().with_facts(facts), derivations)
    except (TypeError, ValueError) as error:  # a text where a formula needs a number
        what = f"the saved facts do not fit together: {error}"
        raise KneckError(what, help="write it anew with kneck infer --format json") from None
    return Reopened(infer(base, setting.knowledge), derivations, setting)


def _fact(row: dict[str, Any]) -> Fact:
    """Read one fact; raises one of Python's own errors for anything else."""
    source = row["source"]
    name, value, unit = row["name"], row["value"], row["unit"]
    texts = [name, unit, source["kind"], source["detail"], *source.get("inputs", ())]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("not a text")
    if not isinstance(value, (bool, int, float, str)) or not _is_finite(value):
        raise ValueError("not a value")
    inputs = tuple(source.get("inputs", ()))
    return Fact(name, value, unit, Source(source["kind"], source["detail"]), inputs)


def _is_finite(value: Value) -> bool:
    return not isinstance(value, float) or isfinite(value)


def _check_types(facts: Iterable[Fact], types: Mapping[str, str]) -> None:
    """Raise KneckError for a fact that is not what the rules take it for."""
    for fact in facts:
        is_a = {bool: "bool", str: "text"}.get(type(fact.value), "num")
        if types.get(fact.name, is_a) != is_a:
            what = f"the saved fact {fact.name} is {fact.value!r}, which does not fit it"
            raise KneckError(what, help="write it anew with kneck infer --format json")
