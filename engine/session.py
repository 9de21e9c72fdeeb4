"""One question from start to end: read the target, extract facts, infer, assemble.

This is the table of contents of kneck. The disassembler runs while packages are imported and the
knowledge base is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import __version__
from ..facts.code import Code
from ..facts.derive import Derivation
from ..facts.model import FactBase
from ..facts.request import Request
from ..parsers.names import demangle
from ..parsers.record import dataclass
from . import diagnosis as d
from .assemble import Subject, assemble
from .extraction import Extraction, extract
from .infer import Inference, infer
from .knowledge import Setting, load_setting
from .measured import with_local_gpu
from .target import opened
from .what_if_option import changes
from .whatif import what_if

if TYPE_CHECKING:
    from ..parsers.launch import Early


@dataclass(frozen=True)
class Result:
    """The diagnosis, and what it was made of."""

    diagnosis: d.Diagnosis
    inference: Inference
    derivations: Sequence[Derivation]
    code: Code

    @property
    def facts(self) -> FactBase:
        """Give all facts, those that rules set included."""
        return self.inference.facts


def diagnose(request: Request, early: Early | None = None) -> Result:
    """Answer one request; raises KneckError, with place and next step, where that is impossible.

    `early` is the target's disassembly where it was started before this module was imported.
    """
    return diagnose_with(request, load_setting(request), early)


def diagnose_with(request: Request, setting: Setting, early: Early | None = None) -> Result:
    """Answer one of many requests with knowledge that was loaded once."""
    extraction = gather(request, setting, early)
    facts = extraction.facts
    changed = changes(request.what_if, setting.knowledge.vocabulary)
    if changed:
        facts = what_if(facts, changed, extraction.derivations, setting.knowledge.vocabulary)
    inference = infer(facts, setting.knowledge)
    diagnosis = assemble(_subject(extraction, setting), inference, extraction.derivations)
    return Result(diagnosis, inference, extraction.derivations, extraction.code)


def gather(request: Request, setting: Setting, early: Early | None = None) -> Extraction:
    """Read the target and extract all facts; nothing is judged."""
    with opened(with_local_gpu(request, setting), setting, early) as target:
        return extract(target, setting)


def _subject(extraction: Extraction, setting: Setting) -> Subject:
    code = extraction.code
    folders = [{"path": f.name, "hash": f.hash} for f in setting.knowledge.folders]
    tool = d.Tool(__version__, folders, code.sha256, extraction.request.command)
    return Subject(code, demangle(code.name), extraction.shown, tool, extraction.remarks)
