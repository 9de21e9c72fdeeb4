"""Reading a set of measured kernels: manifest, measured figures, and how they judge.

A set is a folder with `manifest.yaml`, `cubin/FAMILY.cubin`, `measured/GPU.json` (times by kernel,
and counters, without which a kernel serves pairs alone) and, optionally,
`measured/GPU-instructions.json.xz` (counts by instruction).
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...parsers.errors import KneckError, Place
from ...parsers.record import dataclass
from ...parsers.suggest import suggestion
from ...rules.documents import Document, read_document, validate
from ...rules.hardware_files import read_file, shipped_folder
from .schema import Judge, KernelEntry, Manifest, PairEntry

MANIFEST = "manifest.yaml"
HELP = "name a folder with manifest.yaml, cubin/ and measured/, like tests/truth of kneck"
By = Mapping[str, Any]


@dataclass(frozen=True)
class Measured:
    """What was measured of one kernel; `by_instruction` counts by address (hexadecimal)."""

    time_ms: float
    counters: Mapping[str, float]
    by_instruction: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class TruthSet:
    """A set and everything that was measured of it."""

    folder: Path
    manifest: Manifest
    measured: Mapping[str, Measured]

    def kernel(self, name: str) -> KernelEntry:
        """Give a kernel by its name."""
        return next(entry for entry in self.manifest.kernels if entry.name == name)

    def cubin(self, entry: KernelEntry) -> Path:
        """Give the binary of a kernel."""
        return self.folder / (entry.cubin or f"cubin/{entry.family}.cubin")


def own_sets() -> list[Path]:
    """Give the sets of the repository that this code stands in; none for an installed package."""
    root = Path(__file__).resolve().parents[2]
    if not (root / "pyproject.toml").is_file():
        return []
    folders = [root / "tests" / name for name in ("truth", "pairs")]
    return [folder for folder in folders if (folder / MANIFEST).is_file()]


def load_judge() -> Judge:
    """Read how measured kernels judge; raises KnowledgeError where the file is faulty."""
    folder = shipped_folder()
    return validate(read_file(folder, folder / "truth.yaml"), Judge)


def load_set(folder: Path) -> TruthSet:
    """Read a set; raises KneckError with file, line and column where it is faulty."""
    path = folder / MANIFEST
    document = read_document(_text(path), str(path))
    manifest = validate(document, Manifest)
    _check_names(document, manifest)
    whole = _json(folder / "measured" / f"{manifest.gpu}.json")
    packed = folder / "measured" / f"{manifest.gpu}-instructions.json.xz"
    by_instruction = _unpacked(packed) if packed.is_file() else {}
    measured = {
        entry.name: _measured(entry, whole, by_instruction, document, index)
        for index, entry in enumerate(manifest.kernels)
    }
    return TruthSet(folder, manifest, measured)


def _check_names(document: Document, manifest: Manifest) -> None:
    names: set[str] = set()
    for index, entry in enumerate(manifest.kernels):
        if entry.name in names:
            raise document.error(f'"{entry.name}" stands here twice', "kernels", index, "name")
        names.add(entry.name)
    for index, pair in enumerate(manifest.pairs):
        for key in ("base", "variant"):
            _check_name(document, pair, key, index, names)


def _check_name(document: Document, pair: PairEntry, key: str, index: int, names: set[str]) -> None:
    name = getattr(pair, key)
    if name not in names:
        what = f'the set has no kernel "{name}"'
        raise document.error(what, "pairs", index, key, help=suggestion(name, names))


def _measured(
    entry: KernelEntry, whole: By, by_instruction: By, document: Document, index: int
) -> Measured:
    try:
        row = whole["set"][entry.name]
        time_ms, counters = float(row["time_ms"]), dict(row.get("counters", {}))
    except (LookupError, TypeError, ValueError, AttributeError):
        what = f"no time was measured of {entry.name}"
        help = "measure it, or leave it out of the manifest"
        raise document.error(what, "kernels", index, "name", help=help) from None
    if not time_ms > 0:
        raise document.error(f"{entry.name} took no time", "kernels", index, "name")
    return Measured(time_ms, counters, by_instruction.get(entry.name, {}))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        given = getattr(error, "strerror", None)
        reason = str(given).lower() if given else "this is not UTF-8 text"
        raise KneckError(reason, Place(str(path)), HELP) from None


def _json(path: Path) -> By:
    try:
        found = json.loads(_text(path))
    except (ValueError, RecursionError):
        raise KneckError("this is not JSON", Place(str(path)), "measure the set again") from None
    if not isinstance(found, dict) or not isinstance(found.get("set"), dict):
        raise KneckError('there is no "set" of kernels', Place(str(path)), "measure the set again")
    return found


def _unpacked(path: Path) -> By:
    try:
        found = json.loads(lzma.decompress(path.read_bytes()))
    except (OSError, ValueError, EOFError, lzma.LZMAError):
        what = "counts by instruction cannot be read"
        raise KneckError(what, Place(str(path)), "measure the set again") from None
    return found if isinstance(found, dict) else {}
