"""Random knowledge bases and fact sets, for the comparison of durable_rules and the evaluator."""

from __future__ import annotations

from random import Random

from kneck.facts.model import Fact, FactBase, Missing, Source, Value
from kneck.parsers.expression_tree import Expression, Tree, names_in, unparse
from kneck.rules.limits import LARGEST_ANTECEDENTS, antecedents
from kneck.rules.model import Condition, Kind, Knowledge, Rule, Template
from kneck.rules.strata import stratify
from kneck.rules.vocabulary import Entry, Vocabulary

NUMBERS = [f"a{i}" for i in range(8)]
TEXTS = ["s0", "s1", "s2"]
CLAIMS = ["b0", "b1"]
WORDS = ["HMMA", "IMMA", 'it"s,{é}', "a\\b", "", "1", "\x07\n", "$ex"]
CONSTANTS = [0, 1e-5, -3.5, -3, 35.7, 35, 50, 50.0, 1e16, 1e-300, 1 / 3, 2**53, 2**60 + 1, 7, 1e300]
SET_TEXT, SET_NUMBER, SET_CLAIM = "v.text", "v.number", "v.claim"


def knowledge(random: Random) -> Knowledge:
    """Make three to thirty rules that set facts of all types and look at each other's."""
    rules: list[Rule] = []
    for position in range(random.randint(3, 30)):
        rule = _rule(random, position, rules)
        if antecedents(rule) <= LARGEST_ANTECEDENTS:
            rules.append(rule)
    levels, cycles = stratify(rules).levels, stratify(rules).cycles
    assert not cycles
    rules = [rule._replace(stratum=levels[rule.id]) for rule in rules]
    rules.sort(key=lambda rule: (rule.stratum, rule.id))
    return Knowledge(_vocabulary(random, rules), tuple(rules), (), ())


def facts(random: Random) -> FactBase:
    """Give most facts a value; of the others some are missing and some do not apply.

    Now and then there is one that rules would set, or one that is no finite number.
    """
    values: dict[str, Value] = {}
    for name in NUMBERS:
        if random.random() < 0.85:
            plain = [*CONSTANTS, random.randint(-3, 9), round(random.uniform(-5, 60), 2)]
            values[name] = random.choice(plain)
            if random.random() < 0.02:
                values[name] = random.choice([float("nan"), float("inf"), 10**400])
    values.update((name, random.choice(WORDS)) for name in TEXTS if random.random() < 0.85)
    values.update((name, random.random() < 0.5) for name in CLAIMS if random.random() < 0.85)
    if random.random() < 0.1:
        values[f"{SET_CLAIM}.{random.randint(0, 5)}"] = random.random() < 0.5
    shuffled = list(values.items())
    random.shuffle(shuffled)
    missing = {
        name: Missing(name, "", applies=random.random() < 0.5)
        for name in NUMBERS + TEXTS + CLAIMS
        if name not in values and random.random() < 0.7
    }
    return FactBase({n: Fact(n, v, "", Source("option", "")) for n, v in shuffled}, missing)


def _rule(random: Random, position: int, before: list[Rule]) -> Rule:
    """Make a rule; it looks only at facts that earlier rules set, so that no cycle arises."""
    own = f"{SET_CLAIM}.{position // 4}"
    set_before = sorted({name for rule in before for name in rule.sets} - {own})
    fired_before = [rule.fact for rule in before if rule.fact]
    when = [_condition(random, set_before) for _ in range(random.randint(0, 4))]
    if fired_before and random.random() < 0.3:
        claim: Tree = ("name", random.choice(fired_before))
        when.append(claim if random.random() < 0.6 else ("not", claim))
    unless = [_condition(random, set_before) for _ in range(random.choice([0, 0, 1, 2]))]
    kind: Kind = random.choice(["verdict", "verdict", "strategy", "pitfall", "limitation"])
    sets = _sets(random, position) if kind == "verdict" else {}
    return Rule(
        id=f"r{position:02d}",
        kind=kind,
        title="",
        status="measured",
        why=Template("", ()),
        source="",
        folder="random",
        path="rules.yaml",
        line=position,
        when=tuple(Condition(_expression(tree), 1, 1) for tree in when),
        unless=tuple(Condition(_expression(tree), 1, 1) for tree in unless),
        sets={name: _expression(tree) for name, tree in sets.items()},
    )


def _sets(random: Random, position: int) -> dict[str, Tree]:
    """Set facts of a rule's own, and one with others; equal values, so that none contradicts."""
    found: dict[str, Tree] = {f"{SET_CLAIM}.{position // 4}": ("bool", True)}
    if random.random() < 0.5:
        found[f"{SET_TEXT}.{position}"] = ("text", random.choice(WORDS))
    if random.random() < 0.5:
        found[f"{SET_NUMBER}.{position}"] = _sum(random, NUMBERS)
    return found


def _condition(random: Random, set_before: list[str]) -> Tree:
    """Compare like with like: numbers, texts, claims; given ones and those that rules set."""
    texts = TEXTS + [name for name in set_before if name.startswith(SET_TEXT)]
    claims = CLAIMS + [name for name in set_before if name.startswith(SET_CLAIM)]
    numbers = NUMBERS + [name for name in set_before if name.startswith(SET_NUMBER)]
    draw = random.random()
    if draw < 0.15:
        other: Tree = ("text", random.choice(WORDS))
        if random.random() < 0.3:
            other = ("name", random.choice(texts))
        return (random.choice(["==", "!="]), ("name", random.choice(texts)), other)
    if draw < 0.3:
        claim: Tree = ("name", random.choice(claims))
        return claim if random.random() < 0.5 else ("not", claim)
    operator = random.choice(["<", "<=", ">", ">=", "==", "!="])
    return (operator, _sum(random, numbers), _sum(random, numbers))


def _sum(random: Random, numbers: list[str]) -> Tree:
    draw = random.random()
    name: Tree = ("name", random.choice(numbers))
    constant: Tree = ("num", random.choice(CONSTANTS))
    if draw < 0.5:
        return name
    if draw < 0.7:
        return constant
    if draw < 0.8:
        return (random.choice(["sqrt", "ceil", "log2", "neg", "abs"]), name)
    operator = random.choice(["+", "-", "*", "/", "min", "max", "^"])
    return (operator, name, random.choice([constant, ("name", random.choice(numbers))]))


def _expression(tree: Tree) -> Expression:
    return Expression(unparse(tree), tree, tuple(sorted(set(names_in(tree)))))


def _vocabulary(random: Random, rules: list[Rule]) -> Vocabulary:
    entries = {name: Entry(name, "num", "", "", "given", 1) for name in NUMBERS}
    entries |= {name: Entry(name, "text", "", "", "given", 1) for name in TEXTS}
    entries |= {name: Entry(name, "bool", "", "", "given", 1) for name in CLAIMS}
    for rule in rules:
        for name in rule.sets:
            if name.startswith(SET_TEXT):
                entries[name] = Entry(name, "text", "", "", "", 0)
            elif name.startswith(SET_NUMBER):
                default = random.choice([None, 3])
                entries[name] = Entry(name, "num", "", "", "", 0, default=default)
            else:
                default = random.choice([None, False])
                entries[name] = Entry(name, "bool", "", "", "", 0, default=default)
        if rule.fact:
            entries[rule.fact] = Entry(rule.fact, "bool", "", "", "", 0, default=False)
    return Vocabulary(entries, {}, {})
