"""What the cubin says of itself equals what the vendor's tools print for it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kneck.parsers.cubin import read_cubin
from kneck.parsers.elf import HEADER, SECTION
from kneck.parsers.errors import KneckError
from kneck.parsers.resources import parse_resources
from kneck.parsers.tools import find_tool

ROOT = Path(__file__).parents[1]
CUBINS = sorted(ROOT.glob("kernels/cubin/*.cubin"))
# The vendor's tools take a quarter of a second per file, so a sample goes through them here;
# all 430 cubins of tests/kernels went through once, without a difference.
SAMPLE = [*CUBINS[:: max(1, len(CUBINS) // 15)], *sorted(ROOT.glob("parsers/data/*.cubin"))]
RESERVE = {"sm_90": 1024}
SMALL = ROOT / "parsers" / "data" / "bounds.sm_90.cubin"


def run(tool: str, *arguments: str) -> str:
    command = [find_tool(tool).path, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.name)
def test_figures_equal_those_of_res_usage(path: Path) -> None:
    cubin = read_cubin(path.read_bytes(), path.name, RESERVE)
    reserve = {cubin.arch: 1024 if any(r.smem_includes_reserve for r in cubin.records) else 0}
    usage = parse_resources(run("cuobjdump", "-res-usage", str(path)), "", reserve, cubin.arch)
    listed = {record.name: record for record in usage}
    assert {record.name for record in cubin.records} == set(listed)
    for record in cubin.records:
        other = listed[record.name]
        assert record.registers == other.registers
        assert record.stack == other.stack
        if record.is_entry:
            assert record.static_smem == other.static_smem
            assert record.constant == other.constant
            assert record.smem_includes_reserve == other.smem_includes_reserve


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.name)
def test_attributes_equal_those_of_the_elf_dump(path: Path) -> None:
    cubin = read_cubin(path.read_bytes(), path.name, RESERVE)
    dump = run("cuobjdump", "-elf", str(path))
    for record in cubin.records:
        found = re.search(
            rf"^\.nv\.info\.{re.escape(record.name)}\n(.*?)^\.", dump, re.MULTILINE | re.DOTALL
        )
        if not record.is_entry or not found:
            continue
        text = found[1]
        threads = re.search(r"EIATTR_(?:REQNTID|MAX_THREADS)\n.*\n\tValue:\t(.*)", text)
        expected = None
        if threads:
            x, y, z = (int(each, 16) for each in threads[1].split())
            expected = x * y * z
        assert record.max_threads == expected
        barriers = re.search(r"EIATTR_NUM_BARRIERS\n.*\n\tValue:\t(\w+)", text)
        flags = re.search(
            rf"PROGBITS +(\w+) .* \.text\.{re.escape(record.name)}$", dump, re.MULTILINE
        )
        assert flags
        in_section = int(flags[1], 16) >> 20  # where toolkits before 13 count them
        assert record.barriers == (int(barriers[1], 16) if barriers else in_section)
        parameters = re.findall(r"Ordinal : (0x\w+)\tOffset  : (0x\w+)\tSize    : (0x\w+)", text)
        by_ordinal = sorted((int(o, 16), int(at, 16), int(size, 16)) for o, at, size in parameters)
        assert record.parameters == tuple((at, size) for _, at, size in by_ordinal)
        base = re.search(r"EIATTR_PARAM_CBANK\n.*\n\tValue:\t\w+ (0x\w+)", text)
        assert record.parameter_base == (int(base[1], 16) & 0xFFFF if base else None)


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.name)
def test_the_architecture_is_the_one_the_listing_names(path: Path) -> None:
    cubin = read_cubin(path.read_bytes(), path.name)
    assert f"code for {cubin.arch}\n" in run("cuobjdump", "-sass", str(path))


@pytest.mark.parametrize("path", CUBINS[::3], ids=lambda path: path.name)
def test_figures_equal_those_of_the_build_log(path: Path) -> None:
    log = path.with_suffix(".log")
    if not log.is_file() or not log.stat().st_size:
        pytest.fail(f"{log.name} is missing beside its cubin")
    records = {each.name: each for each in read_cubin(path.read_bytes(), "x", RESERVE).records}
    for built in parse_resources(log.read_text(encoding="utf-8")):
        if built.is_entry:
            record = records[built.name]
            assert (record.registers, record.static_smem, record.barriers, record.arch) == (
                built.registers,
                built.static_smem,
                built.barriers,
                built.arch,
            )


def test_bounds_clusters_and_large_parameters_are_read() -> None:
    records = {r.name: r for r in read_cubin(SMALL.read_bytes(), "x", RESERVE).records}
    clustered = records["clustered"]
    assert clustered.max_threads == 256
    assert clustered.cluster == (2, 1, 1)
    assert clustered.parameters == ((0, 20000), (20000, 3), (20008, 8))
    assert clustered.parameter_base == 528
    assert (records["named_barrier"].barriers, records["named_barrier"].static_smem) == (6, 0)
    assert records["required"].required_block == (16, 8, 1)
    assert records["required"].max_threads == 128


def test_the_reserve_is_unknown_where_nothing_tells_it() -> None:
    record = next(r for r in read_cubin(SMALL.read_bytes(), "x").records if r.is_entry)
    assert record.static_smem is None
    assert record.smem_includes_reserve


def test_spills_are_not_in_a_cubin() -> None:
    for record in read_cubin(SMALL.read_bytes(), "x").records:
        assert (record.spill_stores, record.spill_loads) == (None, None)


@settings(max_examples=300)
@given(st.data())
def test_a_damaged_cubin_gives_records_or_a_named_error(data: st.DataObject) -> None:
    whole = bytearray(SMALL.read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.just(len(whole)), st.integers(0, len(whole))))
    try:
        read_cubin(bytes(whole[:cut]), "x.cubin", RESERVE)
    except KneckError as error:
        assert error.help


def test_sections_that_share_their_bytes_are_refused_before_they_are_read_one_by_one() -> None:
    data = SMALL.read_bytes()
    header = list(HEADER.unpack_from(data))
    table = data[header[6] : header[6] + header[12] * SECTION.size]
    more = [SECTION.pack(0, 1, 0, 0, 0, len(data), 0, 0, 1, 0)] * 100
    header[6], header[12] = len(data), header[12] + len(more)
    with pytest.raises(KneckError, match="overlap"):
        read_cubin(HEADER.pack(*header) + data[HEADER.size :] + table + b"".join(more), "x.cubin")


def test_names_that_share_their_bytes_are_refused_before_they_take_all_memory() -> None:
    data = SMALL.read_bytes()
    header = list(HEADER.unpack_from(data))
    table = [SECTION.unpack_from(data, header[6] + at * SECTION.size) for at in range(header[12])]
    names = table[header[13]]
    long = b"x" * (1 << 16)
    table[header[13]] = (*names[:4], len(data), len(long), *names[6:])
    table += [(0, 1, 0, 0, 0, 0, 0, 0, 1, 0)] * 4_000
    header[6], header[12] = len(data) + len(long), len(table)
    rows = b"".join(SECTION.pack(*row) for row in table)
    with pytest.raises(KneckError, match="names overlap"):
        read_cubin(HEADER.pack(*header) + data[HEADER.size :] + long + rows, "x.cubin")
