"""Pipe files: what is read from them, and every kind of fault with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from kneck.facts.pipes import PipeTable
from kneck.parsers.errors import KnowledgeError
from kneck.parsers.listing import Instruction
from kneck.parsers.sass import parse_sass
from kneck.rules.hardware import load_architecture, load_instructions
from kneck.rules.hardware_files import shipped_folder
from kneck.rules.pipes import load_pipes

SHIPPED = shipped_folder()
OPCODES = """\
source: [mine]
groups:
  float: [FFMA, FADD]
  memory: [LDG, STG]
  tensor: [HMMA]
"""
FILE = """\
arch: sm_90
costs:
  source: [mine]
  status: measured
  float: {fma: 1}
  memory: {lsu: 4}
tensor_from_rate: [tensor]
constant_bank: {source: [mine], status: derived, block: 0, grid: 12, stack: 40, parameters: 528}
l1: {source: [mine], status: measured, bytes_per_sm: 262144, usable_fraction: 0.8, \
wavefronts_per_clock: 1}
"""
SOURCES = "mine:\n  title: my own measurement\n  kind: measurement\n"


def folder(tmp_path: Path, file: str = FILE, opcodes: str = OPCODES) -> list[Path]:
    """Write a knowledge folder with a pipe file."""
    (tmp_path / "pipes").mkdir()
    (tmp_path / "pipes" / "sm_90.yaml").write_text(file)
    (tmp_path / "pipes" / "opcodes.yaml").write_text(opcodes)
    (tmp_path / "sources.yaml").write_text(SOURCES)
    return [tmp_path]


def loaded(folders: list[Path]) -> PipeTable:
    found = load_pipes("sm_90", folders)
    assert found is not None
    return found


def test_a_file_gives_costs_by_group_and_sizes(tmp_path: Path) -> None:
    found = loaded(folder(tmp_path))
    assert found.costs == {"float": {"fma": 1.0}, "memory": {"lsu": 4.0}}
    assert (found.l1_bytes, found.l1_usable_fraction) == (262144, 0.8)
    assert found.l2 == {} and found.clocks == {} and found.latencies is None


def test_code_for_one_chip_is_that_of_its_hardware() -> None:
    found = load_pipes("sm_90a", [SHIPPED])
    assert found is not None and found.arch == "sm_90"


def test_an_architecture_without_a_file_has_no_pipes() -> None:
    assert load_pipes("sm_999", [SHIPPED]) is None


@pytest.mark.parametrize(
    ("before", "after", "what", "line", "column"),
    [
        ("float: {fma: 1}", "flaot: {fma: 1}", 'unknown group "flaot"', 5, 10),
        ("{fma: 1}", "{fam: 1}", 'unknown pipe "fam"', 5, 16),
        ("{fma: 1}", "{fma: fast}", '"fast" is no number of cycles', 5, 16),
        ("{fma: 1}", "{fma: 0}", '"0" is no number of cycles', 5, 16),
        ("{fma: 1}", "{fma: -2}", '"-2" is no number of cycles', 5, 16),
        ("{fma: 1}", "{fma: inf}", '"inf" is no number of cycles', 5, 16),
        ("{fma: 1}", "{fma: nan}", '"nan" is no number of cycles', 5, 16),
        ("{fma: 1}", "{}", '"float" takes no pipe', 5, 10),
        ("{fma: 1}", "1", '"float" takes no pipe', 5, 10),
        ("  source: [mine]\n", "", 'missing "source"', 3, 3),
        ("source: [mine]", "source: [yours]", 'unknown source "yours"', 3, 11),
        ("from_rate: [tensor]", "from_rate: [tenser]", 'unknown group "tenser"', 7, 20),
        ("block: 0", "block: -1", "constant_bank.block", 8, 57),
        ("block: 0, ", "", "block", 8, 16),
        ("bytes_per_sm: 262144", "bytes_per_sm: much", "l1.bytes_per_sm", 9, 54),
        ("usable_fraction: 0.8", "usable_fraction: 1.8", "l1.usable_fraction", 9, 79),
        ("status: measured, bytes", "status: sure, bytes", "l1.status", 9, 30),
        ("arch: sm_90", "arch: hopper", "arch", 1, 7),
        ("l1:", "l3:", "l3", 9, 1),
        ("l1: {", "l1: [", "did not find expected", 9, 107),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_path_line_and_column(
    tmp_path: Path, before: str, after: str, what: str, line: int, column: int
) -> None:
    assert before in FILE
    with pytest.raises(KnowledgeError) as caught:
        load_pipes("sm_90", folder(tmp_path, FILE.replace(before, after, 1)))
    place = caught.value.place
    assert what in str(caught.value)
    assert place is not None and place.path.endswith("pipes/sm_90.yaml")
    assert (place.line, place.column) == (line, column)


def test_faults_of_the_opcode_groups_name_their_own_file(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match=r"pipes/opcodes.yaml:1:9") as caught:
        load_pipes("sm_90", folder(tmp_path, opcodes=OPCODES.replace("[mine]", "[yours]")))
    assert 'unknown source "yours"' in str(caught.value)


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    folders = folder(tmp_path)
    (tmp_path / "pipes" / "sm_90.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(KnowledgeError, match="UTF-8"):
        load_pipes("sm_90", folders)


def instruction(text: str) -> Instruction:
    listing = parse_sass(f"\t.target\tsm_90\n\t.section\t.text.k\n.text.k:\n /*0000*/ {text} ;\n")
    return listing.functions[0].instructions[0]


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("FFMA R1, R2, R3, R4", {"fma": 1}),
        ("IMAD.WIDE R2, R3, R4, R6", {"fma": 2, "fma_heavy": 4}),
        ("MUFU.RCP R1, R2", {"xu": 8}),
        ("LDG.E.128 R4, desc[UR4][R2.64]", {"lsu": 4}),
        ("BAR.SYNC.DEFER_BLOCKING 0x0", {"adu": 8}),
        ("NOP", {}),
    ],
)
def test_costs_of_an_h200_are_those_measured(text: str, uses: dict[str, float]) -> None:
    pipes, architecture = load_pipes("sm_90", [SHIPPED]), load_architecture("sm_90", [SHIPPED])
    assert pipes is not None and architecture is not None
    table = load_instructions([SHIPPED])
    assert pipes.uses(instruction(text), table, architecture, None) == uses
