"""Templates filled with facts; the tests that rules carry."""

from __future__ import annotations

from pathlib import Path

import pytest

from kneck.engine.selftest import run_tests
from kneck.engine.wording import quantity, render
from kneck.facts.model import Fact, Source, Value
from kneck.rules.model import Knowledge
from kneck.rules.vocabulary import Vocabulary

from .knowledge import BOUNDS, knowledge_from

VALUES: dict[str, Value] = {
    "smem.per_block": 30720,
    "smem.blocks": 3,
    "tile.ratio": 4.26666,
    "baseline.time_ms": 5.2,
    "bound": "memory",
    "tile.staged": True,
    "baseline.share": 0.456,
}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{smem.per_block} of shared memory", "30 KiB of shared memory"),
        ("{smem.per_block * 2}", "60 KiB"),
        ("{smem.blocks} blocks, {smem.blocks + 1} then", "3 blocks, 4 then"),
        ("{tile.ratio} : 1", "4.27 : 1"),
        ("{baseline.time_ms}", "5.2 ms"),
        ("{bound}-bound, {tile.staged}", "memory-bound, true"),
        ("{baseline.share}", "46 %"),
        ("{headroom} times", "unknown times"),
        ("no braces", "no braces"),
    ],
)
def test_a_template_is_filled_with_values_and_units(text: str, said: str, tmp_path: Path) -> None:
    knowledge = knowledge_from(
        tmp_path, strategies=[f'id: s\naction: "{text}"\nwhen: [tile.ratio < 5]']
    )
    action = knowledge.by_id["s"].action
    assert render(action, VALUES.get, knowledge.vocabulary) == said


def test_no_template_says_nothing() -> None:
    assert render(None, VALUES.get, Vocabulary({}, {}, {})) == ""


def test_a_unit_that_the_vocabulary_calls_a_count_is_left_to_the_sentence() -> None:
    vocabulary = Vocabulary({}, {"FLOP/B": "intensity"}, {"warps": "warps"})
    assert quantity(8, "warps", vocabulary) == "8"
    assert quantity(71.5, "FLOP/B", vocabulary) == "71.5 FLOP/B"


def hardware(name: str) -> list[Fact]:
    return [Fact("tile.ratio", {"small": 1, "large": 99}[name], "", Source("kb", name))]


def with_tests(folder: Path, *tests: str) -> Knowledge:
    cases = "\n".join(f"  - {test}" for test in tests)
    return knowledge_from(
        folder,
        verdicts=BOUNDS,
        pitfalls=[
            f"id: p\nwhen: [tile.ratio < 5, bound == memory]\ntests:\n{cases}\n"
            "  - {given: {tile.ratio: 4, bound: memory}, fires: true}\n"
            "  - {given: {tile.ratio: 5}, fires: false}"
        ],
    )


@pytest.mark.parametrize(
    ("test", "fault"),
    [
        ("{given: {tile.ratio: 4, bound: memory}, fires: true}", None),
        ("{given: {tile.ratio: 4}, fires: unknown}", None),
        ("{arch: small, given: {bound: memory}, fires: true}", None),
        ("{device: large, given: {bound: memory}, fires: false}", None),
        ("{arch: large, given: {bound: memory, tile.ratio: 4}, fires: true}", None),
        ("{given: {tile.ratio: 9}, fires: false, because: tile.ratio < 5}", None),
        (
            "{given: {tile.ratio: 9}, fires: true}",
            "silent, not fired (tile.ratio < 5; bound == memory)",
        ),
        ("{given: {tile.ratio: 4}, fires: false}", "undecided, not silent (bound == memory)"),
        (
            "{given: {tile.ratio: 9, bound: memory}, fires: false, because: bound == memory}",
            '"bound == memory" is not what fails (tile.ratio < 5)',
        ),
    ],
)
def test_the_tests_of_a_rule_are_run(test: str, fault: str | None, tmp_path: Path) -> None:
    knowledge = with_tests(tmp_path, test)
    found = run_tests(knowledge, hardware, hardware, [knowledge.by_id["p"]])
    assert [failed.what for failed in found] == ([] if fault is None else [fault])
    assert all(str(f.error.place) == "kb/pitfalls/rules.yaml:4" for f in found)
