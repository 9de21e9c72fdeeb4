"""Origins found from the needed lines alone are those found from all lines."""

from __future__ import annotations

from typing import Any

import pytest

from kneck.facts import pattern_origins
from kneck.facts.arch_table import ArchTable
from kneck.facts.kernel import analyse
from kneck.facts.model import EVERYTHING
from kneck.facts.pattern_facts import pattern_facts
from kneck.facts.pattern_origins import Origins
from kneck.facts.pattern_scope import Scope
from kneck.facts.pattern_slice import needed_lines
from kneck.parsers.listing import Function

from .flow_listings import KERNELS, NOTHING_KNOWN, functions, operands, sass, table

CUBINS = sorted(path.name for path in (KERNELS / "cubin").glob("*.sm_86.cubin"))


def scope_of(function: Function) -> Scope:
    known = ArchTable(table(), function.arch, "geforce")
    return Scope(analyse(function, known, operands(), NOTHING_KNOWN), known)


def named(origins: Origins, mask: int) -> set[Any]:
    kinds = ("thread", "part", "block", "block part", "load")
    return {(kind, key) for kind in kinds for key in origins.of_kind(mask, kind)}


@pytest.mark.parametrize("name", CUBINS)
def test_the_facts_are_those_of_all_lines(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for function in functions(name.split(".")[0]).values():
        known = ArchTable(table(), function.arch, "geforce")
        kernel = analyse(function, known, operands(), NOTHING_KNOWN)
        found = pattern_facts(kernel, known)
        with monkeypatch.context() as patch:
            every = lambda scope, _: needed_lines(scope, EVERYTHING)  # noqa: E731
            patch.setattr(pattern_origins, "needed_lines", every)
            assert pattern_facts(kernel, known) == found


def test_arithmetic_on_data_is_left_out() -> None:
    function = sass(
        """
        S2R R0, SR_TID.X
        IMAD.WIDE R2, R0, R9, c[0x0][0x160]
        LDG.E R4, [R2.64]
        FFMA R5, R4, R4, R4
        FADD R6, R5, R5
        STG.E [R2.64], R6
        EXIT
        """
    )
    needed, _ = needed_lines(scope_of(function))
    opcodes = [each.line.instruction.opcode for lines in needed.values() for each in lines]
    assert opcodes == ["S2R", "IMAD", "LDG", "STG"]


def test_a_spilled_address_is_followed_to_the_store_on_the_stack() -> None:
    function = sass(
        """
        S2R R0, SR_TID.X
        STL [R1+0x8], R0
        FADD R5, R7, R7
        LDL R2, [R1+0x8]
        LDS R4, [R2]
        EXIT
        """
    )
    scope = scope_of(function)
    origins = Origins(scope)
    assert named(origins, origins.of_address(scope.lines[4])) == {("thread", "X")}
