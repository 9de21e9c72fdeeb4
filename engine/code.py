"""The code of a target: analysed now, or taken from the cache where nothing it rests on changed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from .. import __version__
from ..facts.code import Code, CodeAccess, CodeBound, CodeLoop, CodeStall
from ..facts.mix import MixLine
from ..facts.model import Fact, Missing, Source
from ..facts.problem import Problem
from ..facts.request import Request
from ..parsers.cache import user_cache
from ..parsers.listing import ResourceRecord
from ..rules.json_cache import read_cached, write_cached
from ..rules.records import Records
from .knowledge import Setting
from .target import Opened

KIND = "code"
FORMAT = 10  # raised when the records change
MOST_KEPT = 400
ROOMS = ("facts", "facts/emulator", "parsers")
RECORDS = Records(
    [
        Code,
        CodeAccess,
        CodeBound,
        CodeLoop,
        CodeStall,
        Fact,
        Missing,
        MixLine,
        ResourceRecord,
        Source,
    ]
)


def code_of(opened: Opened, problem: Problem | None, setting: Setting) -> Code:
    """Give the analysis of the target's code; raises KneckError where it cannot be read."""
    key = _key(opened, setting)
    if key is not None:
        kept = read_cached(KIND, key, RECORDS.read)
        if isinstance(kept, Code):
            return kept
    disassembly = opened.start()
    # The disassembler runs beside this, and takes about as long.
    from .code_analysis import analyse_code
    from .ready import get_ready

    get_ready(setting)
    code = analyse_code(disassembly.result(), opened, problem, setting)
    if key is not None:
        write_cached(KIND, key, RECORDS.write(code), MOST_KEPT)
    return code


def _key(opened: Opened, setting: Setting) -> str | None:
    """Hash everything that the analysis rests on; None where the target is no plain file."""
    request = opened.request
    if opened.built or user_cache() is None:
        return None  # a build leaves a new file each time
    if request.stdin is not None:
        text = request.stdin
        content = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    elif not os.path.isfile(opened.path):
        return None  # a pipe can be read once only; a device never ends
    else:
        try:
            content = Path(opened.path).read_bytes()
        except OSError:
            return None  # reading it properly gives the error that names the reason
    digest = hashlib.sha256(content)
    figures = tuple((fact.name, fact.value) for fact in setting.knowledge.method)
    knowledge = (setting.hardware.key, figures)
    parts = (FORMAT, __version__, code_stamp(), knowledge, opened.path, _asked(request))
    digest.update(repr(parts).encode())
    return digest.hexdigest()


def _asked(request: Request) -> tuple[object, ...]:
    """Name the options that choose the function, the device, or what the loop counters see."""
    r = request
    launch = (r.grid, r.block, r.dynamic_smem, r.carveout, r.args)
    return (r.kernel, r.arch, r.gpu, launch, r.problem, r.peaks, r.time_ms)


def code_stamp() -> tuple[int, int]:
    """Change when kneck's own code does, as it does under a developer's hands."""
    package = Path(__file__).resolve().parent.parent
    times = [
        entry.stat().st_mtime_ns
        for room in ROOMS
        for entry in os.scandir(package / room)
        if entry.name.endswith((".py", ".lark", ".json"))
    ]
    return len(times), max(times)
