"""Reading a target beside other work: `start_disassembly` now, `.result()` when it is needed.

Nothing is imported here that the start of the disassembler does not need; the rest of the way is
in `artifact.py`.
"""

from __future__ import annotations

import threading

from .launch import Early, start_early

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .artifact import Artifact, Code


class Disassembly:
    """A target that is being read; `result` waits for it."""

    def __init__(
        self,
        target: str,
        kernel: str | None,
        arch: str | None,
        prefer: str | None,
        stdin: str | bytes | None,
        reserve_bytes: Mapping[str, int],
        shown: str | None = None,
        early: Early | None = None,
    ) -> None:
        self._wanted = (kernel, arch, prefer, reserve_bytes, shown)
        self._code: Code | None = None
        self._error: BaseException | None = None
        if early is None and target != "-":
            early = start_early(target)
        self._thread = threading.Thread(
            target=self._run, args=(target, stdin, early), name="disassembly", daemon=True
        )
        self._thread.start()

    def _run(self, target: str, stdin: str | bytes | None, early: Early | None) -> None:
        try:
            from .artifact import Wish, read_code

            self._code = read_code(target, stdin, Wish(*self._wanted), early)
        except BaseException as error:  # handed over to the thread that asks for the result
            self._error = error
            if early is not None and early.running is not None:
                early.running.stop()

    def result(self) -> Artifact:
        """Wait for the text and parse it; raises the KneckError that reading it ended with."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        code = self._code
        assert code is not None
        return code.parsed()


def start_disassembly(
    target: str,
    kernel: str | None = None,
    arch: str | None = None,
    prefer: str | None = None,
    stdin: str | bytes | None = None,
    reserve_bytes: Mapping[str, int] | None = None,
    shown: str | None = None,
    early: Early | None = None,
) -> Disassembly:
    """Start to read a target; errors come with the result.

    `target` is a path, or `-` for the text in `stdin`. `arch` chooses the code of a fat binary,
    `prefer` is the device's architecture and chooses where `arch` does not. `reserve_bytes` as for
    `parse_resources`. `shown` is the name that sources and errors give a file that was made of
    another one. `early` is what `start_early` gave for the target before this module was imported.
    """
    return Disassembly(target, kernel, arch, prefer, stdin, reserve_bytes or {}, shown, early)


def read_target(
    target: str,
    kernel: str | None = None,
    arch: str | None = None,
    prefer: str | None = None,
    stdin: str | bytes | None = None,
    reserve_bytes: Mapping[str, int] | None = None,
) -> Artifact:
    """Read a target and wait for it; the same as `start_disassembly(...).result()`."""
    return start_disassembly(target, kernel, arch, prefer, stdin, reserve_bytes).result()
