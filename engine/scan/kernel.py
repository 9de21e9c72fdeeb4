"""One kernel without a launch, a problem and a time: its static facts and what they show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...facts.arch_table import ArchTable
from ...facts.derive import Derivation, derive
from ...facts.hardware import Architecture, Device
from ...facts.launch_facts import axes
from ...facts.loop_linear import Interval, Known
from ...facts.model import Fact, FactBase, Missing, Source, Value
from ...facts.option_facts import option_facts
from ...facts.request import Request
from ...facts.resource_facts import at, resource_facts
from ...parsers.errors import KneckError, Place
from ...parsers.expression import parse_expression
from ...parsers.expression_tree import Expression, evaluate
from ...parsers.listing import Function, ResourceRecord
from ...parsers.names import demangle
from ...rules.model import Kind, Knowledge
from ...rules.values import suggest_fact
from ..extraction import asked_names, counts_asked_for, derivations_for, hardware_facts
from ..function_analysis import analyse_function, timing_of
from ..infer import infer
from ..knowledge import Setting, can_run, limiting_architecture, load_setting
from ..wording import render
from .demand import Demand, demand
from .model import Row, ScanOptions
from .settings import STALL_SLACK, ScanSettings, scan_settings

REPORTED: tuple[Kind, ...] = ("pitfall", "strategy")
CONDITIONS = ("and", "or", "not", "<", ">", "<=", ">=", "==", "!=", "bool", "name")
NO_SOURCE = Missing("source.compute_calls", "a scan reads no source", applies=False)


class Machine:
    """What holds for all code of one architecture: limits, what is asked, and the facts of both."""

    def __init__(self, code_arch: str, device: Device | None, analyst: Analyst) -> None:
        setting = analyst.setting
        architecture: Architecture | None = limiting_architecture(device, code_arch, setting)
        self.table = ArchTable(
            setting.hardware.instructions,
            architecture.name if architecture is not None else code_arch,
            device.product_class if device is not None else None,
        )
        self.timing = timing_of(self.table)
        options, missing = option_facts(analyst.request, setting.most_threads)
        facts = [*hardware_facts(architecture, device, setting), *options]
        base = FactBase().with_facts(facts, [*missing, NO_SOURCE])
        self.demand = analyst.demand(derivations_for(architecture, setting, analyst.asked), base)
        names = self.demand.names
        self.base = FactBase(
            {name: fact for name, fact in base.facts.items() if name in names},
            {name: gap for name, gap in base.missing.items() if name in names},
        )


class Analyst:
    """Analyses kernels one after the other, with everything loaded once.

    Raises KneckError for options that cannot be, KnowledgeError for a faulty knowledge base.
    """

    def __init__(self, options: ScanOptions) -> None:
        self.request = Request(target="", gpu=options.gpu, block=options.block, kb=options.kb)
        self.setting: Setting = load_setting(self.request)
        self.settings: ScanSettings = scan_settings(self.setting.knowledge)
        self.fail_on = self._condition(options.fail_on)
        self.device = self.setting.hardware.device(options.gpu) if options.gpu else None
        wanted = self.settings.names.union(self.fail_on.names if self.fail_on is not None else ())
        self.wanted = wanted
        self.asked = asked_names(self.setting) | wanted
        self.machines: dict[str, Machine] = {}
        self._knowledge: dict[tuple[str, ...], Knowledge] = {}
        option_facts(self.request, self.setting.most_threads)  # a wrong block is told at once

    def demand(self, derivations: Sequence[Derivation], base: FactBase) -> Demand:
        """Find what decides the report of a kernel for which `base` is known beforehand."""
        knowledge = self.setting.knowledge
        reported = [
            rule
            for rule in knowledge.rules
            if rule.kind in REPORTED and rule.id not in self.settings.leave_out
        ]
        found = demand(knowledge, reported, self.wanted, derivations, base)
        rules = tuple(rule.id for rule in found.knowledge.rules)
        shared = self._knowledge.setdefault(rules, found.knowledge)  # one network for each set
        return replace(found, knowledge=shared)

    def kernel(self, function: Function, record: ResourceRecord | None) -> Row:
        """Give the row of a kernel, without its place."""
        machine = self._machine(function.arch)
        known, extra = self._launch(record)
        records = () if record is None else (record,)
        operands = self.setting.hardware.operands
        names = machine.demand.names
        code = analyse_function(
            function, machine.table, operands, known, records, machine.timing, names
        )
        facts, missing = resource_facts(records)
        facts = [*code.facts, *facts, *extra]
        if function.has_control:
            slack = sum(row.reducible_cycles for row in code.stalls)
            source = Source("derived", "sum over the opcodes of the loop")
            facts.append(Fact(STALL_SLACK, slack, "cycles", source))
        counted, inapplicable = counts_asked_for(names, facts, code)
        gaps = [*code.missing, *missing, *inapplicable]
        base = machine.base.with_facts([*facts, *counted], gaps)
        derived = self._derived(derive(base, machine.demand.derivations))
        inference = infer(derived, machine.demand.knowledge)
        found = inference.facts
        row: Row = {
            "kernel": function.name,
            "demangled": demangle(function.name),
            "arch": function.arch,
            "instructions": len(function.instructions),
            "facts": {name: found.value(name) for name in self.settings.facts},
            "findings": self._findings(found),
        }
        vocabulary = self.settings.vocabulary
        for kind in REPORTED:
            for rule in inference.fired(kind):
                if rule.id not in self.settings.leave_out:
                    level = rule.severity if kind == "pitfall" and rule.severity else "note"
                    text = render(rule.why, found.value, vocabulary)
                    row["findings"].append(_finding(rule.id, kind, level, rule.title, text))
        if self.fail_on is not None:
            row["fail_on"] = self._holds(self.fail_on, found)
        return row

    def _machine(self, arch: str) -> Machine:
        if arch not in self.machines:
            device = self.device
            if device is not None and not can_run(arch, device.arch):
                device = None
            self.machines[arch] = Machine(arch, device, self)
        return self.machines[arch]

    def _launch(self, record: ResourceRecord | None) -> tuple[Known, list[Fact]]:
        """Give what is known of the block: --block, or the size that the code insists on."""
        block = self.request.block
        facts = []
        if block is None and record is not None and record.required_block is not None:
            block = ",".join(map(str, record.required_block))
            if min(record.required_block) < 1:
                return Known(), []
            facts = [Fact("launch.block", block, "", at(record))]
        if block is None:
            return Known(), []
        sizes = zip("XYZ", axes(block), strict=True)
        return Known({}, {f"SR_TID.{axis}": Interval(0, size - 1) for axis, size in sizes}), facts

    def _derived(self, base: FactBase) -> FactBase:
        """Add the scan's own figures, each from facts and from those before it."""
        found: dict[str, Fact] = {}

        def value(name: str) -> Value | None:
            return found[name].value if name in found else base.value(name)

        for each in self.settings.derived:
            result = evaluate(each.formula, value)
            if result is not None:
                source = Source("derived", each.formula.text)
                fact = Fact(each.name, _whole(result), each.unit, source, each.formula.names)
                found[each.name] = fact
        return base.with_facts(found.values())

    def _findings(self, facts: FactBase) -> list[dict[str, Any]]:
        return [
            _finding(
                each.id, "finding", each.level, each.title,
                render(each.text, facts.value, self.settings.vocabulary),
            )
            for each in self.settings.findings
            if evaluate(each.when, facts.value) is True
        ]  # fmt: skip

    def _holds(self, condition: Expression, facts: FactBase) -> bool | None:
        value = evaluate(condition, facts.value)
        return value if isinstance(value, bool) else None

    def _condition(self, text: str | None) -> Expression | None:
        """Read --fail-on; unlike in `kneck infer` an unknown fact does not decide it."""
        if text is None:
            return None
        vocabulary = self.settings.vocabulary
        place = Place("--fail-on")

        def is_fact(name: str) -> bool:
            return vocabulary.entry(name) is not None

        try:
            found = parse_expression(text, place, is_fact)
        except KneckError as error:
            raise KneckError(error.what, error.place, error.help or "write NAME > VALUE") from None
        for name in found.names:
            if not is_fact(name):
                what = f'--fail-on: there is no fact "{name}"'
                raise KneckError(what, help=suggest_fact(name, vocabulary))
        if found.tree[0] not in CONDITIONS:
            raise KneckError(f"--fail-on {text}: this is no condition", help="write NAME > VALUE")
        return found


def _finding(id: str, kind: str, level: str, title: str, text: str) -> dict[str, Any]:
    return {"id": id, "kind": kind, "level": level, "title": title, "text": text}


def _whole(value: Value) -> Value:
    return int(value) if isinstance(value, float) and value.is_integer() else value
