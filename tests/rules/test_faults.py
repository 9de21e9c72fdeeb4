"""A wrong knowledge folder is refused with the place, the reason and the next step."""

from __future__ import annotations

from pathlib import Path

import pytest

from kneck.parsers.errors import KnowledgeError
from kneck.rules.load import check, load

from ..engine.knowledge import VOCABULARY, write_folder

GOOD = """\
- id: use-cp-async
  title: Overlap loads with compute
  status: measured
  why: Warps wait for {tile.ratio} loads.
  action: Double {smem.per_block} of shared memory.
  when:
    - roofline.side == memory
    - tile.ratio < tile.low
  unless:
    - mix.LDGSTS.in_loop > 0
  gain: {low: 10 %, high: 35 %, cap: headroom}
  side_effects: {smem.per_block: smem.per_block * 2}
  conflicts:
    - id: over-cliff
      because: "{smem.per_block} doubles"
  wrong_when: [enough warps]
  experiment: time it
  source: method
  evidence: [seen once]
  tests:
    - {given: {roofline.side: memory, tile.ratio: 4, tile.low: 5, mix.LDGSTS.in_loop: 0}, fires: true}
    - given: {tile.ratio: 9, tile.low: 5}
      fires: false
      because: tile.ratio < tile.low
"""  # noqa: E501

OTHERS = {
    "pitfalls/over.yaml": """\
- id: over-cliff
  title: Over the cliff
  severity: warning
  status: measured
  why: One block is left.
  when: [smem.over_cliff]
  source: method
  evidence: [definition]
  tests:
    - {given: {smem.over_cliff: true}, fires: true}
    - {given: {smem.over_cliff: false}, fires: false}
""",
    "verdicts/sides.yaml": """\
- id: memory-side
  title: Left of the ridge
  status: measured
  why: Bytes decide.
  when: [roofline.ai < roofline.balance]
  sets: {roofline.side: memory}
  source: method
  evidence: [definition]
  tests:
    - {given: {roofline.ai: 1, roofline.balance: 2}, fires: true}
    - {given: {roofline.ai: 2, roofline.balance: 2}, fires: false}
- id: over
  title: Over
  status: measured
  why: Does not fit twice.
  when: [smem.per_block > smem.cliff]
  sets: {smem.over_cliff: true}
  source: method
  evidence: [definition]
  tests:
    - {given: {smem.per_block: 2, smem.cliff: 1}, fires: true}
    - {given: {smem.per_block: 1, smem.cliff: 1}, fires: false}
- id: memory-bound
  title: Memory
  status: measured
  why: Saturated.
  when: [roofline.side == memory, baseline.share >= 60 %]
  sets: {bound: memory}
  source: method
  evidence: [definition]
  tests:
    - {given: {roofline.side: memory, baseline.share: 0.7}, fires: true}
    - {given: {roofline.side: memory, baseline.share: 50 %}, fires: false}
""",
}


def faults_of(
    folder: Path, good: str = GOOD, vocabulary: str = VOCABULARY, **more: str
) -> list[KnowledgeError]:
    files = {"vocabulary.yaml": vocabulary, "strategies/use.yaml": good, **OTHERS, **more}
    return check([write_folder(folder / "my-kb", files)])


def test_a_right_folder_has_no_faults(tmp_path: Path) -> None:
    assert faults_of(tmp_path) == []


# (what is replaced, by what, line, column, message, next step), all in the strategy's file
RULE_FAULTS = {
    "not YAML": ("title: Overlap", "title: : Overlap", 2, 10, "mapping values", "indentation"),
    "a tab": ("  title", "\ttitle", 2, 1, "tab character", "indentation"),
    "a duplicate key": ("  why:", "  title: again\n  why:", 4, 3, 'duplicate key "title"', "one"),
    "an alias": ("title: Overlap", "title: &a Overlap", 2, 10, "anchors and aliases", "write"),
    "a misspelt key": ("wrong_when", "wrong_wen", 16, 3, 'unknown key "wrong_wen"', '"wrong_when"'),
    "a missing key": ("  status: measured\n", "", 1, 3, 'missing "status"', "status:"),
    "an empty value": ("title: Overlap loads with compute", "title:", 2, 9, "title is empty", ""),
    "a bad id": ("use-cp-async", "Use CP", 1, 7, "id: ", None),
    "a bad status": ("measured", "mesured", 3, 11, "status is not one of", '"measured"'),
    "an unknown fact": ("- tile.ratio <", "- tile.ration <", 8, 7, '"tile.ration"', '"tile.ratio"'),
    "an unknown fact on the right": (
        "< tile.low\n  un",
        "< tile.lo\n  un",
        8,
        20,
        '"tile.lo"',
        "tile.low",
    ),
    "a syntax error": ("- tile.ratio <", "- tile.ratio =", 8, 18, '"="', "write =="),
    "no comparison": ("- tile.ratio < tile.low", "- tile.ratio", 8, 7, "is a number", None),
    "two comparisons": (
        "- tile.ratio < tile.low",
        "- tile.ratio < tile.low and tile.ratio > 1",
        8,
        7,
        'without "and"',
        "one comparison per line",
    ),
    "a constant condition": ("- tile.ratio < tile.low", "- 1 < 2", 8, 7, "must ask for a fact", ""),
    "a negated comparison": (
        "- tile.ratio < tile.low",
        "- not tile.ratio < tile.low",
        8,
        7,
        '"not" stands before a fact',
        "opposite one",
    ),
    "a wrong type": ("== memory\n", "== 3\n", 7, 24, "is text but is compared with 3", "quotes"),
    "an unknown text": ("== memory\n", "== memroy\n", 7, 24, '"memroy" is not a', '"memory"'),
    "an ordered text": ("== memory\n", '< "memory"\n', 7, 21, "< needs numbers", None),
    "a wrong unit": (
        "tile.ratio < tile.low\n  unless",
        "smem.per_block < occupancy.warps\n  unless",
        8,
        24,
        "smem.per_block is in B, occupancy.warps in warps",
        "like with like",
    ),
    "an unclosed bracket": ("> 0", "> (0", 10, 30, "the expression ends", "quote an expression"),
    "an unknown side effect": (
        "{smem.per_block: smem",
        "{smem.per_blok: smem",
        12,
        18,
        'unknown fact "smem.per_blok"',
        "smem.per_block",
    ),
    "a side effect in another unit": (
        "smem.per_block * 2}",
        "occupancy.warps}",
        12,
        34,
        "smem.per_block is in B, the expression in warps",
        "convert",
    ),
    "a verdict as side effect": (
        "side_effects: {smem.per_block: smem.per_block * 2}",
        "side_effects: {roofline.side: memory}",
        12,
        18,
        "roofline.side is set by rules",
        "follows from",
    ),
    "an unknown id": ("id: over-cliff", "id: over-clif", 14, 11, '"over-clif"', '"over-cliff"'),
    "an edge to itself": ("id: over-cliff", "id: use-cp-async", 14, 11, "itself", "remove"),
    "an edge to a verdict": ("id: over-cliff", "id: memory-side", 14, 11, "is a verdict", None),
    "an unknown fact in a text": (
        "{smem.per_block} doubles",
        "{smem.per_blok} doubles",
        15,
        18,
        'unknown fact "smem.per_blok"',
        '"smem.per_block"',
    ),
    "an unknown fact in the condition of an edge": (
        '      because: "{smem.per_block} doubles"',
        '      when: [smem.per_blok > 1]\n      because: "{smem.per_block} doubles"',
        15,
        14,
        'unknown fact "smem.per_blok"',
        '"smem.per_block"',
    ),
    "a gain that is no number": ("low: 10 %", "low: bound", 11, 15, "bound is text", None),
    "low above high": ("low: 10 %", "low: 40 %", 11, 15, "low is larger than high", None),
    "low without high": (", high: 35 %", "", 11, 9, "low needs high", "add high"),
    "a range without low": (
        "low: 10 %",
        "basis: evidence",
        11,
        9,
        "without low is a ceiling",
        None,
    ),
    "no evidence": ("  evidence: [seen once]\n", "", 1, 3, 'missing "evidence"', "hypothesis"),
    "a text split by its comma": (
        "evidence: [seen once]",
        "evidence: [a limit of 50,176 B]",
        19,
        28,
        "each comma splits a text",
        "quotes",
    ),
    "no source": ("  source: method\n", "", 1, 3, 'missing "source"', "source:"),
    "no action": ("  action: Double {smem.per_block} of shared memory.\n", "", 1, 3, "action", ""),
    "a key of another kind": (
        "  wrong_when",
        "  severity: note\n  wrong_when",
        16,
        3,
        '"severity" has no meaning in a strategy',
        "pitfall",
    ),
    "no test that fires": (
        "in_loop: 0}, fires: true",
        "in_loop: 0}, fires: unknown",
        20,
        3,
        "true",
        "",
    ),
    "no test that does not": ("      fires: false", "      fires: unknown", 20, 3, "false", ""),
    "a test of an unknown fact": (
        "given: {tile.ratio: 9",
        "given: {tile.ratoi: 9",
        22,
        15,
        'unknown fact "tile.ratoi"',
        "tile.ratio",
    ),
    "a test value of a wrong type": (
        "tile.low: 5}\n",
        "tile.low: x}\n",
        22,
        40,
        "is a number",
        None,
    ),
    "a test that blames nothing": (
        "because: tile.ratio < tile.low",
        "because: tile.ratio < 5",
        24,
        16,
        '"tile.ratio < 5" is no condition',
        '"tile.ratio < tile.low"',
    ),
    "too many antecedents": (
        "    - tile.ratio < tile.low\n",
        "".join(f"    - tile.ratio < tile.low + {n}\n" for n in range(9)),
        6,
        3,
        "needs 20 antecedents, durable_rules joins 16",
        "verdict",
    ),
    "conditions that exclude each other": (
        "    - tile.ratio < tile.low\n",
        "    - tile.ratio < 5\n    - tile.ratio >= 5\n",
        9,
        7,
        "can never fire",
        None,
    ),
    "an exception that is a condition": (
        "- mix.LDGSTS.in_loop > 0",
        "- tile.ratio < tile.low",
        10,
        7,
        "exclude each other",
        None,
    ),
    "a value that no rule sets": (
        "== memory\n",
        "== compute\n",
        7,
        7,
        'no rule sets roofline.side to "compute"',
        None,
    ),
}


@pytest.mark.parametrize("kind", RULE_FAULTS)
def test_a_wrong_rule_is_refused(kind: str, tmp_path: Path) -> None:
    old, new, line, column, message, help = RULE_FAULTS[kind]
    assert GOOD.count(old) == 1, f"{old!r} must stand once"
    found = faults_of(tmp_path, GOOD.replace(old, new))
    places = [(str(fault.place), fault.what, fault.help) for fault in found]
    wanted = f"my-kb/strategies/use.yaml:{line}:{column}"
    matching = [fault for fault in found if str(fault.place) == wanted and message in fault.what]
    assert len(matching) == 1, places
    assert help is None or help in (matching[0].help or ""), places


FOLDER_FAULTS = {
    "a duplicate id": (
        {"strategies/again.yaml": GOOD},
        "my-kb/strategies/use.yaml:1:7",
        'duplicate rule id "use-cp-async"',
        "my-kb/strategies/again.yaml:1:7",
    ),
    "no list": (
        {"pitfalls/x.yaml": "id: x\n"},
        "my-kb/pitfalls/x.yaml:1:1",
        "a rule file is a list of rules",
        "- id:",
    ),
    "another ending": (
        {"pitfalls/x.yml": "[]\n"},
        "my-kb/pitfalls/x.yml",
        "a knowledge file ends in .yaml",
        "x.yaml",
    ),
    "another encoding": (
        {"pitfalls/x.yaml": "\ud800"},
        "my-kb/pitfalls/x.yaml:1",
        "this is not UTF-8 text",
        "UTF-8",
    ),
    "a circle of rules": (
        {
            "verdicts/x.yaml": OTHERS["verdicts/sides.yaml"]
            .replace("id: ", "id: other-")
            .replace("roofline.ai < roofline.balance", "bound == memory")
        },
        "my-kb/verdicts/sides.yaml:27:9",
        "rules depend on each other: memory-bound -> other-memory-side -> memory-bound",
        "no rule sets",
    ),
    "a shadowed rule": (
        {
            "pitfalls/x.yaml": OTHERS["pitfalls/over.yaml"]
            .replace("id: over-cliff", "id: shadowed")
            .replace("[smem.over_cliff]", "[smem.over_cliff, not pitfall.over-cliff]")
        },
        "my-kb/pitfalls/x.yaml:6:9",
        "shadowed can never fire: over-cliff fires whenever its conditions hold",
        "over-cliff stands at my-kb/pitfalls/over.yaml:1",
    ),
    "a reserved name": (
        {
            "verdicts/x.yaml": OTHERS["verdicts/sides.yaml"]
            .replace("id: ", "id: other-")
            .replace("{roofline.side: memory}", "{strategy.use-cp-async: true}")
        },
        "my-kb/verdicts/x.yaml:6:10",
        '"strategy.use-cp-async" is reserved',
        None,
    ),
}


@pytest.mark.parametrize("kind", FOLDER_FAULTS)
def test_a_wrong_folder_is_refused(kind: str, tmp_path: Path) -> None:
    files, place, message, help = FOLDER_FAULTS[kind]
    folder = write_folder(
        tmp_path / "my-kb", {"vocabulary.yaml": VOCABULARY, "strategies/use.yaml": GOOD, **OTHERS}
    )
    for name, text in files.items():
        (folder.path / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    found = check([folder])
    matching = [f for f in found if str(f.place) == place and message in f.what]
    assert len(matching) == 1, [str(fault) for fault in found]
    assert help is None or help in (matching[0].help or "")


VOCABULARY_FAULTS = {
    "an unknown unit": (
        "smem.cliff: {type: num, unit: B",
        "smem.cliff: {type: num, unit: Bytes",
        "unknown unit",
    ),
    "a unit of a text": ("bound: {type: text,", "bound: {type: text, unit: B,", "has no unit"),
    "values of a number": (
        "headroom: {type: num,",
        "headroom: {type: num, values: [a],",
        "lists its",
    ),
    "a wrong type": ("headroom: {type: num,", "headroom: {type: number,", "type is not one of num"),
    "a wrong default": (
        "over the cliff, default: false",
        "over the cliff, default: no",
        "true or false",
    ),
    "a default outside the values": ("default: unknown", "default: unknwon", "is not a value"),
    "a default that no rule sets": (
        "from: kb, cost: 0}\n  tile.st",
        "from: kb, cost: 0, default: 1}\n  tile.st",
        "no rule sets it",
    ),
    "no source": ("meaning: threshold, from: kb, cost: 0", "meaning: threshold", "has no source"),
    "a reserved name": ("  headroom:", "  strategy.x:", "is reserved"),
    "a word of the language": ("  headroom:", "  min:", "cannot be the name"),
    "a name of the engine": ("  headroom:", "  sid:", "cannot be the name"),
}


@pytest.mark.parametrize("kind", VOCABULARY_FAULTS)
def test_a_wrong_vocabulary_is_refused(kind: str, tmp_path: Path) -> None:
    old, new, message = VOCABULARY_FAULTS[kind]
    assert VOCABULARY.count(old) == 1, f"{old!r} must stand once"
    line = VOCABULARY[: VOCABULARY.index(old)].count("\n") + 1
    found = faults_of(tmp_path, vocabulary=VOCABULARY.replace(old, new))
    places = [f.place for f in found if message in f.what and f.place is not None]
    inside = [place for place in places if place.path == "my-kb/vocabulary.yaml"]
    assert [place.line for place in inside] == [line], [str(fault) for fault in found]
    assert inside[0].column > 1


def test_loading_raises_the_first_fault_and_checking_gives_all(tmp_path: Path) -> None:
    wrong = GOOD.replace("tile.ratio < tile.low\n  unless", "tile.ration < 5\n  unless")
    wrong = wrong.replace("status: measured", "status: mesured")
    more = wrong.replace("mesured", "measured").replace("use-cp-async", "second")
    files = {"vocabulary.yaml": VOCABULARY, "strategies/use.yaml": wrong, **OTHERS}
    folder = write_folder(tmp_path / "my-kb", {**files, "strategies/zwei.yaml": more})
    found = check([folder])
    assert [f.place.path for f in found if f.place] == [
        "my-kb/strategies/use.yaml",
        "my-kb/strategies/zwei.yaml",
        "my-kb/strategies/zwei.yaml",
    ]
    with pytest.raises(KnowledgeError) as caught:
        load([folder])
    assert str(caught.value) == str(found[0])
    assert caught.value.exit_status == 4


def test_facts_that_durable_rules_cannot_tell_apart_are_refused(tmp_path: Path) -> None:
    # A known pair of 32-bit FNV-1a collisions.
    vocabulary = VOCABULARY + "".join(
        f"  {name}: {{type: num, meaning: x, from: y}}\n" for name in ("costarring", "liquid")
    )
    good = GOOD.replace("    - tile.ratio < tile.low\n", "    - costarring < liquid\n").replace(
        "      because: tile.ratio < tile.low\n", ""
    )
    found = faults_of(tmp_path, good, vocabulary)
    assert [fault.what for fault in found] == [
        "durable_rules cannot tell the facts costarring and liquid apart (equal hash)"
    ]


@pytest.mark.parametrize("size", [5_000_000, 100])
def test_what_could_exhaust_the_reader_is_refused(size: int, tmp_path: Path) -> None:
    text = "#" * size if size > 1000 else "[" * size
    found = faults_of(tmp_path, **{"pitfalls/x.yaml": text})
    assert any("more than" in f.what or "nested deeper" in f.what for f in found)
