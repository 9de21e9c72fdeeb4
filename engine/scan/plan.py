"""From files to units of work: cubins are extracted, and large ones are read in parts."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ...parsers.artifact import refuse_old
from ...parsers.carve import codes_of
from ...parsers.containers import Embedded, extract_into
from ...parsers.cubin import Cubin, cubin_of
from ...parsers.elf import read_elf
from ...parsers.errors import KneckError
from ...parsers.fatbins import entries, extract_one_by_one
from ...parsers.generations import sm_number
from ...parsers.names import find_name
from ...parsers.stream import PARTS_ALONE
from .archive import members
from .model import Remark, ScanOptions, Twins, Unit, cubin_row, error_row, skipped_row
from .parts import Originals, parts_of
from .walk import Found, files_in, kind_of, nothing_in
from .wheel import wheel_members

LARGE_FUNCTION_BYTES = 3 << 16  # of code; its analysis takes 80 MB
LARGE_BYTES = 4 << 20  # of a cubin that is read whole, which takes several times as much
# cuobjdump holds what it unpacks, several times the file.
LARGE_CONTAINER_BYTES = 32 << 20
Item = Unit | Twins | Remark


class Planner:
    """Finds the work; extracted cubins stay in `folder` until `release` is told they are done."""

    def __init__(
        self, options: ScanOptions, stamp: str, folder: Path, reserve_bytes: Mapping[str, int]
    ) -> None:
        self.options = options
        self.stamp = stamp
        self.folder = folder
        self.reserve_bytes = reserve_bytes
        self.files = 0
        self._originals = Originals()

    def items(self, paths: tuple[str, ...]) -> Iterator[Item]:
        """Give all units and remarks in the order of the output."""
        for found in files_in(paths):
            if isinstance(found, Remark):
                yield found
                continue
            self.files += 1
            try:
                yield from self._file(found)
            except KneckError as error:
                yield Remark(error_row(found.shown, None, error.what, error.help))
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                yield Remark(error_row(found.shown, None, f"cannot read it: {reason}", None))

    def release(self, unit: Unit) -> None:
        """Delete an extracted cubin after its last part."""
        place = Path(unit.place)
        if unit.is_last and self.folder in place.parents:
            place.unlink(missing_ok=True)

    def _file(self, found: Found) -> Iterator[Item]:
        if found.kind == "cubin":
            yield from self._cubin(found.path, found.shown, None)
        elif found.kind == "container":
            yield from self._container(found.path, found.shown, "")
        elif found.kind == "listing":
            yield self._listing(found)
        else:
            yield from self._members(found)

    def _members(self, found: Found) -> Iterator[Item]:
        """Go through a static library or a wheel; one that was named must hold something."""
        take_apart = wheel_members if found.kind == "zip" else members
        is_empty = found.kind == "zip" and found.is_named
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            for name, path in take_apart(found.path, Path(folder)):
                if isinstance(path, str):
                    items: Iterator[Item] = iter([Remark(error_row(found.shown, name, path, None))])
                else:
                    items = self._member(path, found.shown, name)
                for item in items:
                    is_empty = False
                    yield item
                if isinstance(path, Path):
                    path.unlink(missing_ok=True)
        if is_empty:
            yield nothing_in(found.shown)

    def _member(self, path: Path, shown: str, name: str) -> Iterator[Item]:
        """A member that cannot be read does not stop the rest of its library."""
        kind = kind_of(str(path))
        try:
            if kind == "cubin":
                kept = Path(shutil.move(path, self._place()))
                yield from self._extracted(kept, shown, name)
            elif kind == "container":
                yield from self._container(str(path), shown, f"{name}: ")
            elif kind == "archive":
                with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                    for inner, copy in members(str(path), Path(folder)):
                        yield from self._member(copy, shown, f"{name}: {inner}")
                        copy.unlink(missing_ok=True)
        except KneckError as error:
            yield Remark(error_row(shown, name, error.what, error.help))

    def _listing(self, found: Found) -> Unit:
        """SASS text is read in one piece of work."""
        with open(found.path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        key = self._key(digest, found.shown, None, ())
        return Unit(key, found.shown, found.path, None, None, (), (), True)

    def _key(self, digest: str, shown: str, label: str | None, symbols: tuple[int, ...]) -> str:
        content = (self.stamp, digest, shown, label, symbols)
        return hashlib.sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()

    def _container(self, path: str, shown: str, prefix: str) -> Iterator[Item]:
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        for embedded, file in self._embedded(path, folder):
            label = prefix + embedded.name.removeprefix("code.").removesuffix(".cubin")
            if isinstance(file, str):
                help = f"cuobjdump -xelf all {shown}, and scan the cubins"
                yield Remark(error_row(shown, label, f"it was not extracted: {file}", help))
            elif self._is_wanted(embedded.arch):
                yield from self._extracted(file, shown, label)
            else:
                file.unlink(missing_ok=True)

    def _embedded(self, path: str, folder: Path) -> Iterable[tuple[Embedded, Path | str]]:
        """Extract all cubins of a container, those of a large one as they are asked for."""
        if os.path.getsize(path) >= LARGE_CONTAINER_BYTES:
            found = entries(path)
            if found:
                return extract_one_by_one(path, folder, found, self._is_wanted_number)
        return extract_into(path, folder)

    def _is_wanted_number(self, number: int) -> bool:
        wanted = self.options.arch
        return wanted is None or sm_number(wanted) in (None, number)

    def _extracted(self, file: Path, shown: str, label: str) -> Iterator[Item]:
        """A cubin of our own: deleted by `release`, or here where there is nothing to do in it."""
        has_work = False
        for item in self._cubin(str(file), shown, label):
            has_work = has_work or not isinstance(item, Remark)
            yield item
        if not has_work:
            file.unlink(missing_ok=True)

    def _cubin(self, place: str, shown: str, label: str | None) -> Iterator[Item]:
        data = Path(place).read_bytes()
        try:
            elf = read_elf(data, shown)
            cubin = cubin_of(elf, shown, self.reserve_bytes)
        except KneckError as error:
            yield Remark(error_row(shown, label, error.what, error.help))
            return
        if not self._is_wanted(cubin.arch):
            return
        try:
            refuse_old(cubin.arch, shown)
        except KneckError as error:
            yield Remark(skipped_row(shown, label, error.what))
            return
        digest, size = hashlib.sha256(data).hexdigest(), len(data)
        codes = codes_of(elf)
        own, twins = self._originals.divide(elf, cubin, self._chosen(cubin), codes)
        parts = list(parts_of(cubin, list(own), codes))
        first_of_twins = len(parts)
        parts += parts_of(cubin, list(twins), codes)
        sizes = {name: len(code) for name, code in codes.items()}
        del data, elf, codes
        if not cubin.records and self.options.kernel is None:
            yield Remark(cubin_row(shown, label, cubin.arch))  # data only
        for index, (symbols, names, is_quick) in enumerate(parts):
            key = self._key(digest, shown, label, symbols)
            self._originals.add(key, own, names)
            is_last, is_large = index == len(parts) - 1, size >= LARGE_BYTES
            of_each = [sizes.get(name, 0) for name in names]
            if PARTS_ALONE and sizes.keys() >= set(names):
                is_large = max(of_each) >= LARGE_FUNCTION_BYTES
            unit = Unit(
                key, shown, place, label, cubin.arch, symbols, names, is_last, sum(of_each),
                is_large, is_quick,
            )  # fmt: skip
            if index < first_of_twins:
                yield unit
            else:
                yield Twins(tuple(self._originals.twin(name, twins[name]) for name in names), unit)

    def _chosen(self, cubin: Cubin) -> list[str]:
        """Name the functions to read, in their order: with --kernel those that it means."""
        names = [record.name for record in cubin.records]
        if self.options.kernel is None:
            return names
        chosen = set(find_name(self.options.kernel, cubin.kernels))
        return [name for name in names if name in chosen]

    def _is_wanted(self, arch: str) -> bool:
        wanted = self.options.arch
        return wanted is None or wanted == arch or arch.rstrip("af") == wanted

    def _place(self) -> str:
        handle, path = tempfile.mkstemp(dir=self.folder, suffix=".cubin")
        os.close(handle)
        return path
