"""Small knowledge bases for tests, written as YAML into a folder of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

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
  smem.blocks: {type: num, unit: blocks, meaning: blocks, from: resource log, cost: 0}
  smem.over_cliff: {type: bool, meaning: over the cliff, default: false}
  occupancy.warps: {type: num, unit: warps, meaning: warps, from: --block, cost: 1}
  mix.*.in_loop: {type: num, unit: instructions, meaning: in the loop, from: SASS, cost: 0}
"""


def write_folder(folder: Path, files: Mapping[str, str]) -> KnowledgeFolder:
    """Write the files (path in the folder -> text) and name the folder by its last part."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return KnowledgeFolder(folder.name, folder)


def knowledge_from(folder: Path, vocabulary: str = VOCABULARY, **rules: str) -> Knowledge:
    """Load rules given by kind (`verdicts="- id: .."`) with a vocabulary."""
    files = {f"{kind}/rules.yaml": text for kind, text in rules.items()}
    return load([write_folder(folder, {"vocabulary.yaml": vocabulary, **files})])


def facts(values: Mapping[str, Value]) -> FactBase:
    """Make facts with a source, as an option would give them."""
    return FactBase(
        {name: Fact(name, value, "", Source("option", name)) for name, value in values.items()}
    )
