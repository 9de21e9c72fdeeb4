"""Opening a target: shipped examples, sources to build, and what can be read as it is."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..facts.request import Request
from ..parsers.build import build
from ..parsers.disassembly import Disassembly, start_disassembly
from ..parsers.errors import KneckError
from ..parsers.suggest import suggestion
from ..parsers.targets import need_file
from .knowledge import Setting, default_device

EXAMPLE = "example:"
SOURCE_ENDINGS = (".cu",)


@dataclass(frozen=True)
class Opened:
    """A target under way: the request with what the target itself adds, and the disassembly.

    `build_log` is the output of the build and `source` the text that was built, where there was a
    build; `shown` names the target.
    """

    request: Request
    disassembly: Disassembly
    shown: str
    build_log: str | None = None
    source: str | None = None


@contextmanager
def opened(request: Request, setting: Setting) -> Iterator[Opened]:
    """Open the target of a request; a built cubin lives as long as the context."""
    shown = request.target
    if request.target.startswith(EXAMPLE):
        request = _example(request)
    if request.target.endswith(SOURCE_ENDINGS):
        need_file(request.target)
        with tempfile.TemporaryDirectory(prefix="kneck-") as folder:
            arch = _build_arch(request, setting)
            made = build(request.target, Path(folder), arch, request.build)
            disassembly = _start(request, setting, str(made.output), shown)
            source = Path(request.target).read_text(encoding="utf-8", errors="replace")
            yield Opened(request, disassembly, shown, made.log, source)
        return
    yield Opened(request, _start(request, setting, request.target, shown), shown)


def _start(request: Request, setting: Setting, path: str, shown: str) -> Disassembly:
    device = setting.hardware.device(request.gpu) if request.gpu else default_device(setting)
    return start_disassembly(
        path,
        request.kernel,
        request.arch,
        device.arch if device is not None else None,
        request.stdin,
        setting.reserve_bytes,
        shown,
    )


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
