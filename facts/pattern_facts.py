"""Patterns that the code alone shows: what rules ask of the loop, its loads, branches and calls.

Every fact names the addresses that it rests on. What the code does not settle is missing, with
the reason; a count of something that does not occur is 0.
"""

from __future__ import annotations

from .arch_table import ArchTable
from .kernel import Kernel
from .model import EVERYTHING, Fact, Missing, Wanted
from .pattern_counts import count_facts
from .pattern_loads import load_facts
from .pattern_loops import loop_facts
from .pattern_origins import Origins
from .pattern_pipeline import pipeline_facts
from .pattern_scope import Scope


def pattern_facts(
    kernel: Kernel, table: ArchTable, wanted: Wanted = EVERYTHING
) -> tuple[list[Fact], list[Missing]]:
    """Give `loop.*`, `loops.*`, `loads.*`, `stores.*`, `gather.*`, `atomics.*`, `kernel.*`.

    `loop.*` is the K-tile loop, `loops.*` any loop; `loads.*` are of the K-tile loop where there
    is one, else of the whole function. Facts that are not wanted may be left out.
    """
    scope = Scope(kernel, table, wanted)
    origins = Origins(scope)
    parts = (
        count_facts(scope),
        load_facts(scope, origins),
        loop_facts(scope, origins),
        pipeline_facts(scope),
    )
    facts = [fact for found, _ in parts for fact in found]
    missing = [gap for _, gaps in parts for gap in gaps]
    return facts, missing
