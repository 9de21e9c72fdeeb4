"""Everything that the knowledge folders say of hardware, kept checked in the user's cache.

With a warm cache neither yaml nor pydantic is imported; see `cache` for the rules themselves.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import __version__
from ..facts.dep_operands import OperandRules
from ..facts.hardware import Architecture, Device, Peak, SmLimits, Timing
from ..facts.instructions import Entry, InstructionTable, TimingClass
from ..facts.model import Fact, Source
from ..facts.problem import Dimension, ElementType, ProblemModel, TypeSlot
from ..parsers.errors import KneckError
from ..parsers.suggest import suggestion
from .json_cache import read_cached, write_cached
from .overlay import KnowledgeFolder
from .records import Records

FORMAT = 2  # raised when the records change
PREFIX = "hardware"
FOLDERS = ("architectures", "devices", "instructions", "problems")
FILES = ("sources.yaml",)


@dataclass(frozen=True)
class Hardware:
    """Architectures and devices by name, instructions, operand rules and problem models."""

    architectures: Mapping[str, Architecture]
    devices: Mapping[str, Device]
    instructions: InstructionTable
    operands: OperandRules
    problems: Mapping[str, ProblemModel]
    key: str  # changes with any file of the folders

    def architecture(self, name: str) -> Architecture | None:
        """Find an architecture; `sm_90a` is the hardware of `sm_90`. None: it has no file."""
        found = self.architectures.get(name)
        return found or self.architectures.get(re.sub(r"(?<=[0-9])[a-z]$", "", name))

    def device(self, id: str) -> Device:
        """Find a device; raises KneckError with a suggestion."""
        found = self.devices.get(id)
        if found is None:
            raise KneckError(f'unknown device "{id}"', help=suggestion(id, self.devices))
        return found

    @property
    def precisions(self) -> list[str]:
        """Name every precision that some device has a peak for."""
        return sorted(
            {
                name
                for device in self.devices.values()
                for peaks in device.peaks.values()
                for name, peak in peaks.items()
                if peak.unit != "GB/s"
            }
        )


RECORDS = Records(
    [
        Architecture, Device, Dimension, ElementType, Entry, Fact, Hardware, InstructionTable,
        OperandRules, Peak, ProblemModel, SmLimits, Source, Timing, TimingClass, TypeSlot,
    ]
)  # fmt: skip


def load_hardware(folders: Sequence[KnowledgeFolder]) -> Hardware:
    """Give the checked hardware knowledge; raises the first fault as KnowledgeError."""
    key = _key(folders)
    kept = read_cached(PREFIX, key, RECORDS.read)
    if isinstance(kept, Hardware):
        return kept
    from .hardware import (
        load_architectures,
        load_devices,
        load_instructions,
        load_problem_models,
    )
    from .operands import load_operand_rules

    paths = [folder.path for folder in folders]
    hardware = Hardware(
        load_architectures(paths),
        load_devices(paths),
        load_instructions(paths),
        load_operand_rules(paths),
        load_problem_models(paths),
        key,
    )
    write_cached(PREFIX, key, RECORDS.write(hardware))
    return hardware


def _key(folders: Sequence[KnowledgeFolder]) -> str:
    digest = hashlib.sha256(f"{FORMAT} {__version__}".encode())
    for folder in folders:
        digest.update(f"\0{folder.name}".encode())
        for path in _files(folder.path):
            content = path.read_bytes()
            digest.update(f"\0{path.relative_to(folder.path)}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()


def _files(folder: Path) -> list[Path]:
    found = [path for name in FOLDERS for path in sorted((folder / name).glob("*.yaml"))]
    return found + [folder / name for name in FILES if (folder / name).is_file()]
