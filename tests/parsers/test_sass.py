"""Any real listing: the same instructions whatever tool and option printed them."""

from __future__ import annotations

import html
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kneck.facts.dep_steps import waited_scoreboards
from kneck.parsers.errors import KneckError
from kneck.parsers.listing import Function, Listing
from kneck.parsers.operand_tree import parse_by_grammar
from kneck.parsers.operands import parse_operand
from kneck.parsers.sass import branch_target, branch_targets, parse_sass, unknown_operands
from kneck.parsers.tools import find_tool

DATA = Path(__file__).parent / "data"
CUBIN = DATA / "switch.sm_86.cubin"
FATBIN = DATA / "switch.fatbin"


@cache
def printed(tool: str, *options: str, path: Path = CUBIN) -> str:
    command = [find_tool(tool).path, *options, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def reference() -> Listing:
    return parse_sass(printed("nvdisasm", "-c", "-hex"))


def instructions(function: Function, with_control: bool = True) -> Iterator[tuple[object, ...]]:
    for each in function.instructions:
        body = re.sub(r",\s*", ", ", each.text)
        yield each.address, body, each.control if with_control else None


SIMPLE = """\
	code for sm_86
		Function : simple
        /*0000*/                   MOV R1, c[0x0][0x28] ;    /* 0x00000a0000017a02 */
                                                             /* 0x000fe40000000f00 */
.L_x_0:
        /*0010*/               @P0 BRA `(.L_x_0) ;           /* 0xfffffff000007947 */
                                                             /* 0x000fea000383ffff */
"""


def test_an_instruction_knows_address_guard_names_operands_control_and_line() -> None:
    (function,) = parse_sass(SIMPLE, "simple.sass").functions
    assert (function.name, function.arch, function.line) == ("simple", "sm_86", 2)
    move, branch = function.instructions
    assert (move.address, move.predicate, move.mnemonic, move.line) == (0, None, "MOV", 3)
    assert move.control is not None and move.control.stall == 2
    assert [operand.kind for operand in move.operands] == ["register", "constant"]
    assert (move.operands[1].bank, move.operands[1].offset) == (0, 0x28)
    assert (branch.address, branch.predicate, branch.opcode) == (16, "P0", "BRA")
    assert branch.text == "@P0 BRA `(.L_x_0)"
    assert function.labels == {".L_x_0": 16}
    assert branch_target(branch, function) == 16


@pytest.mark.parametrize(
    ("options", "control"),
    [
        (("-c",), False),
        (("-hex",), True),
        ((), False),
        (("-c", "-hex", "-g"), True),
        (("-c", "-gi"), False),
        (("-gp",), False),
        (("-c", "-hex", "-sf"), True),
        (("-c", "-raw"), False),
        (("-c", "-novliw", "-hex"), True),
        (("-c", "-hex", "-sort"), True),
    ],
    ids=str,
)
def test_every_option_of_nvdisasm_gives_the_same_functions(
    options: tuple[str, ...], control: bool
) -> None:
    listing = parse_sass(printed("nvdisasm", *options))
    assert not listing.unknown_lines
    expected = {each.name: each for each in reference().functions}
    assert {each.name for each in listing.functions} == set(expected)
    for function in listing.functions:
        other = expected[function.name]
        assert list(instructions(function, control)) == list(instructions(other, control))
        assert (function.arch, function.is_entry) == ("sm_86", True)
        assert function.labels == other.labels
        assert function.has_control is control
        assert function.header["registers"] == other.header["registers"]


@pytest.mark.parametrize("mode", ["count", "narrow", "wide"])
def test_columns_of_register_life_ranges_are_passed_over(mode: str) -> None:
    listing = parse_sass(printed("nvdisasm", "-c", "-hex", "-plr", "-lrm", mode))
    for function, other in zip(listing.functions, reference().functions, strict=True):
        found, expected = list(instructions(function)), list(instructions(other))
        # in this mode nvdisasm leaves the padding behind the last jump out
        assert found == expected[: len(found)]
        assert all(text == "NOP" for _, text, _ in expected[len(found) :])


def test_cuobjdump_prints_the_same_instructions_with_absolute_targets() -> None:
    listing = parse_sass(printed("cuobjdump", "-sass"))
    expected = {each.name: each for each in reference().functions}
    for function in listing.functions:
        other = expected[function.name]
        assert function.is_entry is None  # this tool does not say
        assert len(function.instructions) == len(other.instructions)
        for mine, its in zip(function.instructions, other.instructions, strict=True):
            assert (mine.address, mine.mnemonic, mine.control) == (
                its.address,
                its.mnemonic,
                its.control,
            )
            if its.opcode in ("BRA", "CALL", "BSSY"):
                assert branch_target(mine, function) == branch_target(its, other)


def test_the_json_of_nvdisasm_counts_the_same() -> None:
    listing = parse_sass(printed("nvdisasm", "-json"))
    for function, other in zip(listing.functions, reference().functions, strict=True):
        assert list(instructions(function, False))[0] == list(instructions(other, False))[0]
        assert [i.mnemonic for i in function.instructions] == [
            i.mnemonic for i in other.instructions
        ]


def test_targets_of_an_indirect_branch_are_labels_of_the_function() -> None:
    function = reference().functions[0]
    indirect = next(each for each in function.instructions if each.opcode == "BRX")
    targets = branch_targets(indirect, function)
    assert len(targets) >= 3
    assert set(targets) <= {each.address for each in function.instructions}
    assert branch_target(indirect, function) is None


def test_a_call_names_the_start_of_the_function_it_calls() -> None:
    function = next(each for each in reference().functions if "Id" in each.name)
    calls = [each for each in function.instructions if each.opcode == "CALL"]
    assert calls
    addresses = {each.address for each in function.instructions}
    assert {branch_target(each, function) for each in calls} <= addresses


def test_a_fat_binary_gives_one_function_per_kernel_and_architecture() -> None:
    listing = parse_sass(printed("cuobjdump", "-sass", path=FATBIN))
    found = sorted({(each.arch, each.name) for each in listing.functions})
    assert {arch for arch, _ in found} == {"sm_80", "sm_86", "sm_90a"}
    assert len(found) == len(listing.functions) == 6


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: "# A listing\n\nSome words.\n\n```\n" + text + "```\n",
        lambda text: "".join("> " + line for line in text.splitlines(keepends=True)),
        lambda text: f"<html><body><pre>{html.escape(text)}</pre></body></html>",
        lambda text: "".join(
            f'<span class="l">{html.escape(line)}</span>\n' for line in text.splitlines()
        ),
        lambda text: "".join(line.rstrip() + "\n" for line in text.splitlines()),
    ],
    ids=["crlf", "cr", "blank lines", "markdown", "quoted", "pre", "spans", "trimmed"],
)
def test_what_stands_around_a_listing_does_not_matter(change: object) -> None:
    assert callable(change)
    listing = parse_sass(change(printed("nvdisasm", "-c", "-hex")))
    for function, other in zip(listing.functions, reference().functions, strict=True):
        assert list(instructions(function)) == list(instructions(other))
        assert function.labels == other.labels


def test_a_listing_without_any_header_is_read_and_its_architecture_stays_unknown() -> None:
    body = SIMPLE.split("\n", 2)[2]
    (function,) = parse_sass(body).functions
    assert (function.name, function.arch) == ("", "unknown")
    assert len(function.instructions) == 2


def test_the_flags_name_the_architecture_of_older_listings() -> None:
    text = SIMPLE.replace(
        "\tcode for sm_86\n",
        '\t.headerflags\t@"EF_CUDA_TEXMODE_UNIFIED EF_CUDA_64BIT_ADDRESS EF_CUDA_SM70"\n',
    )
    assert parse_sass(text).functions[0].arch == "sm_70"


def test_data_with_the_same_address_syntax_is_no_code() -> None:
    data = (
        '\t.section\t.nv.constant0.simple,"a",@progbits\n.nv.constant0.simple:\n'
        "        /*0000*/ \t.byte\t0x04, 0x2f\n        /*0004*/ \t.word\tindex@(simple)\n"
    )
    listing = parse_sass(SIMPLE + data)
    assert len(listing.functions) == 1
    assert not listing.unknown_lines


def test_an_unknown_opcode_is_kept_and_an_unknown_operand_form_is_counted() -> None:
    text = SIMPLE.replace("MOV R1, c[0x0][0x28]", "FROB.X2 R1, <7:R2>, R3, <7:R2>")
    (function,) = parse_sass(text).functions
    assert function.instructions[0].opcode == "FROB"
    assert [each.kind for each in function.instructions[0].operands] == [
        "register",
        "other",
        "register",
        "other",
    ]
    assert unknown_operands([function]) == {"<7:R2>": 2}


def test_a_line_with_an_address_that_is_no_instruction_is_listed() -> None:
    listing = parse_sass(SIMPLE + "        /*0020*/   ?? 0xdeadbeef\n")
    assert listing.unknown_lines == ((8, "/*0020*/   ?? 0xdeadbeef"),)


def test_a_bracketed_control_word_before_the_address_is_read() -> None:
    text = "\t.target\tsm_86\nk:\n[B0-----:R-:W2:Y:S04]  /*0000*/  LDG.E R2, [R4.64] ;\n"
    (instruction,) = parse_sass(text).functions[0].instructions
    assert instruction.control is not None
    assert (instruction.control.stall, instruction.control.wait_mask) == (4, 1)
    assert instruction.control.write_barrier == 2


TRITON = """\
Function:add_kernel
--:-:-:Y:2	MOV R1, c[0x0][0x28];
01:-:0:-:1	S2R R0, SR_TID.X;
--:-:-:Y:5	@P0 BRA LBB0;
--:-:-:-:a	FADD R2, R3, R4;
LBB0:
--:-:-:Y:5	EXIT;
"""


def test_triton_prints_no_addresses_and_labels_without_marks() -> None:
    (function,) = parse_sass(TRITON).functions
    assert [each.address for each in function.instructions] == [0, 16, 32, 48, 64]
    assert [each.control.stall for each in function.instructions if each.control] == [
        2,
        1,
        5,
        10,
        5,
    ]
    assert branch_target(function.instructions[2], function) == 64
    assert function.instructions[4].line == 7


GDB = """\
Dump of assembler code for function _Z5scalePfi:
   0x00007fffd9e9b300 <+0>:	MOV R1, c[0x0][0x28]
=> 0x00007fffd9e9b310 <+16>:	@P0 BRA 0x7fffd9e9b300
   0x00007fffd9e9b320 <+32>:	EXIT
End of assembler dump.
"""
PROFILE = """\
"Kernel Name","scale(float *, int)"
"#","Address","Source","Warp Stall Sampling (All Samples)"
"1","140736849359616","      MOV R1, c[0x0][0x28] ","3"
"2","140736849359632","@P0 BRA 0x7fffd9e9b300 ","0"
"3","140736849359648","      EXIT ","1"
"""


@pytest.mark.parametrize(("text", "name"), [(GDB, "_Z5scalePfi"), (PROFILE, "scale")])
def test_absolute_addresses_count_from_the_start_of_the_function(text: str, name: str) -> None:
    (function,) = parse_sass(text).functions
    assert function.name == name
    assert [each.address for each in function.instructions] == [0, 16, 32]
    assert branch_target(function.instructions[1], function) == 0
    assert function.instructions[1].predicate == "P0"


MAXWELL = """\
	code for sm_{number}
		Function : old
                                                  /* 0x001c4400fe0007f6 */
        /*0008*/                   MOV R1, c[0x0][0x20];  /* 0x4c98078000870001 */
        /*0010*/         {         MOV R0, R2 ;           /* 0x5c98078000270000 */
        /*0018*/                   S2R R2, SR_CTAID.X         }
                                                          /* 0xf0c8000002570002 */
"""


@pytest.mark.parametrize(
    ("number", "name"), [(35, "Kepler"), (50, "Maxwell"), (53, "Maxwell"), (61, "Pascal")]
)
def test_older_generations_are_refused_by_name(number: int, name: str) -> None:
    with pytest.raises(KneckError, match=f"sm_{number} is {name}") as caught:
        parse_sass(MAXWELL.replace("{number}", str(number)), "old.sass")
    assert caught.value.help


def test_older_code_is_told_by_its_form_where_no_header_names_it() -> None:
    with pytest.raises(KneckError, match="older generation .*Maxwell, Pascal"):
        parse_sass(MAXWELL.split("\n", 1)[1])


def test_one_old_architecture_among_others_does_not_stop_the_rest() -> None:
    listing = parse_sass(MAXWELL.replace("{number}", "61") + SIMPLE)
    assert [each.name for each in listing.functions] == ["simple"]
    assert listing.refused == ((2, "sm_61"),)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "the listing is empty"),
        ("\n \t\n", "the listing is empty"),
        (".version 8.0\n.target sm_80\n.visible .entry k()\n", "this is PTX"),
        ("#include <x.h>\n__global__ void k() {}\n", "this is CUDA source"),
        ("\x00\x01\x02", "not UTF-8"),
        ("the quick brown fox", "no SASS instruction found"),
        ("        /*0000*/   ???\n", "no line of this listing is a SASS instruction"),
    ],
)
def test_what_is_no_listing_is_refused_with_a_next_step(text: str, what: str) -> None:
    with pytest.raises(KneckError, match=re.escape(what)) as caught:
        parse_sass(text, "input.txt")
    assert caught.value.help
    assert str(caught.value.place).startswith("input.txt")


@given(st.text())
def test_any_text_gives_a_listing_or_a_named_error(text: str) -> None:
    try:
        parse_sass(text)
    except KneckError as error:
        assert error.help


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_listing_gives_a_listing_or_a_named_error(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([SIMPLE * 3, MAXWELL, TRITON, GDB, PROFILE]))
    cut = data.draw(st.integers(0, len(whole)))
    text = whole[:cut]
    for _ in range(data.draw(st.integers(0, 5))):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.characters(exclude_categories=["Cs"])) + text[at + 1 :]
    try:
        listing = parse_sass(text)
    except KneckError as error:
        assert error.help
    else:
        assert listing.functions


OPERAND_PIECES = ["R", "UR", "P", "0x", "1", "2.5", "e", "[", "]", "c", "desc", "+", "-", "|", "~"]
OPERAND_PIECES += ["!", ".64", ".reuse", "`(", ")", ".L_x_1", "@lo", "Z", "T", " ", "INF", "{", "}"]


@given(st.lists(st.sampled_from(OPERAND_PIECES), max_size=12).map("".join))
def test_any_operand_text_is_parsed_or_kept(text: str) -> None:
    body = text.replace(";", "")
    line = f"\tcode for sm_86\n\t\tFunction : k\n        /*0000*/  MOV R1, {body} ;\n"
    try:
        listing = parse_sass(line)
    except KneckError as error:
        assert error.help
    else:
        assert listing.functions[0].instructions[0].operands


@settings(max_examples=500)
@given(st.lists(st.sampled_from(OPERAND_PIECES), max_size=8).map("".join))
def test_an_operand_from_a_remembered_form_is_the_one_the_grammar_gives(text: str) -> None:
    # as text, because not-a-number differs from itself
    assert str(parse_operand(text)) == str(parse_by_grammar(text))


def test_a_wait_names_a_scoreboard_and_a_set_of_others() -> None:
    line = "        /*01b0*/                   DEPBAR.LE SB0, 0x0, {4,3,2,1} ;\n"
    (function,) = parse_sass("\tcode for sm_80\n\t\tFunction : f\n" + line).functions
    (wait,) = function.instructions
    assert [operand.kind for operand in wait.operands] == ["barrier", "immediate", "barrier"]
    assert wait.operands[2].text == "{4,3,2,1}"
    assert not unknown_operands([function])
    assert waited_scoreboards(wait) == 0b11111
