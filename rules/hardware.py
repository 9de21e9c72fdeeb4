"""Read architectures, devices, sources and the method's thresholds from the knowledge folders.

Adding an architecture or a device is adding one file, here or in an overlay folder; a later folder
replaces a file of the same name. What has no file is unknown, and the caller says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..facts.hardware import Architecture, Device
from ..facts.model import Fact, Source
from ..parsers.errors import KneckError
from ..parsers.suggest import suggestion
from .documents import validate
from .hardware_files import (
    check_sources,
    entries,
    load_sources,
    mapping,
    read_file,
    shipped_folder,
    single_files,
)

if TYPE_CHECKING:
    from ..facts.instructions import InstructionTable
    from ..facts.problem import ProblemModel

__all__ = [
    "architecture_names",
    "check_sources",
    "device_ids",
    "load_architecture",
    "load_architectures",
    "load_device",
    "load_devices",
    "load_instructions",
    "load_method",
    "load_problem_models",
    "load_sources",
    "read_file",
    "shipped_folder",
]


def architecture_names(folders: Sequence[Path]) -> list[str]:
    """List the architectures that have a file."""
    return sorted(entries(folders, "architectures"), key=_by_number)


def device_ids(folders: Sequence[Path]) -> list[str]:
    """List the devices that have a file."""
    return list(entries(folders, "devices"))


def load_architecture(name: str, folders: Sequence[Path]) -> Architecture | None:
    """Read an architecture; None where it has no file.

    A name with a target suffix (`sm_90a`) means the same hardware as the one without.
    """
    known = entries(folders, "architectures")
    stem = name if name in known else re.sub(r"(?<=[0-9])[a-z]$", "", name)
    if stem not in known:
        return None
    from .hardware_build import build_architecture

    return build_architecture(*known[stem], load_sources(folders))


def load_architectures(folders: Sequence[Path]) -> dict[str, Architecture]:
    """Read all architectures."""
    from .hardware_build import build_architecture

    sources = load_sources(folders)
    return {
        name: build_architecture(*place, sources)
        for name, place in entries(folders, "architectures").items()
    }


def load_device(device_id: str, folders: Sequence[Path]) -> Device:
    """Read a device; raises KneckError with a suggestion for an id that has no file."""
    known = entries(folders, "devices")
    if device_id not in known:
        raise KneckError(f'unknown device "{device_id}"', help=suggestion(device_id, set(known)))
    from .hardware_build import build_device

    return build_device(*known[device_id], load_sources(folders))


def load_devices(folders: Sequence[Path]) -> dict[str, Device]:
    """Read all devices."""
    from .hardware_build import build_device

    sources = load_sources(folders)
    return {
        name: build_device(*place, sources) for name, place in entries(folders, "devices").items()
    }


def load_method(folders: Sequence[Path]) -> tuple[Fact, ...]:
    """Read the method's thresholds as facts named `method.*`; later folders replace single ones.

    A list of numbers becomes a text with commas.
    """
    from .hardware_schema import MethodFigure

    sources = load_sources(folders)
    found: dict[str, Fact] = {}
    for document in single_files(folders, "method.yaml"):
        for key in mapping(document):
            figure = validate(document, MethodFigure, key)
            check_sources(document, figure.source, sources, key)
            detail = f"{document.place(key)} [{', '.join(figure.source)}], {figure.status}"
            value = figure.value
            if isinstance(value, tuple):
                value = ",".join(map(str, value))
            found[key] = Fact(f"method.{key}", value, figure.unit, Source("kb", detail))
    return tuple(found.values())


def load_instructions(folders: Sequence[Path]) -> InstructionTable:
    """Read the instruction table; see `rules.instructions`."""
    from .instructions import read_instructions

    return read_instructions(folders)


def load_problem_models(folders: Sequence[Path]) -> dict[str, ProblemModel]:
    """Read the problem models; see `rules.problems`."""
    from .problems import read_problem_models

    return read_problem_models(folders)


def _by_number(name: str) -> tuple[int, str]:
    digits = re.search(r"[0-9]+", name)
    return (int(digits.group()) if digits else 0, name)
