"""Opening a target: shipped examples, sources to build, and what can be read as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..facts.request import Request
from ..parsers.errors import KneckError
from ..parsers.record import dataclass
from ..parsers.suggest import suggestion
from .knowledge import Setting, default_device

if TYPE_CHECKING:
    from ..parsers.disassembly import Disassembly
    from ..parsers.launch import Early

EXAMPLE = "example:"
SOURCE_ENDINGS = (".cu",)


@dataclass(frozen=True)
class Opened:
    """A target that is ready to be read: the request with what the target itself adds, and a path.

    `prefer` is the architecture of the device. `build_log` is the output of the build and
    `source` the text that was built, where there was a build; `shown` names the target.
    """

    request: Request
    path: str
    shown: str
    prefer: str | None
    reserve_bytes: Mapping[str, int]
    build_log: str | None = None
    source: str | None = None
    early: Early | None = None

    @property
    def built(self) -> bool:
        """Tell whether the file was made just now."""
        return self.source is not None

    def start(self) -> Disassembly:
        """Start the disassembler; it runs until the result is asked for."""
        from ..parsers.disassembly import start_disassembly

        request = self.request
        return start_disassembly(
            self.path,
            request.kernel,
            request.arch,
            self.prefer,
            request.stdin,
            self.reserve_bytes,
            self.shown,
            self.early,
        )


@contextmanager
def opened(request: Request, setting: Setting, early: Early | None = None) -> Iterator[Opened]:
    """Open the target of a request; a built cubin lives as long as the context.

    `early` is the target's disassembly where it was started before anything was imported.
    """
    shown = request.target
    if request.target.startswith(EXAMPLE):
        request = _example(request)
    if request.target.endswith(SOURCE_ENDINGS):
        import tempfile

        from ..parsers.build import build
        from ..parsers.targets import need_file

        need_file(request.target)
        with tempfile.TemporaryDirectory(prefix="kneck-") as folder:
            arch = _build_arch(request, setting)
            made = build(request.target, Path(folder), arch, request.build)
            source = Path(request.target).read_text(encoding="utf-8", errors="replace")
            path = str(made.output)
            yield _opened(request, setting, path, shown, made.log, source)
        return
    yield replace(_opened(request, setting, request.target, shown), early=early)


def _opened(
    request: Request,
    setting: Setting,
    path: str,
    shown: str,
    log: str | None = None,
    source: str | None = None,
) -> Opened:
    device = setting.hardware.device(request.gpu) if request.gpu else default_device(setting)
    prefer = device.arch if device is not None else None
    return Opened(request, path, shown, prefer, setting.reserve_bytes, log, source)


def _build_arch(request: Request, setting: Setting) -> str:
    """Build for the architecture asked for, else for the device's."""
    if request.arch is not None:
        return request.arch
    device = setting.hardware.device(request.gpu) if request.gpu else default_device(setting)
    if device is None:
        raise KneckError("for which architecture is it to be built?", help="add --arch sm_XX")
    return device.arch


def _example(request: Request) -> Request:
    """Fill in what a shipped example brings; what the user gave goes before it."""
    from ..rules.documents import read_document

    name = request.target.removeprefix(EXAMPLE)
    examples = files("kneck.kb") / "examples"
    known = sorted(entry.name for entry in examples.iterdir() if entry.is_dir())
    if name not in known:
        raise KneckError(f'no example "{name}"', help=suggestion(name, known))
    folder = examples / name
    text = (folder / "example.yaml").read_text(encoding="utf-8")
    document: Any = read_document(text, f"kb/examples/{name}/example.yaml").data
    cubin = next(entry for entry in folder.iterdir() if entry.name.endswith(".cubin"))
    own = {
        "kernel": document["kernel"],
        "gpu": document["gpu"],
        "grid": ",".join(document["grid"]),
        "block": ",".join(document["block"]),
        "dynamic_smem": int(document["dynamic_smem"]),
        "problem": document["problem"],
        "args": document["args"],
        "time_ms": float(document["time_ms"]),
    }
    given = {key: getattr(request, key) for key in own if getattr(request, key) is not None}
    return replace(request, target=str(cubin), **{**own, **given})
