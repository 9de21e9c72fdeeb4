"""The tests that rules carry: facts that must fire the rule, and facts that must not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from ..facts.model import Fact, FactBase, Source
from ..parsers.errors import KneckError, KnowledgeError, Place
from ..parsers.record import dataclass
from ..parsers.suggest import suggestion
from ..rules.model import Knowledge, Rule, RuleTest
from ..rules.overlay import KnowledgeFolder
from .infer import Inference, infer

Hardware = Callable[[str], Iterable[Fact]]  # the facts of an architecture or a device, by its name
STATE = {"true": "fired", "false": "silent", "unknown": "undecided"}


@dataclass(frozen=True, slots=True)
class FailedTest:
    """A test of a rule that does not come out as written."""

    rule: Rule
    test: RuleTest
    what: str

    def __str__(self) -> str:
        return str(self.error)

    @property
    def error(self) -> KnowledgeError:
        """Give the fault in the form of the others that `kb check` reports."""
        place = Place(self.rule.file, self.test.line)
        help = f"correct the test, or the rule; its conditions begin at line {self.rule.line}"
        return KnowledgeError(f"{self.rule.id}: a test fails: {self.what}", place, help)


def run_tests(
    knowledge: Knowledge,
    architecture: Hardware,
    device: Hardware,
    rules: Sequence[Rule] | None = None,
) -> list[FailedTest]:
    """Run the tests of these rules (of all, by default) in the whole knowledge base."""
    found = []
    for rule in knowledge.rules if rules is None else rules:
        for test in rule.tests:
            what = run_test(knowledge, rule, test, architecture, device)
            if what is not None:
                found.append(FailedTest(rule, test, what))
    return found


def run_test(
    knowledge: Knowledge, rule: Rule, test: RuleTest, architecture: Hardware, device: Hardware
) -> str | None:
    """Run one test; gives what is wrong, or None."""
    try:
        facts = _facts(knowledge, test, architecture, device)
        inference = infer(facts, knowledge)
    except KneckError as error:
        return error.what
    state = inference.outcomes[rule.id].state
    if state != STATE[test.fires]:
        return f"{state}, not {STATE[test.fires]}{_reason(inference, rule)}"
    if test.because is not None and test.because not in _not_holding(inference, rule):
        return f'"{test.because}" is not what fails{_reason(inference, rule)}'
    return None


def _facts(
    knowledge: Knowledge, test: RuleTest, architecture: Hardware, device: Hardware
) -> FactBase:
    """Join the thresholds, the hardware and what the test gives; the test's own facts win."""
    facts = list(knowledge.method)
    if test.arch is not None:
        facts.extend(architecture(test.arch))
    if test.device is not None:
        facts.extend(device(test.device))
    for name, value in test.given.items():
        entry = knowledge.vocabulary.entry(name)
        facts.append(Fact(name, value, entry.unit if entry else "", Source("option", "the test")))
    return FactBase({fact.name: fact for fact in facts})


def _not_holding(inference: Inference, rule: Rule) -> list[str]:
    outcome = inference.outcomes[rule.id]
    states = outcome.when + outcome.unless
    return [c.text for c, holds in zip(rule.conditions, states, strict=True) if holds is not True]


def _reason(inference: Inference, rule: Rule) -> str:
    open_ones = _not_holding(inference, rule)
    return f" ({'; '.join(open_ones)})" if open_ones else ""


def failed_tests(folders: Sequence[KnowledgeFolder]) -> list[FailedTest]:
    """Run all rule tests of these folders, with the architectures and devices that they hold."""
    from ..rules.cache import load_knowledge
    from ..rules.hardware import architecture_names, load_architecture, load_device

    paths = [folder.path for folder in folders]

    @cache
    def architecture(name: str) -> tuple[Fact, ...]:
        found = load_architecture(name, paths)
        if found is None:
            known = architecture_names(paths)
            raise KneckError(f'unknown architecture "{name}"; {suggestion(name, known)}')
        return found.facts

    @cache
    def device(name: str) -> tuple[Fact, ...]:
        return load_device(name, paths).facts

    return run_tests(load_knowledge(folders), architecture, device)
