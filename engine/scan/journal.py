"""Finished parts of a scan on the disk: what an interrupted scan need not do again.

A part is a file named after everything that its content depends on. It is written under a private
name and renamed, so that it is whole or not there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from ...parsers.errors import KneckError, Place
from ...parsers.record import dataclass
from .model import Row

_PART = re.compile(r"[0-9a-f]{64}\.jsonl|\.[0-9a-f]{64}\.\d+")
_KERNEL = re.compile(r'[{,]"kernel":("(?:[^"\\]|\\.)*")')  # the first is the key of the row
_WORK = "cubins"


@dataclass(frozen=True)
class Journal:
    """The folder of a scan."""

    folder: str

    @property
    def work(self) -> Path:
        """Give the folder for extracted cubins."""
        return Path(self.folder) / _WORK

    def open(self, keep: bool) -> None:
        """Make the folder ready; parts of an earlier scan stay only where they are wanted.

        Raises OSError where that is impossible, KneckError where a link stands in its place.
        """
        if os.path.islink(self.folder):
            what = "a link stands where finished parts of the scan are kept"
            raise KneckError(what, Place(self.folder), "remove it, or name another output")
        if not os.path.isdir(self.folder):
            os.mkdir(self.folder, mode=0o700)
        shutil.rmtree(self.work, ignore_errors=True)
        if not keep:
            self._remove_parts()
        self.work.mkdir(mode=0o700)

    def remove(self) -> None:
        """Remove what the scan wrote, and the folder where nothing else is in it."""
        shutil.rmtree(self.work, ignore_errors=True)
        self._remove_parts()
        try:
            os.rmdir(self.folder)
        except OSError:
            return

    def leave(self) -> None:
        """Keep the parts only."""
        shutil.rmtree(self.work, ignore_errors=True)

    def has(self, key: str) -> bool:
        """Tell whether a part is there."""
        return os.path.isfile(self._path(key))

    def write(self, key: str, rows: Iterable[Row]) -> None:
        """Write a part row by row; raises OSError where the disk is full."""
        private = os.path.join(self.folder, f".{key}.{os.getpid()}")
        try:
            with open(private, "w", encoding="ascii") as file:
                for row in rows:
                    file.write(json.dumps(row, separators=(",", ":")) + "\n")
            os.replace(private, self._path(key))
        except BaseException:
            Path(private).unlink(missing_ok=True)
            raise

    def rows(self, key: str) -> Iterator[Row]:
        """Read a part row by row."""
        with open(self._path(key), encoding="ascii") as file:
            for line in file:
                row: Row = json.loads(line)
                yield row

    def rows_of(self, key: str, kernels: Collection[str]) -> Iterator[Row]:
        """Read the rows about some kernels only, without taking the others apart."""
        names = {json.dumps(kernel) for kernel in kernels}
        with open(self._path(key), encoding="ascii") as file:
            for line in file:
                found = _KERNEL.search(line)
                if found is not None and found[1] in names:
                    row: Row = json.loads(line)
                    yield row

    def _path(self, key: str) -> str:
        return os.path.join(self.folder, f"{key}.jsonl")

    def _remove_parts(self) -> None:
        with os.scandir(self.folder) as found:
            for entry in found:
                if _PART.fullmatch(entry.name) and not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)
