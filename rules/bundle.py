"""Everything that the knowledge folders say of hardware, kept checked in the user's cache.

Each part is read when it is asked for. With a warm cache neither yaml nor pydantic is imported;
see `cache` for the rules themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..facts.hardware import Architecture, Device, Peak, SmLimits, Timing
from ..facts.model import Fact, Source
from ..parsers.errors import KneckError
from ..parsers.generations import family
from ..parsers.suggest import suggestion
from .json_cache import read_cached, write_cached
from .overlay import KnowledgeFolder
from .records import Records

if TYPE_CHECKING:
    from ..facts.dep_operands import OperandRules
    from ..facts.instructions import InstructionTable
    from ..facts.pipes import PipeTable
    from ..facts.problem import ProblemModel

FORMAT = 4  # raised when the records change
FOLDERS = ("architectures", "devices", "instructions", "pipes", "problems")
FILES = ("sources.yaml",)


class Hardware:
    """Architectures and devices by name, instructions, operand rules and problem models.

    A faulty file raises KnowledgeError when its part is asked for. `key` changes with any file.
    """

    def __init__(self, folders: Sequence[KnowledgeFolder]) -> None:
        self._folders = folders
        self.key = _key(folders)

    @cached_property
    def architectures(self) -> Mapping[str, Architecture]:
        """All architectures that have a file, by name."""
        found: Mapping[str, Architecture] = self._part(
            "architectures", _MACHINES, "load_architectures"
        )
        return found

    @cached_property
    def devices(self) -> Mapping[str, Device]:
        """All devices by id."""
        found: Mapping[str, Device] = self._part("devices", _MACHINES, "load_devices")
        return found

    @cached_property
    def instructions(self) -> InstructionTable:
        """The instruction table."""
        from ..facts.instructions import Entry, InstructionTable, TimingClass

        classes = (*_MACHINES, Entry, InstructionTable, TimingClass)
        found: InstructionTable = self._part("instructions", classes, "load_instructions")
        return found

    @cached_property
    def operands(self) -> OperandRules:
        """Which operands an instruction writes, and how wide they are."""
        from ..facts.dep_operands import OperandRules

        found: OperandRules = self._part("operands", (OperandRules,), "load_operand_rules")
        return found

    @cached_property
    def problems(self) -> Mapping[str, ProblemModel]:
        """The problem models by kind."""
        from ..facts.problem import Dimension, ElementType, ProblemModel, TypeSlot

        classes = (Dimension, ElementType, ProblemModel, TypeSlot)
        found: Mapping[str, ProblemModel] = self._part("problems", classes, "load_problem_models")
        return found

    def pipes(self, arch: str) -> PipeTable | None:
        """What the opcodes cost on an architecture, and its path to memory; None: no file."""
        from ..facts.pipes import Clocks, ConstantLayout, L2Path, Latencies, Pattern, PipeTable

        classes = (Clocks, ConstantLayout, L2Path, Latencies, Pattern, PipeTable)
        found: PipeTable | None = self._part(f"pipes-{arch}", classes, "load_pipes", arch)
        return found

    def _part(self, name: str, classes: Sequence[type], loader: str, *asked: str) -> Any:
        """Take a part from the cache, or have the loader of that name read and check its files."""
        records = Records(classes)
        kept = read_cached(name, self.key, lambda data: (records.read(data),))
        if kept is not None:
            return kept[0]
        from . import loaders

        part = getattr(loaders, loader)(*asked, [folder.path for folder in self._folders])
        write_cached(name, self.key, records.write(part))
        return part

    def architecture(self, name: str) -> Architecture | None:
        """Find an architecture; `sm_90a` is the hardware of `sm_90`. None: it has no file."""
        return self.architectures.get(name) or self.architectures.get(family(name))

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


_MACHINES = (Architecture, Device, Fact, Peak, SmLimits, Source, Timing)


def load_hardware(folders: Sequence[KnowledgeFolder]) -> Hardware:
    """Give the hardware knowledge of the folders; its parts are checked when they are read."""
    return Hardware(folders)


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
