"""A saved diagnosis as an inference again: its facts, derived and judged anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..facts.derive import Derivation, derive
from ..facts.model import Fact, FactBase, Source
from ..facts.request import Request
from ..parsers.errors import KneckError
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
    except (KeyError, TypeError):
        help = "write it with kneck infer --format json"
        raise KneckError("the saved diagnosis has no facts", help=help) from None
    facts = [fact for fact in rows if fact.source.kind not in FOLLOWING]
    arch = next((str(fact.value) for fact in facts if fact.name == "arch.name"), None)
    architecture = setting.hardware.architecture(arch) if arch is not None else None
    derivations = derivations_for(architecture, setting, asked_names(setting))
    base = derive(FactBase().with_facts(facts), derivations)
    return Reopened(infer(base, setting.knowledge), derivations, setting)


def _fact(row: dict[str, Any]) -> Fact:
    source = row["source"]
    return Fact(
        row["name"],
        row["value"],
        row["unit"],
        Source(source["kind"], source["detail"]),
        tuple(source.get("inputs", ())),
    )
