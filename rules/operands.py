"""Read kb/instructions/operands.yaml: which operands an instruction writes, and how wide."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..facts.dep_operands import OperandRules, operand_rules
from .documents import validate
from .hardware import check_sources, load_sources, read_file

FILE = Path("instructions") / "operands.yaml"


def load_operand_rules(folders: Sequence[Path]) -> OperandRules:
    """Read the operand rules; those of a later folder are applied after the earlier ones.

    Raises KnowledgeError for a rule with an unknown key or source, with its place.
    """
    from .operand_schema import OperandFile

    sources = load_sources(folders)
    rules: list[dict[str, Any]] = []
    for folder in folders:
        if (folder / FILE).is_file():
            document = read_file(folder, folder / FILE)
            parsed = validate(document, OperandFile)
            check_sources(document, parsed.source, sources, "source")
            rules += [rule.model_dump(exclude_none=True) for rule in parsed.rules]
    return operand_rules({"rules": rules})
