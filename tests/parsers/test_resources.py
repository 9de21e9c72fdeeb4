"""Resource logs: every trap of the real ones, and nothing but a record or a named error."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kneck.parsers.errors import KneckError
from kneck.parsers.listing import ResourceRecord
from kneck.parsers.resources import parse_resources

DATA = Path(__file__).parent / "data"
ADDED_FROM_SM_90_ON = {"sm_90": 1024, "sm_100": 1024, "sm_120": 1024}

ENTRY = """\
ptxas info    : 24 bytes gmem, 256 bytes cmem[3]
ptxas info    : Compiling entry function '_Z4workPf' for 'sm_86'
ptxas info    : Function properties for _Z4workPf
    64 bytes stack frame, 92 bytes spill stores, 96 bytes spill loads
ptxas info    : Used 42 registers, used 2 barriers, 4096 bytes smem, 360 bytes cmem[0], 8 bytes \
cmem[2]
ptxas info    : Compile time = 11.490 ms
"""


def only(text: str) -> ResourceRecord:
    (record,) = parse_resources(text, reserve_bytes=ADDED_FROM_SM_90_ON)
    return record


def by_name(text: str) -> dict[str, ResourceRecord]:
    return {r.name: r for r in parse_resources(text, reserve_bytes=ADDED_FROM_SM_90_ON)}


def figures(record: ResourceRecord) -> tuple[int | None, ...]:
    return (
        record.registers,
        record.static_smem,
        record.stack,
        record.spill_stores,
        record.spill_loads,
        record.barriers,
        record.constant,
    )


ENTRY_FIGURES = (42, 4096, 64, 92, 96, 2, 360)


def test_an_entry_of_a_ptxas_log_gives_every_figure() -> None:
    record = only(ENTRY)
    assert (record.name, record.arch, record.is_entry) == ("_Z4workPf", "sm_86", True)
    assert figures(record) == ENTRY_FIGURES
    assert record.constant_banks == ((0, 360), (2, 8))
    assert record.line == 2
    assert not record.smem_includes_reserve


def test_ptxas_leaves_out_shared_memory_that_is_zero() -> None:
    assert only(ENTRY.replace(" 4096 bytes smem,", "")).static_smem == 0


def test_a_log_without_barriers_leaves_them_unknown() -> None:
    assert only(ENTRY.replace(" used 2 barriers,", "")).barriers is None


def test_properties_of_a_device_function_between_do_not_touch_the_kernel() -> None:
    device = (
        "ptxas info    : Function properties for _Z6helperfi\n"
        "    16 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
    )
    lines = ENTRY.splitlines(keepends=True)
    records = by_name("".join(lines[:4]) + device + "".join(lines[4:]))
    assert figures(records["_Z4workPf"]) == ENTRY_FIGURES
    helper = records["_Z6helperfi"]
    assert (helper.is_entry, helper.arch, helper.registers) == (False, "sm_86", None)
    assert (helper.stack, helper.static_smem) == (16, None)


def test_properties_of_a_device_function_after_the_used_line_stay_its_own() -> None:
    device = (
        "ptxas info    : Function properties for _Z6helperfi\n"
        "    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    )
    assert figures(by_name(ENTRY + device)["_Z4workPf"]) == ENTRY_FIGURES


def test_properties_of_the_kernel_itself_may_follow_its_used_line() -> None:
    lines = ENTRY.splitlines(keepends=True)
    assert figures(only("".join([*lines[:2], lines[4], *lines[2:4]]))) == ENTRY_FIGURES


def test_a_warning_between_the_lines_of_a_record_changes_nothing() -> None:
    warning = "nvcc warning : The 'compute_70' architecture is deprecated\n"
    lines = ENTRY.splitlines(keepends=True)
    assert figures(only(warning.join(lines))) == ENTRY_FIGURES


@pytest.mark.parametrize("prefix", ["1>  ", "[3/40] ", "#14 12.51 ", "2026-01-01T08:00:00Z  | "])
def test_prefixes_of_build_systems_are_cut_off(prefix: str) -> None:
    assert figures(only("".join(prefix + x for x in ENTRY.splitlines(True)))) == ENTRY_FIGURES


def test_a_second_assembler_spells_its_name_otherwise() -> None:
    text = ENTRY.replace("ptxas info    :", "ptxas-blackwell info :").replace("sm_86", "sm_100a")
    assert (only(text).arch, figures(only(text))) == ("sm_100a", ENTRY_FIGURES)


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_ends_of_other_systems_are_read(ending: str) -> None:
    assert figures(only(ENTRY.replace("\n", ending))) == ENTRY_FIGURES


@pytest.mark.parametrize("width", [40, 50, 60, 72, 80])
def test_lines_wrapped_at_a_width_are_joined(width: int) -> None:
    name = "_Z4workIN7package5tuned9variationILi128ELi64EEEEvPKT_PS4_il"
    wrapped = []
    for line in ENTRY.replace("_Z4workPf", name).splitlines():
        wrapped += [line[i : i + width] for i in range(0, len(line), width)]
    record = only("\n".join(wrapped))
    assert (record.name, figures(record)) == (name, ENTRY_FIGURES)


@pytest.mark.parametrize(
    "name",
    [
        "void work<float, 256>(float const*, float*, int)",
        "(anonymous namespace)::work<(bool)1, std::pair<int, char> >(std::pair<int, char>*)",
        "foo::{lambda(int, float)#1}::operator()(int, float) const",
        "_QMsolverPstep_kernel",
        "_RNvCs4fqI2P2rA04_6kernel4main",
        "module_solver_step_123_gpu",
        "$weird$name",
    ],
)
def test_a_name_may_be_anything_a_demangler_or_another_language_writes(name: str) -> None:
    record = only(ENTRY.replace("_Z4workPf", name))
    assert (record.name, figures(record)) == (name, ENTRY_FIGURES)
    usage = f" Function {name}:\n  REG:24 STACK:8 SHARED:0 LOCAL:0 CONSTANT[0]:384 TEXTURE:0\n"
    assert (only(usage).name, only(usage).stack) == (name, 8)


def test_a_negative_spill_count_is_unknown_and_not_a_number() -> None:
    record = only(ENTRY.replace("92 bytes spill stores", "-4 bytes spill stores"))
    assert (record.spill_stores, record.spill_loads, record.registers) == (None, 96, 42)


def test_one_log_may_hold_several_architectures() -> None:
    records = parse_resources(ENTRY + ENTRY.replace("sm_86", "sm_90").replace("42 reg", "40 reg"))
    assert [(r.arch, r.registers) for r in records] == [("sm_86", 42), ("sm_90", 40)]


def test_the_same_record_twice_counts_once_and_another_build_of_it_does_not() -> None:
    assert len(parse_resources(ENTRY + ENTRY)) == 1
    assert len(parse_resources(ENTRY + ENTRY.replace("42 reg", "40 reg"))) == 2


RES_USAGE = """
Fatbin elf code:
================
arch = {arch}
code version = [1,8]
host = linux
compile_size = 64bit

Resource usage:
 Common:
  GLOBAL:24 CONSTANT[3]:256
 Function _Z4workPf:
  REG:24 STACK:64 SHARED:{shared} LOCAL:0 CONSTANT[2]:28 CONSTANT[0]:560 TEXTURE:0 SURFACE:0
 Function helper:
  REG:0 STACK:UNKNOWN SHARED:0 LOCAL:0 TEXTURE:0 SURFACE:0 SAMPLER:0
"""


@pytest.mark.parametrize(
    ("arch", "shared", "declared", "includes"),
    [
        ("sm_86", 5120, 5120, False),
        ("sm_90", 5120, 4096, True),
        ("sm_90a", 5120, 4096, True),
        ("sm_120", 1024, 0, True),
        ("sm_90", 0, 0, False),
    ],
)
def test_the_reserve_that_the_tool_adds_is_taken_off(
    arch: str, shared: int, declared: int, includes: bool
) -> None:
    record = by_name(RES_USAGE.format(arch=arch, shared=shared))["_Z4workPf"]
    assert (record.arch, record.static_smem) == (arch, declared)
    assert record.smem_includes_reserve is includes


def test_spills_that_show_as_stack_only_stay_unknown() -> None:
    record = by_name(RES_USAGE.format(arch="sm_86", shared=0))["_Z4workPf"]
    assert (record.stack, record.spill_stores, record.spill_loads) == (64, None, None)


def test_no_register_count_and_an_unknown_stack_are_no_figures() -> None:
    record = by_name(RES_USAGE.format(arch="sm_86", shared=0))["helper"]
    assert (record.registers, record.stack) == (None, None)


def test_the_caller_may_name_the_architecture_of_a_bare_cubin() -> None:
    bare = " Function k:\n  REG:24 STACK:0 SHARED:5120 LOCAL:0 CONSTANT[0]:560\n"
    (record,) = parse_resources(bare, reserve_bytes=ADDED_FROM_SM_90_ON, arch="sm_90")
    assert (record.arch, record.static_smem) == ("sm_90", 4096)


def test_the_linker_has_the_last_word_and_keeps_the_spills_of_the_assembler() -> None:
    text = (DATA / "link-two-architectures.log").read_text(encoding="utf-8")
    records = {
        (r.name, r.arch): r for r in parse_resources(text, reserve_bytes=ADDED_FROM_SM_90_ON)
    }
    work = records["_Z4workIdLi512EEvPKT_PS0_il", "sm_90"]
    assert (work.registers, work.static_smem, work.stack, work.barriers) == (32, 4096, 32, 1)
    assert work.smem_includes_reserve
    assert records["_Z6cappedPf", "sm_90"].spill_stores == 792
    assert records["_Z4workIdLi512EEvPKT_PS0_il", "sm_86"].static_smem == 4096


def test_log_and_res_usage_of_one_program_agree() -> None:
    log = (DATA / "link-two-architectures.log").read_text(encoding="utf-8")
    usage = (DATA / "res-usage-two-architectures.txt").read_text(encoding="utf-8")
    from_log = parse_resources(log, reserve_bytes=ADDED_FROM_SM_90_ON)
    listed = {
        (r.name, r.arch): r for r in parse_resources(usage, reserve_bytes=ADDED_FROM_SM_90_ON)
    }
    entries = [r for r in from_log if r.is_entry]
    assert len(entries) == 8
    for record in entries:
        other = listed[record.name, record.arch]
        assert other.is_entry
        assert (other.registers, other.static_smem) == (record.registers, record.static_smem)
        assert (other.stack, other.constant) == (record.stack, record.constant)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "the resource log is empty"),
        (" \n\n", "the resource log is empty"),
        ("make: Nothing to be done for 'all'.\n", "no resource usage found"),
        ("Function foo is deprecated:\n", "no resource usage found"),
    ],
)
def test_what_holds_no_record_is_refused(text: str, what: str) -> None:
    with pytest.raises(KneckError, match=what):
        parse_resources(text, "build.log")


@given(st.text())
def test_any_text_gives_records_or_a_named_error(text: str) -> None:
    try:
        parse_resources(text)
    except KneckError as error:
        assert error.help


@given(st.data())
def test_a_damaged_log_gives_records_or_a_named_error(data: st.DataObject) -> None:
    whole = ENTRY + RES_USAGE.format(arch="sm_90", shared=5120)
    cut = data.draw(st.integers(0, len(whole)))
    at = data.draw(st.integers(0, max(0, cut - 1)))
    char = data.draw(st.characters())
    text = whole[:at] + char + whole[at + 1 : cut]
    try:
        records = parse_resources(text)
    except KneckError as error:
        assert error.help
    else:
        assert records
