"""Small knowledge bases for tests, written as YAML into a folder of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

from kneck.facts.model import Fact, FactBase, Source, Value
from kneck.rules.load import load
from kneck.rules.model import Knowledge
from kneck.rules.overlay import KnowledgeFolder

VOCABULARY = """
units: {B: byte, FLOP: operation, ms: milliseconds}
counts: {warps: warps, blocks: blocks, registers: registers, instructions: instructions}
facts:
  roofline.ai: {type: num, unit: FLOP/B, meaning: intensity, from: --problem, cost: 1}
  roofline.balance: {type: num, unit: FLOP/B, meaning: balance point, from: --gpu, cost: 1}
  roofline.side: {type: text, meaning: side, values: [memory, compute]}
  baseline.time_ms: {type: num, unit: ms, meaning: kernel time, from: --time-ms, cost: 3}
  baseline.share: {type: num, meaning: attained share, from: --time-ms, cost: 3}
  bound: {type: text, meaning: verdict, values: [memory, compute, latency, unknown], default: unknown}
  headroom: {type: num, meaning: roof / attained, from: --time-ms, cost: 3}
  tile.ratio: {type: num, meaning: compute per load, from: SASS, cost: 0}
  tile.low: {type: num, meaning: threshold, from: kb, cost: 0}
  tile.staged: {type: bool, meaning: staged, from: SASS, cost: 0}
  smem.per_block: {type: num, unit: B, meaning: shared memory, from: resource log, cost: 0}
  smem.per_sm: {type: num, unit: B, meaning: of the SM, from: kb, cost: 0}
  smem.cliff: {type: num, unit: B, meaning: largest for two blocks, from: kb, cost: 0}
  smem.blocks: {type: num, unit: blocks, meaning: blocks, from: resource log, cost: 0, headline: true}
  smem.over_cliff: {type: bool, meaning: over the cliff, default: false}
  occupancy.warps: {type: num, unit: warps, meaning: warps, from: --block, cost: 1}
  mix.*.in_loop: {type: num, unit: instructions, meaning: in the loop, from: SASS, cost: 0}
"""  # noqa: E501


def write_folder(folder: Path, files: Mapping[str, str]) -> KnowledgeFolder:
    """Write the files (path in the folder -> text) and name the folder by its last part."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return KnowledgeFolder(folder.name, str(folder))


# What every rule needs besides the keys that a test is about.
COMMON = """\
  title: {id}
  status: measured
  why: because
  source: a test
  evidence: [a test]
  tests:
    - {{given: {{}}, fires: true}}
    - {{given: {{}}, fires: false}}
"""
OF_KIND = {
    "verdicts": "",
    "strategies": "  wrong_when: [never]\n  experiment: try it\n  action: act\n",
    "pitfalls": "  severity: warning\n",
    "limitations": "",
}


def rule(kind: str, text: str) -> str:
    """Complete a rule: `id: x` and its own keys; a key that stands in the text is not added."""
    lines = dedent(text).strip().splitlines()
    id = lines[0].removeprefix("id: ")
    own = {line.split(":")[0] for line in lines}
    added = [
        line
        for line in (OF_KIND[kind] + COMMON.format(id=id)).splitlines()
        if line.split(":")[0].strip() not in own and not (line[2] == " " and "tests" in own)
    ]
    return "\n".join([f"- {lines[0]}", *(f"  {line}" for line in lines[1:]), *added]) + "\n"


def knowledge_from(folder: Path, vocabulary: str = VOCABULARY, **rules: list[str]) -> Knowledge:
    """Load rules given by kind (`verdicts=["id: x ..."]`) with a vocabulary."""
    files = {
        f"{kind}/rules.yaml": "".join(rule(kind, text) for text in texts)
        for kind, texts in rules.items()
    }
    vocabulary = as_inputs(vocabulary, "".join(files.values()))
    return load([write_folder(folder / "kb", {"vocabulary.yaml": vocabulary, **files})])


def as_inputs(vocabulary: str, rules: str) -> str:
    """Let the facts that none of these rules sets come from outside."""
    lines = []
    for line in vocabulary.splitlines():
        name = line.strip().split(":")[0]
        if "meaning:" in line and "from:" not in line and not re.search(rf"[{{ ]{name}: ", rules):
            line = re.sub(r", default: \w+", "", line)[:-1] + ", from: a test}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def facts(values: Mapping[str, Value]) -> FactBase:
    """Make facts with a source, as an option would give them."""
    return FactBase(
        {name: Fact(name, value, "", Source("option", name)) for name, value in values.items()}
    )


SIDES = [
    """
    id: memory-side
    when: [roofline.ai < roofline.balance]
    sets: {roofline.side: memory}
    """,
    """
    id: compute-side
    when: [roofline.ai >= roofline.balance]
    sets: {roofline.side: compute}
    """,
]
BOUNDS = [
    *SIDES,
    """
    id: memory-bound
    when: [roofline.side == memory, baseline.share >= 60 %]
    sets: {bound: memory}
    """,
    """
    id: latency-bound
    when: [baseline.share < 60 %]
    sets: {bound: latency}
    """,
]
OVER_CLIFF = """
    id: over
    when: [smem.per_block > smem.cliff]
    sets: {smem.over_cliff: true}
    """
CLIFF_PITFALL = """
    id: over-smem-cliff
    title: Over the cliff, one block is left
    when: [smem.over_cliff]
    """
CP_ASYNC = """
    id: cp-async
    when:
      - bound == memory
      - tile.ratio < tile.low
    unless:
      - mix.LDGSTS.in_loop > 0
    gain: {low: 10 %, high: 35 %, cap: headroom}
    side_effects: {smem.per_block: smem.per_block * 2}
    """
