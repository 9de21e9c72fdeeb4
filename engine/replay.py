"""Replays measured outcomes: what the rules say of the facts of each, against what was reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field

from ..facts.derive import Derivation, derive
from ..facts.device_facts import device_facts
from ..facts.model import Fact, FactBase, Source
from ..parsers.errors import KneckError
from ..parsers.record import dataclass
from ..parsers.suggest import suggestion
from ..rules.outcomes import Case, Recorded, Run
from ..rules.values import typed_value
from .conflicts import Related, relations
from .extraction import asked_names, derivations_for
from .infer import Inference, infer
from .knowledge import Setting
from .rank import Ranked, rank
from .wording import render

TOLERANCE = 0.02  # of a fact that must follow, as the outcome files say
UNSUPPORTED = ("contested", "refuted")


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


@dataclass
class Tally:
    """Per rule: how often each demand was made, and how often it was met."""

    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    met: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    cases: int = 0
    cases_met: int = 0

    def add(self, rule: str, demand: str, met: bool) -> None:
        self.asked[rule, demand] += 1
        self.met[rule, demand] += met


def said_of(run: Run, setting: Setting) -> Said:
    """Derive and infer from the hardware and the facts of a run; raises KneckError."""
    hardware, known = setting.hardware, setting.knowledge
    facts = list(known.method)
    arch = run.arch
    if run.device is not None:
        device = hardware.devices.get(run.device)
        if device is None:
            raise KneckError(
                f'no device "{run.device}"', help=suggestion(run.device, hardware.devices)
            )
        arch = device.arch
        facts += device_facts(device, None)
    if arch is None or arch not in hardware.architectures:
        raise KneckError(
            f'{run.name}: no architecture "{arch}"',
            help=suggestion(arch or "", hardware.architectures),
        )
    architecture = hardware.architectures[arch]
    facts += architecture.facts
    for name, text in run.given.items():
        entry = known.vocabulary.entry(name)
        if entry is None:
            raise KneckError(f'{run.name}: no fact "{name}"', help="kneck kb schema vocabulary")
        typed = typed_value(name, text, known.vocabulary, None)
        facts.append(Fact(name, typed, entry.unit, Source("option", "the report")))
    steps: list[Derivation] = derivations_for(architecture, setting, asked_names(setting))
    base = derive(FactBase({fact.name: fact for fact in facts}), steps)
    inference = infer(base, known)
    return Said(inference, rank(inference), relations(inference, steps))


def faults(said: Said, run: Run, tally: Tally | None = None) -> list[str]:
    """List what does not come out as the run asks; counts every demand on a rule in the tally."""
    tally = tally or Tally()
    known = said.inference.knowledge.by_id
    named = {*run.fires, *run.silent, *run.contested, *run.gains, *run.rank, *run.says}
    named |= {one for one, _ in run.conflicts}
    if missing := sorted(named - known.keys()):
        raise KneckError(f'{run.name}: no rule "{missing[0]}"', help=suggestion(missing[0], known))
    found: list[str] = []

    def demand(rule: str, what: str, met: bool, fault: str) -> None:
        tally.add(rule, what, met)
        if not met:
            found.append(fault)

    for rule in run.fires:
        demand(rule, "fires", said.state(rule) == "fired", f"{rule} is {said.state(rule)}")
    for rule in run.silent:
        demand(rule, "silent", said.state(rule) != "fired", f"{rule} fires")
    for rule in run.contested:
        status = known[rule].status
        met = said.state(rule) != "fired" or status in UNSUPPORTED
        demand(rule, "silent", met, f"{rule} fires as {status}")
    places = {item.rule.id: item for item in said.ranked}
    for rule, percent in run.gains.items():
        gain = places[rule].gain if rule in places else None
        if gain is None or gain.low is None or gain.high is None:
            demand(rule, "gain", False, f"{rule} has no range")
        else:
            text = f"{percent} % is not in {gain.low:.1f} to {gain.high:.1f} of {rule}"
            demand(rule, "gain", gain.low <= percent <= gain.high, text)
    for rule, lowest in run.rank.items():
        met = rule in places and places[rule].rank <= lowest
        demand(rule, "rank", met, f"{rule} is not among the first {lowest}")
    joined = {frozenset(edge.between) for edge in said.edges if edge.because}
    found += [f"no edge {list(e)}" for e in run.edges if frozenset(e) not in joined]
    for one, two in run.conflicts:
        if not any(edge.to == two and edge.kind == "conflicts" for edge in known[one].edges):
            found.append(f"{one} does not declare a conflict with {two}")
    for name, value in run.facts.items():
        number = said.inference.facts.number(name)
        if number is None or abs(number - value) > TOLERANCE * abs(value):
            found.append(f"{name} is {number}, not {value}")
    for rule, words in run.says.items():
        found += [f"{rule} does not say {w}" for w in words if w not in said.words(rule)]
    return found


def replay(entries: Iterable[Case | Recorded], setting: Setting) -> Tally:
    """Replay every outcome and count, per rule, what came out as reported."""
    tally = Tally()
    for entry in entries:
        tally.cases += 1
        if isinstance(entry, Case):
            wrong = [
                f"{entry.case}, {run.name}: {fault}"
                for run in entry.runs
                for fault in faults(said_of(run, setting), run, tally)
            ]
        else:
            wrong = _recorded(entry, tally)
        tally.faults += wrong
        tally.cases_met += not wrong
    return tally


def _recorded(entry: Recorded, tally: Tally) -> list[str]:
    """Compare a recorded gain with the range that was printed before the change was made."""
    wrong = []
    for strategy in entry.strategies:
        said = entry.predicted.get(strategy)
        tally.add(strategy, "fires", said is not None)
        if said is None:
            wrong.append(f"recorded: {strategy} was applied and had not been recommended")
            continue
        if said.low_percent is None or said.high_percent is None or len(entry.strategies) > 1:
            continue  # several changes at once: no single range can be held against the gain
        inside = said.low_percent <= entry.gain_percent <= said.high_percent
        tally.add(strategy, "gain", inside)
        if not inside:
            wrong.append(
                f"recorded: {entry.gain_percent} % is not in {said.low_percent} to "
                f"{said.high_percent} of {strategy}"
            )
    return wrong
