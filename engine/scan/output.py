"""Where the rows go: the terminal as they come, or a file that is renamed when it is whole."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import IO

import click

from ...parsers.errors import KneckError, Place
from ...parsers.files import encodable

PARTIAL = ".partial"


def _opened(path: str, flags: int) -> int:
    """Open what is left of an earlier scan, but never what a link in its place leads to."""
    if path.endswith(PARTIAL):
        flags |= getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, flags, 0o666)


class Output:
    """Takes text piece by piece; raises KneckError where it cannot be written."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self._file: IO[str] | None = None

    def __enter__(self) -> Output:
        if self.path is not None:
            try:
                if os.path.isdir(self.path):
                    raise KneckError(
                        "the output is a folder", Place(self.path), "name a file in it"
                    )
                self._file = open(  # noqa: SIM115
                    self._target,
                    "w",
                    encoding="utf-8",
                    errors="backslashreplace",
                    newline="\n",
                    opener=_opened,
                )
            except OSError as error:
                raise self._failed(error) from None
        return self

    def write(self, text: str) -> None:
        """Write a piece."""
        try:
            if self._file is not None:
                self._file.write(text)
            else:
                encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
                click.echo(encodable(text, encoding), nl=False)
        except BrokenPipeError:  # the reader has seen enough
            raise
        except OSError as error:
            raise self._failed(error) from None

    def flush(self) -> None:
        """Let a reader see what was written so far."""
        if self._file is not None:
            self._file.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._file is None or self.path is None:
            return
        try:
            self._file.close()
            if kind is None and self._target != self.path:
                os.replace(self._target, self.path)
        except OSError as failed:
            if kind is None:
                raise self._failed(failed) from None

    @property
    def _target(self) -> str:
        """A pipe or a device is written to directly."""
        assert self.path is not None
        special = os.path.exists(self.path) and not os.path.isfile(self.path)
        return self.path if special else self.path + PARTIAL

    def _failed(self, error: OSError) -> KneckError:
        reason = error.strerror or str(error)
        place = Place(self.path) if self.path is not None else None
        return KneckError(f"cannot write the output: {reason}", place, "name another with -o FILE")
