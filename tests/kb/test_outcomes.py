"""The public outcomes of kb/outcomes: what was reported, and what the rules say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
import yaml

from kneck.engine.conflicts import Related, relations
from kneck.engine.extraction import asked_names, derivations_for
from kneck.engine.infer import Inference, infer
from kneck.engine.knowledge import Setting, load_setting
from kneck.engine.rank import Ranked, rank
from kneck.engine.wording import render
from kneck.facts.derive import Derivation, derive
from kneck.facts.device_facts import device_facts
from kneck.facts.model import Fact, FactBase, Source
from kneck.facts.request import Request
from kneck.rules.overlay import shipped_folder
from kneck.rules.values import typed_value

OUTCOMES = shipped_folder().path / "outcomes" / "public.yaml"
CASES: list[dict[str, Any]] = yaml.safe_load(OUTCOMES.read_text(encoding="utf-8"))
RUNS = [
    pytest.param(case["case"], run, id=f"{case['case']}, {run['name']}")
    for case in CASES
    for run in case["runs"]
]
LEAST = 18  # of 20 cases must come out as reported
NOT_AS_REPORTED: Mapping[str, str] = {}  # case -> why


@dataclass(frozen=True)
class Said:
    """What the rules say of one run."""

    inference: Inference
    ranked: Sequence[Ranked]
    edges: Sequence[Related]

    def state(self, rule: str) -> str:
        return self.inference.outcomes[rule].state

    def words(self, rule: str) -> str:
        found = self.inference.knowledge.by_id[rule]
        lookup, vocabulary = self.inference.facts.value, self.inference.knowledge.vocabulary
        return render(found.why, lookup, vocabulary) + render(found.action, lookup, vocabulary)


@cache
def setting() -> Setting:
    return load_setting(Request(target=""))


def said_of(run: Mapping[str, Any]) -> Said:
    """Derive and infer from the hardware and the facts of a run."""
    hardware, known = setting().hardware, setting().knowledge
    facts = list(known.method)
    arch = str(run.get("arch"))
    if "device" in run:
        device = hardware.devices[run["device"]]
        arch = device.arch
        facts += device_facts(device, None)
    architecture = hardware.architectures[arch]
    facts += architecture.facts
    for name, value in run["given"].items():
        entry = known.vocabulary.entry(name)
        assert entry is not None, name
        text = str(value).lower() if isinstance(value, bool) else str(value)
        typed = typed_value(name, text, known.vocabulary, None)
        facts.append(Fact(name, typed, entry.unit, Source("option", "the report")))
    steps: list[Derivation] = derivations_for(architecture, setting(), asked_names(setting()))
    base = derive(FactBase({fact.name: fact for fact in facts}), steps)
    inference = infer(base, known)
    return Said(inference, rank(inference), relations(inference, steps))


def faults(said: Said, run: Mapping[str, Any]) -> list[str]:
    """List what does not come out as the run asks."""
    found = [f"{r} is {said.state(r)}" for r in run.get("fires", ()) if said.state(r) != "fired"]
    found += [f"{r} fires" for r in run.get("silent", ()) if said.state(r) == "fired"]
    for rule in run.get("contested", ()):
        status = said.inference.knowledge.by_id[rule].status
        if said.state(rule) == "fired" and status not in ("contested", "refuted"):
            found.append(f"{rule} fires as {status}")
    places = {item.rule.id: item for item in said.ranked}
    for rule, percent in run.get("gains", {}).items():
        gain = places[rule].gain if rule in places else None
        if gain is None or gain.low is None or gain.high is None:
            found.append(f"{rule} has no range")
        elif not gain.low <= percent <= gain.high:
            found.append(f"{percent} % is not in {gain.low:.1f} to {gain.high:.1f} of {rule}")
    for rule, lowest in run.get("rank", {}).items():
        if rule not in places or places[rule].rank > lowest:
            found.append(f"{rule} is not among the first {lowest}")
    joined = {frozenset(edge.between) for edge in said.edges if edge.because}
    found += [f"no edge {e}" for e in run.get("edges", ()) if frozenset(e) not in joined]
    for one, two in run.get("conflicts", ()):
        declared = said.inference.knowledge.by_id[one].edges
        if not any(edge.to == two and edge.kind == "conflicts" for edge in declared):
            found.append(f"{one} does not declare a conflict with {two}")
    for name, value in run.get("facts", {}).items():
        known = said.inference.facts.number(name)
        if known is None or abs(known - value) > 0.02 * abs(value):
            found.append(f"{name} is {known}, not {value}")
    for rule, words in run.get("says", {}).items():
        found += [f"{rule} does not say {w}" for w in words if w not in said.words(rule)]
    return found


@pytest.mark.parametrize(("case", "run"), RUNS)
def test_the_rules_say_what_was_reported(case: str, run: dict[str, Any]) -> None:
    found = faults(said_of(run), run)
    assert found == [] or case in NOT_AS_REPORTED, found


def test_enough_cases_come_out_as_reported() -> None:
    assert len(CASES) == 20
    assert len(CASES) - len(NOT_AS_REPORTED) >= LEAST
