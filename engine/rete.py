"""The Rete engine: durable_rules, driven step by step. The only importer of its modules.

durable_rules 2.0.28 crashes, hangs or silently drops facts when used as its manual shows. What is
done about it: the encoding of `engine.encoding`; this driver loop on the C engine, without the
package's Host (its timer threads never stop, and it swallows exceptions); a fact at the start of
each batch that it can read for sure, since it takes a wild pointer for the state where it cannot
read the first; a sentinel at the end, whose rule must fire, so that no fact was dropped; strata, so
that nothing is negated before it is settled; and the comparison with `engine.evaluate` after each
run.
"""

from __future__ import annotations

import _thread
import json
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import durable_rules_engine as durable  # type: ignore[import-not-found]

from ..facts.model import FactBase, Value
from ..parsers.errors import KnowledgeError
from ..parsers.expression_tree import evaluate_tree, names_in
from ..rules.model import Knowledge, Rule
from .durable_json import definition_text, message
from .encoding import (
    ALWAYS,
    SENTINEL,
    SENTINEL_RULE,
    Encoder,
    Helper,
    Section,
    Texts,
    check_hashes,
)
from .evaluate import fails, lacking, outcome
from .memory import WorkingMemory

# The GNU C library gives freed memory back to the system until a block as large as this was freed
# (its upper limit is 32 MiB). Each run of the C engine takes and frees some megabytes, and taking
# them anew, page by page, was two thirds of its time.
KEPT_BYTES = 30 << 20
STATE = "0"  # the session that durable_rules opens for messages without a session id
OPENING = message("begin:", 1.0)  # no rule looks at it
ACCEPTED = (0, 1)  # codes of an assertion: matched by a rule, matched by none


class Firing(NamedTuple):
    """One firing: the rule, and the facts that it matched, by name."""

    rule: str
    matched: tuple[str, ...]


class EngineError(RuntimeError):
    """The engine lost facts or disagrees with the evaluator: a fault of kneck, not of its user."""


class Network:
    """A knowledge base compiled once; `run` may be called any number of times."""

    def __init__(self, knowledge: Knowledge) -> None:
        bytes(KEPT_BYTES)
        encoder = Encoder(knowledge.rules)
        check_hashes(encoder.sections)
        self.knowledge = weakref.ref(knowledge)
        self.texts = encoder.texts
        self.looked_at = _facts_behind_helpers(encoder.sections)
        self.sections = encoder.sections
        self.rulesets = self._compiled()
        self.lock = _thread.allocate_lock()

    def run(self, base: FactBase) -> tuple[Firing, ...]:
        """Infer from these facts; gives the firings in order, the same for the same facts.

        Raises KnowledgeError on a contradiction between rules, EngineError when facts were lost.
        """
        knowledge = self.knowledge()
        if knowledge is None:
            raise EngineError("the knowledge base of this network is gone")
        with self.lock:
            intact = False
            self.rulesets = self.rulesets or self._compiled()
            try:
                firings = _Run(self, knowledge, base).firings()
                intact = True
                return firings
            except KnowledgeError:
                intact = True
                raise
            except durable.error as error:
                raise EngineError(f"durable_rules failed: {error}") from error
            finally:
                self._clean(intact)

    def _clean(self, intact: bool) -> None:
        """Empty the rulesets; those of a run that broke off crash when emptied, so replace them."""
        if not intact:
            self.rulesets = []  # compiled again by the next run
        for ruleset in self.rulesets:
            ruleset.forget()

    def _compiled(self) -> list[_Ruleset]:
        return [_Ruleset(index, section) for index, section in enumerate(self.sections)]


class _Ruleset:
    """One ruleset of the C engine; a state exists in it from the first batch to `forget`."""

    def __init__(self, index: int, section: Section) -> None:
        self.section = section
        self.handle = durable.create_ruleset(f"kneck{index}", definition_text(section.definition))
        self.used = False
        weakref.finalize(self, durable.delete_ruleset, self.handle).atexit = False

    def fire(self, facts: Sequence[tuple[str, float]], batch: int) -> Iterator[Firing]:
        """Assert one batch, then give what fires; the sentinel must be the last to do so."""
        texts = [OPENING, *(message(name, value) for name, value in facts)]
        texts.append(message(SENTINEL, 1.0, id=f"{SENTINEL}{batch}"))
        code, state = durable.assert_facts(self.handle, f"[{','.join(texts)}]")
        self.used = True
        if code not in ACCEPTED:
            raise EngineError(f"durable_rules refused a batch of facts with code {code}")
        started = durable.start_action_for_state(self.handle, state)
        action = started[1] if started else None
        ended = False
        while action:
            ((rule, matched),) = json.loads(action).items()
            if rule == SENTINEL_RULE:
                ended = True
            else:
                yield Firing(rule, tuple(sorted({item["id"] for item in matched.values()})))
            action = durable.complete_and_start_action(self.handle, state)
        if not ended:
            raise EngineError("durable_rules dropped facts: the last one of a batch never arrived")

    def forget(self) -> None:
        """Drop the state; one that never saw a batch must not be touched."""
        if self.used:
            durable.delete_state(self.handle, STATE)
            self.used = False


class _BareMemory(WorkingMemory):
    """A working memory that is thrown away after the run: nobody asks where a fact came from."""

    def _inputs(self, rules: Sequence[Rule]) -> tuple[str, ...]:
        return ()


class _Run:
    """One inference: the working memory, filled stratum by stratum from what fires."""

    def __init__(self, network: Network, knowledge: Knowledge, base: FactBase) -> None:
        self.network = network
        self.knowledge = knowledge
        self.memory = _BareMemory(knowledge, base)
        self.texts = Texts(network.texts.numbers)
        self.fired: dict[str, Firing] = {}
        self.asserted: list[set[str]] = [set() for _ in network.rulesets]

    def firings(self) -> tuple[Firing, ...]:
        for stratum in range(len(self.knowledge.strata)):
            for index, ruleset in enumerate(self.network.rulesets):
                if stratum in ruleset.section.strata:
                    self._fire(index, ruleset, stratum)
            self.memory.settle(stratum, self.fired, self._lacks, only=self.knowledge.needed)
        return tuple(self.fired.values())

    def _lacks(self, rule: Rule) -> Sequence[str] | None:
        if fails(rule, self.memory):
            return None
        return lacking(outcome(rule, self.memory), self.memory)

    def _fire(self, index: int, ruleset: _Ruleset, stratum: int) -> None:
        facts = dict(self._new_facts(self.asserted[index], ruleset.section, stratum))
        self.asserted[index].update(facts)
        for firing in ruleset.fire(sorted(facts.items()), stratum):
            if firing.rule in self.fired:
                raise EngineError(f"durable_rules fired {firing.rule} twice")
            self.fired[firing.rule] = self._with_facts(firing)

    def _new_facts(
        self, asserted: set[str], section: Section, stratum: int
    ) -> Iterator[tuple[str, float]]:
        if ALWAYS in section.names and ALWAYS not in asserted:
            yield ALWAYS, 1.0
        for name in section.names:
            fact = self.memory.facts.get(name)
            if fact is not None and name not in asserted:
                yield name, self.texts.encoded(fact.value)
        for helper in section.helpers.get(stratum, ()):
            value = self._helper_value(helper)
            if value is not None and helper.name not in asserted:
                yield helper.name, value

    def _helper_value(self, helper: Helper) -> float | None:
        value: Value | None = evaluate_tree(helper.tree, self.memory.value)
        if helper.negated:
            fails = value is False or (value is None and not self._applies(helper))
            return 1.0 if fails else None
        if value is None:
            return None
        return self.texts.encoded(value)

    def _applies(self, helper: Helper) -> bool:
        return all(map(self.memory.applies, names_in(helper.tree)))

    def _with_facts(self, firing: Firing) -> Firing:
        """Replace helper facts by the facts that they were computed from."""
        names = {
            fact
            for name in firing.matched
            if name != ALWAYS
            for fact in self.network.looked_at.get(name, (name,))
        }
        return Firing(firing.rule, tuple(sorted(names)))


def _facts_behind_helpers(sections: Iterable[Section]) -> Mapping[str, tuple[str, ...]]:
    return {
        helper.name: tuple(sorted(set(names_in(helper.tree))))
        for section in sections
        for helpers in section.helpers.values()
        for helper in helpers
    }


_networks: weakref.WeakKeyDictionary[Knowledge, Network] = weakref.WeakKeyDictionary()


def network(knowledge: Knowledge) -> Network:
    """Give the network of a knowledge base, compiled on the first call."""
    found = _networks.get(knowledge)
    if found is None:
        found = _networks[knowledge] = Network(knowledge)
    return found
