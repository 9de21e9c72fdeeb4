"""The same facts with some of them changed, and what follows from those computed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..facts.derive import Derivation, consequences, derive
from ..facts.model import Fact, FactBase, Source, Value
from ..rules.vocabulary import Vocabulary


def what_if(
    base: FactBase,
    changes: Mapping[str, Value],
    derivations: Sequence[Derivation],
    vocabulary: Vocabulary | None = None,
) -> FactBase:
    """Give the base with these facts pinned and their consequences derived again.

    What was measured or given stays, even where the change would move it: a time is not guessed.
    """
    pinned = {name: _pinned(base, name, value, vocabulary) for name, value in changes.items()}
    stale = _stale(base, changes, derivations)
    facts = {name: fact for name, fact in base.facts.items() if name not in stale} | pinned
    following = consequences(changes, derivations)
    missing = {
        name: gap
        for name, gap in base.missing.items()
        if name not in facts and name not in following
    }
    return derive(FactBase(facts, missing), derivations)


def _pinned(base: FactBase, name: str, value: Value, vocabulary: Vocabulary | None) -> Fact:
    """Make the changed fact; a whole number stays an integer where it was one."""
    now = base.facts.get(name)
    unit = now.unit if now else ""
    entry = vocabulary.entry(name) if vocabulary and not now else None
    whole = isinstance(value, float) and value.is_integer()
    if whole and (now is None or isinstance(now.value, int)):
        value = int(value)
    source = Source("what-if", f"{name}={value}" + (f" instead of {now.value}" if now else ""))
    return Fact(name, value, entry.unit if entry else unit, source)


def _stale(
    base: FactBase, changes: Mapping[str, Value], derivations: Sequence[Derivation]
) -> set[str]:
    """Name the derived facts that depend on a change: as declared, and as their inputs say."""
    reached = consequences(changes, derivations)
    grown = True
    while grown:
        found = {f.name for f in base if f.name not in reached and reached & set(f.inputs)}
        reached |= found
        grown = bool(found)
    derived = {
        name for name in reached if name in base and base.facts[name].source.kind == "derived"
    }
    return derived - changes.keys()
