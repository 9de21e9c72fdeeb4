"""All facts of one request: from the code, the options and the knowledge base, and what follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from ..facts.code import Code
from ..facts.derive import Derivation, in_order
from ..facts.device_facts import device_facts
from ..facts.foreign_cliff import foreign_cliff_derivation
from ..facts.hardware import Architecture, Device
from ..facts.launch_facts import launch_derivations
from ..facts.model import Fact, FactBase, Missing, Source
from ..facts.occupancy_facts import occupancy_derivations
from ..facts.option_facts import option_facts
from ..facts.pattern_derived import pattern_derivations
from ..facts.problem import Problem, parse_problem, problem_facts
from ..facts.remedy_gains import gain_derivations
from ..facts.request import Request
from ..facts.resource_facts import disagreements, resource_facts
from ..facts.roofline_facts import roofline_derivations, share_derivations
from ..facts.tile_facts import NO_LOOP, tile_derivations
from ..parsers.errors import KneckError
from ..parsers.listing import ResourceRecord
from ..parsers.record import dataclass
from .code import code_of
from .knowledge import Setting, limiting_architecture
from .measured import counters_given, lay_over, measure, without_time
from .target import Opened

STALLS = "stalls"
ABSENT = Source("sass", "no such instruction")
UNUSED = Source("emulated", "nothing that runs uses it")


@dataclass(frozen=True)
class Extraction:
    """Everything that is known before a rule looks at it."""

    request: Request
    code: Code
    facts: FactBase
    derivations: Sequence[Derivation]
    shown: str
    remarks: tuple[tuple[str, str], ...] = ()


def extract(opened: Opened, setting: Setting) -> Extraction:
    """Extract all facts; raises KneckError for options that cannot be."""
    request = opened.request
    options = option_facts(request, setting.most_threads, setting.most_blocks)
    problem = problem_of(request, setting)
    code = code_of(opened, problem, setting)
    measured = measure(opened, code, problem, {fact.name: fact for fact in options[0]}, setting)
    device = setting.hardware.device(code.device) if code.device is not None else None
    architecture = limiting_architecture(device, code.arch, setting)
    asked = asked_names(setting)
    records = _records(opened, code, setting)
    parts: list[tuple[Iterable[Fact], Iterable[Missing]]] = [
        (code.facts, code.missing),
        resource_facts(records),
        options,
        _problem_facts(problem),
        _source_facts(opened),
        (hardware_facts(architecture, device, setting), []),
        ([*measured.facts, counters_given(request)], []),
    ]
    facts = [fact for part in parts for fact in part[0]]
    missing = without_time(facts, [gap for part in parts for gap in part[1]])
    counted, inapplicable = counts_asked_for(asked, facts, code)
    derivations = in_order(derivations_for(architecture, setting, asked))
    known = FactBase().with_facts(facts + counted, missing + inapplicable)
    threshold = float(setting.method("counter_disagreement_fraction") or 0)
    base, differences = lay_over(known, derivations, measured.counters, threshold)
    other_build = [("resources-disagree", f"{text}.") for text in disagreements(records)]
    remarks = (*measured.remarks, *differences, *other_build)
    return Extraction(request, code, base, derivations, opened.shown, remarks)


def problem_of(request: Request, setting: Setting) -> Problem | None:
    """Read --problem, None where it was not given."""
    if request.problem is None:
        return None
    return parse_problem(request.problem, setting.hardware.problems)


def derivations_for(
    architecture: Architecture | None, setting: Setting, asked: Iterable[str]
) -> list[Derivation]:
    """Give every derivation, in the form that this architecture and these rules need."""
    opcodes = sorted({name.split(".")[1] for name in asked if name.startswith(STALLS + ".")})
    return [
        *launch_derivations(),
        *occupancy_derivations(architecture.limits if architecture is not None else None),
        *roofline_derivations(setting.hardware.precisions),
        *share_derivations(asked),
        *tile_derivations(tuple(opcodes)),
        *pattern_derivations(architecture.limits if architecture is not None else None),
        *gain_derivations(),
        foreign_cliff_derivation(setting.hardware.architectures),
    ]


def asked_names(setting: Setting) -> set[str]:
    """Name every fact that some rule looks at."""
    return {
        name
        for rule in setting.knowledge.rules
        for condition in rule.conditions
        for name in condition.expression.names
    }


def counts_asked_for(
    asked: Iterable[str], facts: Iterable[Fact], code: Code
) -> tuple[list[Fact], list[Missing]]:
    """Give 0 for the instructions that a rule asks for and the function does not have.

    Absence is known, since the whole function was read; what counts a loop needs a loop.
    """
    known = {fact.name for fact in facts}
    zeros, inapplicable = [], []
    for name in sorted(set(asked) - known):
        section, _, rest = name.partition(".")
        resource, _, last = rest.rpartition(".")
        if section == "bounds" and last == "share" and code.bounds:
            idle = f"bounds.{resource}.time_ms"
            if idle not in known:
                zeros.append(Fact(idle, 0.0, "ms", UNUSED))
            continue
        of_loop = last == "in_loop" or section == STALLS or last.endswith("_fraction")
        if section not in ("mix", STALLS, "tile") or last in ("executed", "gain_fraction"):
            continue
        if section == "tile" and not last.endswith(("mma_fraction", "ffma_fraction")):
            continue
        if of_loop and code.loop is None:
            inapplicable.append(Missing(name, NO_LOOP, applies=False))
        elif section == "tile" and not code.flop_shares_known:
            continue
        elif section != STALLS or code.has_encodings:
            unit = {"mix": "instructions", STALLS: "cycles"}.get(section, "")
            zeros.append(Fact(name, 0, unit, ABSENT))
    return zeros, inapplicable


def _records(opened: Opened, code: Code, setting: Setting) -> list[ResourceRecord]:
    """Collect what is said of the kernel: the cubin first, the build's log, then --resources."""
    found = list(code.records)
    if opened.build_log or opened.request.resources:
        found += _logged(opened, code, setting)
    mine = [record for record in found if record.name == code.name]
    return [record for record in mine if record.arch in (None, code.arch)]


def _logged(opened: Opened, code: Code, setting: Setting) -> list[ResourceRecord]:
    from ..parsers.files import read_text
    from ..parsers.resources import parse_resources

    found: list[ResourceRecord] = []
    reserve = dict(setting.reserve_bytes)
    if opened.build_log:
        with suppress(KneckError):  # a build that prints no resource usage is no fault
            found += parse_resources(opened.build_log, "build log", reserve, code.arch)
    path = opened.request.resources
    if path is not None:
        found += parse_resources(read_text(path), path, reserve, code.arch)
    return found


def _problem_facts(problem: Problem | None) -> tuple[list[Fact], list[Missing]]:
    if problem is not None:
        facts = problem_facts(problem)
        known = {fact.name for fact in facts}
        gaps = [
            Missing(name, f"--problem {problem.text} does not tell")
            for name in ("baseline.flops", "baseline.bytes")
            if name not in known
        ]
        return facts, gaps
    names = ("baseline.problem", "baseline.flops", "baseline.bytes")
    return [], [Missing(name, "no problem was given") for name in names]


def _source_facts(opened: Opened) -> tuple[list[Fact], list[Missing]]:
    """Count what the source names, where a source was built."""
    if opened.source is None:
        return [], [Missing("source.compute_calls", "the target is no source", applies=False)]
    from ..parsers.source_calls import compute_calls

    calls = compute_calls(opened.source)
    source = Source("file", opened.shown)
    return [Fact("source.compute_calls", calls, "instructions", source)], []


def hardware_facts(
    architecture: Architecture | None, device: Device | None, setting: Setting
) -> list[Fact]:
    """Give what the knowledge base says of the method, the architecture and the device."""
    facts = list(setting.knowledge.method)
    if architecture is not None:
        facts += architecture.facts
    if device is not None:
        facts += device_facts(device, setting.basis)
    return facts
