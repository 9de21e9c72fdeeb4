"""Read architectures, devices, sources and the method's thresholds from the knowledge folders.

Adding an architecture or a device is adding one file, here or in an overlay folder; a later folder
replaces a file of the same name. What has no file is unknown, and the caller says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..facts.hardware import Architecture, Device, Peak, PeaksBasis, SmLimits, Timing
from ..facts.model import Fact, Source, Value
from ..parsers.errors import KneckError, KnowledgeError, Place
from .documents import Document, read_document, suggestion, validate

if TYPE_CHECKING:
    from ..facts.instructions import InstructionTable
    from ..facts.problem import ProblemModel
    from .hardware_schema import Ceilings, DeviceFile, Group, MethodFigure

FLAT_GROUPS = (
    "limits",
    "memory",
    "memory_latency",
    "instruction_cache",
    "latency_hiding",
    "capabilities",
)
NO_FIGURES = frozenset({"source", "status", "note", "formula", "evidence"})


def shipped_folder() -> Path:
    """Give the knowledge folder that comes with kneck."""
    return Path(str(files("kneck.kb")))


def label(folder: Path, path: Path) -> str:
    """Name a knowledge file as messages and sources do: `kb/...` for a shipped one."""
    inside = path.relative_to(folder).as_posix()
    return f"kb/{inside}" if folder == shipped_folder() else f"{folder.as_posix()}/{inside}"


def read_file(folder: Path, path: Path) -> Document:
    """Read one knowledge file; raises KnowledgeError when it cannot be read."""
    name = label(folder, path)
    try:
        return read_document(path.read_text(encoding="utf-8"), name)
    except UnicodeDecodeError:
        raise KnowledgeError("this is not UTF-8 text", Place(name), "save it as UTF-8") from None
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise KnowledgeError(reason.lower(), Place(name), "check the file") from None


def entries(folders: Sequence[Path], kind: str) -> dict[str, tuple[Path, Path]]:
    """Map the file names (without ending) of one kind to (folder, path); later folders win."""
    found: dict[str, tuple[Path, Path]] = {}
    for folder in folders:
        for path in sorted((folder / kind).glob("*.yaml")):
            found[path.stem] = (folder, path)
    return dict(sorted(found.items()))


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
    return _architecture(*known[stem], load_sources(folders))


def load_architectures(folders: Sequence[Path]) -> dict[str, Architecture]:
    """Read all architectures."""
    sources = load_sources(folders)
    return {
        name: _architecture(*place, sources)
        for name, place in entries(folders, "architectures").items()
    }


def load_device(device_id: str, folders: Sequence[Path]) -> Device:
    """Read a device; raises KneckError with a suggestion for an id that has no file."""
    known = entries(folders, "devices")
    if device_id not in known:
        raise KneckError(f'unknown device "{device_id}"', help=suggestion(device_id, set(known)))
    return _device(*known[device_id], load_sources(folders))


def load_devices(folders: Sequence[Path]) -> dict[str, Device]:
    """Read all devices."""
    sources = load_sources(folders)
    return {name: _device(*place, sources) for name, place in entries(folders, "devices").items()}


def load_sources(folders: Sequence[Path]) -> dict[str, str]:
    """Map the key of each source to its citation."""
    from .hardware_schema import Citation

    found: dict[str, str] = {}
    for document in _single_files(folders, "sources.yaml"):
        for key in _mapping(document):
            citation = validate(document, Citation, key)
            where = f", {citation.where}" if citation.where else ""
            found[key] = f"{citation.title}{where}"
    return found


def load_method(folders: Sequence[Path]) -> tuple[Fact, ...]:
    """Read the method's thresholds as facts named `method.*`; later folders replace single ones."""
    from .hardware_schema import MethodFigure

    sources = load_sources(folders)
    found: dict[str, Fact] = {}
    for document in _single_files(folders, "method.yaml"):
        for key in _mapping(document):
            figure: MethodFigure = validate(document, MethodFigure, key)
            check_sources(document, figure.source, sources, key)
            detail = f"{document.place(key)} [{', '.join(figure.source)}], {figure.status}"
            found[key] = Fact(f"method.{key}", figure.value, figure.unit, Source("kb", detail))
    return tuple(found.values())


def load_instructions(folders: Sequence[Path]) -> InstructionTable:
    """Read the instruction table; see `rules.instructions`."""
    from .instructions import read_instructions

    return read_instructions(folders)


def load_problem_models(folders: Sequence[Path]) -> dict[str, ProblemModel]:
    """Read the problem models; see `rules.problems`."""
    from .problems import read_problem_models

    return read_problem_models(folders)


def _architecture(folder: Path, path: Path, sources: Mapping[str, str]) -> Architecture:
    from .hardware_schema import ArchitectureFile

    document = read_file(folder, path)
    parsed = validate(document, ArchitectureFile)
    _check_name(document, "arch", parsed.arch, path)
    facts = [
        _fact(document, "arch.name", parsed.arch, "", "arch"),
        _fact(
            document, "arch.compute_capability", parsed.compute_capability, "", "compute_capability"
        ),
        _fact(document, "arch.generation", parsed.generation, "", "generation"),
    ]
    for name in (*FLAT_GROUPS, "rates", "tensor", "timing"):
        group: Group | None = getattr(parsed, name)
        if group is not None:
            check_sources(document, group.source, sources, name, "source")
        if group is not None and name in (*FLAT_GROUPS, "rates"):
            prefix = "arch.rate." if name == "rates" else "arch."
            facts.extend(_facts_of(document, group, prefix, name))
    limits = parsed.limits
    timing = parsed.timing
    return Architecture(
        name=parsed.arch,
        compute_capability=parsed.compute_capability,
        generation=parsed.generation,
        limits=SmLimits(**{key: getattr(limits, key) for key in SmLimits.__dataclass_fields__}),
        rates=_figures(parsed.rates),
        tensor={
            precision: {c: rate for c, rate in rates if rate is not None}
            for precision, rates in _figures(parsed.tensor).items()
        },
        timing=Timing()
        if timing is None
        else Timing(
            timing.fixed_latency,
            frozenset(timing.variable_latency),
            timing.issue_interval,
            timing.written_stall,
            timing.between,
            _figures(timing.distances),
        ),
        capabilities=_figures(parsed.capabilities),
        facts=tuple(facts),
        chips=parsed.chips,
        path=document.path,
    )


def _device(folder: Path, path: Path, sources: Mapping[str, str]) -> Device:
    from .hardware_schema import DeviceFile

    document = read_file(folder, path)
    parsed = validate(document, DeviceFile)
    _check_name(document, "id", parsed.id, path)
    check_sources(document, parsed.chip.source, sources, "chip", "source")
    facts = [
        _fact(document, "device.id", parsed.id, "", "id"),
        _fact(document, "device.name", parsed.name, "", "name"),
        _fact(document, "device.arch", parsed.arch, "", "arch"),
        _fact(document, "device.product_class", parsed.product_class, "", "product_class"),
        *_facts_of(document, parsed.chip, "device.", "chip"),
    ]
    return Device(
        id=parsed.id,
        name=parsed.name,
        arch=parsed.arch,
        product_class=parsed.product_class,
        sm_count=parsed.chip.sm_count,
        boost_ghz=parsed.chip.boost_ghz,
        l2_bytes=parsed.chip.l2_bytes,
        peaks=_peaks(document, parsed, sources),
        facts=tuple(facts),
        path=document.path,
    )


def _peaks(
    document: Document, parsed: DeviceFile, sources: Mapping[str, str]
) -> dict[str, dict[str, Peak]]:
    peaks: dict[str, dict[str, Peak]] = {}
    for basis, ceilings in (("dense", parsed.peaks.dense), ("published", parsed.peaks.published)):
        if ceilings is not None:
            peaks[basis] = _ceilings(document, ceilings, basis, sources)  # type: ignore[arg-type]
    measured = parsed.peaks.measured
    for name, figure in measured.items():
        check_sources(document, figure.source, sources, "peaks", "measured", name, "source")
        place = document.place("peaks", "measured", name)
        detail = f"{place}, {figure.command}, spread {figure.spread:.1%}"
        status = "measured" if figure.stable else "contested"
        peak = Peak(name, figure.value, figure.unit, "measured", detail, status)
        peaks.setdefault("measured", {})[name] = peak
    return peaks


def _ceilings(
    document: Document, ceilings: Ceilings, basis: PeaksBasis, sources: Mapping[str, str]
) -> dict[str, Peak]:
    check_sources(document, ceilings.source, sources, "peaks", basis, "source")
    found: dict[str, Peak] = {}
    for name, value in _figures(ceilings).items():
        evidence = getattr(ceilings, "evidence", {}).get(name)
        keys, status = ceilings.source, ceilings.status
        if evidence is not None:
            check_sources(document, evidence.source, sources, "peaks", basis, "evidence", name)
            keys, status = evidence.source, evidence.status
        detail = f"{document.place('peaks', basis, name)} [{', '.join(keys)}]"
        if evidence is not None:
            detail = f"{detail}, {evidence.status}: {evidence.because}"
        found[name] = Peak(name, value, _unit(ceilings, name), basis, detail, status)
    return found


def _facts_of(document: Document, group: Group, prefix: str, at: str) -> Iterator[Fact]:
    for name, value in _figures(group).items():
        if isinstance(value, tuple):
            continue
        detail = f"{document.place(at, name)} [{', '.join(group.source)}], {group.status}"
        yield Fact(f"{prefix}{name}", value, _unit(group, name), Source("kb", detail))


def _figures(group: Group | None) -> dict[str, Any]:
    """Give the figures of a group that are known, without its source and remarks."""
    if group is None:
        return {}
    return {name: value for name, value in group if name not in NO_FIGURES and value is not None}


def _unit(group: Group, name: str) -> str:
    extra = type(group).model_fields[name].json_schema_extra
    return str(extra.get("unit", "")) if isinstance(extra, dict) else ""


def _fact(document: Document, name: str, value: Value, unit: str, at: str) -> Fact:
    return Fact(name, value, unit, Source("kb", str(document.place(at))))


def _check_name(document: Document, key: str, value: str, path: Path) -> None:
    if path.stem != value:
        raise document.error(
            f'"{value}" stands in {path.name}', key, help=f"name the file {value}.yaml"
        )


def check_sources(
    document: Document, keys: tuple[str, ...], sources: Mapping[str, str], *at: str | int
) -> None:
    """Refuse the key of a source that kb/sources.yaml does not have."""
    for key in keys:
        if key not in sources:
            raise document.error(f'unknown source "{key}"', *at, help=suggestion(key, set(sources)))


def _single_files(folders: Sequence[Path], name: str) -> Iterator[Document]:
    for folder in folders:
        if (folder / name).is_file():
            yield read_file(folder, folder / name)


def _mapping(document: Document) -> dict[str, Any]:
    if document.data is None:
        return {}
    if not isinstance(document.data, dict):
        raise document.error("expected keys with values", help="write KEY: on a line of its own")
    return document.data


def _by_number(name: str) -> tuple[int, str]:
    digits = re.search(r"[0-9]+", name)
    return (int(digits.group()) if digits else 0, name)
