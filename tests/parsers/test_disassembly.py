"""Targets: every binary a CUDA engineer has, and one named error for everything else."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kneck.parsers import launch
from kneck.parsers.artifact import Artifact
from kneck.parsers.choose import choose_architecture, choose_name, select_function
from kneck.parsers.disassembly import read_target, start_disassembly
from kneck.parsers.errors import KneckError, MissingProgramError
from kneck.parsers.sass import parse_sass
from kneck.parsers.tools import find_tool, find_tools

DATA = Path(__file__).parent / "data"
CUBIN = DATA / "switch.sm_86.cubin"
FATBIN = DATA / "switch.fatbin"
FLOAT, DOUBLE = "_Z4pickIfLi256EEvPKT_PS0_il", "_Z4pickIdLi512EEvPKT_PS0_il"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNECK_CACHE_DIR", str(tmp_path / "cache"))


def failure(target: Path | str, **options: str) -> KneckError:
    with pytest.raises(KneckError) as caught:
        read_target(str(target), **options)  # type: ignore[arg-type]
    assert caught.value.help
    return caught.value


def test_a_cubin_gives_its_listing_its_figures_and_the_hash_of_its_content() -> None:
    artifact = read_target(str(CUBIN))
    assert (artifact.kind, artifact.architectures, artifact.kernel) == ("cubin", ("sm_86",), None)
    assert {each.name for each in artifact.listing.functions} == {FLOAT, DOUBLE}
    assert {each.name: each.static_smem for each in artifact.resources} == {
        FLOAT: 1024,
        DOUBLE: 4096,
    }
    assert len(artifact.sha256) == 64
    first = artifact.listing.functions[0].instructions[0]
    assert first.mnemonic in artifact.text.split("\n")[first.line - 1]


def test_the_text_of_a_cubin_says_the_same_as_the_cubin(tmp_path: Path) -> None:
    text = tmp_path / "switch.sass"
    artifact = read_target(str(CUBIN))
    text.write_text(artifact.text)
    again = read_target(str(text))
    assert again.kind == "text"
    assert again.listing.functions == artifact.listing.functions


def test_text_may_come_from_standard_input() -> None:
    artifact = read_target(str(CUBIN))
    piped = read_target("-", stdin=artifact.text)
    assert piped.path == "<stdin>"
    assert piped.listing.functions == artifact.listing.functions


def test_the_disassembler_runs_while_the_caller_does_something_else() -> None:
    handle = start_disassembly(str(CUBIN))
    assert isinstance(handle.result(), Artifact)


@pytest.mark.parametrize(
    ("options", "arch"),
    [
        ({"arch": "sm_80"}, "sm_80"),
        ({"arch": "sm_90a"}, "sm_90a"),
        ({"arch": "sm_90"}, "sm_90a"),
        ({"prefer": "sm_86"}, "sm_86"),
        ({"prefer": "sm_89"}, "sm_86"),
        ({"prefer": "sm_80"}, "sm_80"),
        ({"prefer": "sm_90"}, "sm_90a"),
        ({}, "sm_90a"),
    ],
)
def test_a_fat_binary_gives_the_wanted_code_or_what_the_device_runs(
    options: dict[str, str], arch: str
) -> None:
    artifact = read_target(str(FATBIN), kernel="double", **options)  # type: ignore[arg-type]
    assert artifact.architectures == ("sm_90a", "sm_80", "sm_86") or set(
        artifact.architectures
    ) == {"sm_80", "sm_86", "sm_90a"}
    assert {each.arch for each in artifact.listing.functions} == {arch}
    assert artifact.kernel == DOUBLE


def test_an_architecture_that_is_not_in_it_is_an_error_that_lists_what_is() -> None:
    error = failure(FATBIN, arch="sm_75")
    assert error.what == "there is no code for sm_75 in it"
    assert error.help == "there is code for sm_80, sm_86, sm_90a"
    assert failure(CUBIN, arch="sm_75").help == "there is code for sm_86"


@pytest.mark.parametrize(
    "name",
    [
        FLOAT,
        "void pick<float, 256>(float const*, float*, int, long)",
        "pick<float,256>",
        "pick<float, 256>",
        "float",
        "IfLi256",
    ],
)
def test_a_kernel_is_found_by_any_of_its_names(name: str) -> None:
    artifact = read_target(str(CUBIN), kernel=name)
    assert artifact.kernel == FLOAT
    assert select_function(artifact.listing, name).name == FLOAT


@pytest.mark.parametrize(
    ("name", "what"),
    [
        (None, "there are 2 kernels and none is named"),
        ("pick", '"pick" fits 2 kernels'),
        ("sgemm", 'there is no kernel "sgemm"'),
        ("\x1b[31m", 'there is no kernel "\\x1b[31m"'),
    ],
)
def test_no_kernel_or_several_is_an_error_that_lists_them(name: str | None, what: str) -> None:
    listing = read_target(str(CUBIN)).listing
    with pytest.raises(KneckError) as caught:
        select_function(listing, name)
    assert caught.value.what == what
    assert "pick<double, 512>" in (caught.value.help or "")


def test_names_from_a_file_cannot_drive_the_terminal() -> None:
    with pytest.raises(KneckError) as caught:
        choose_name(None, ["a\x1b[2J", "b"], "x")
    assert "\x1b" not in str(caught.value)


def test_a_listing_of_several_architectures_needs_one_of_them() -> None:
    text = "".join(
        f"\tcode for {arch}\n\t\tFunction : k\n        /*0000*/  EXIT ;\n"
        for arch in ("sm_80", "sm_86", "sm_90")
    )
    listing = parse_sass(text)
    assert select_function(listing, arch="sm_80").arch == "sm_80"
    assert select_function(listing, prefer="sm_86").arch == "sm_86"
    with pytest.raises(KneckError, match="no code for sm_75"):
        select_function(listing, arch="sm_75")


def test_code_for_one_chip_does_not_run_on_the_next_one() -> None:
    assert choose_architecture(["sm_90", "sm_100a"], None, "sm_103", "x") == "sm_100a"
    assert choose_architecture(["sm_100", "sm_100a"], None, "sm_103", "x") == "sm_100"
    assert choose_architecture(["sm_61", "sm_75"], None, "sm_61", "x") == "sm_75"


# ---- what is no target ----


def test_a_missing_file_names_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / "kernel.cubin").write_bytes(b"x")
    error = failure(tmp_path / "kernl.cubin")
    assert (error.what, error.help) == ("no such file", 'did you mean "kernel.cubin"?')


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "the file is empty"),
        (bytes(range(256)) * 8, "this is neither device code nor text"),
        ("code for sm_86 \xe9".encode("latin-1"), "the text is not UTF-8"),
        ("code for sm_86".encode("utf-16"), "the text is not UTF-8"),
        (b".version 8.7\n.target sm_86\n", "this is PTX, kneck reads SASS"),
        (b"__global__ void k() {}\n", "this is CUDA source, kneck reads SASS"),
        (b"\x7fELF" + bytes(100), "there is no CUDA device code in it"),
        (b"!<arch>\n", "cuobjdump cannot read it: Invalid fatbin header"),
        (b"\x1f\x8b" + bytes(10), "this is gzip"),
    ],
)
def test_a_file_of_another_kind_is_refused_by_name(
    content: bytes, what: str, tmp_path: Path
) -> None:
    path = tmp_path / "input.bin"
    path.write_bytes(content)
    error = failure(path)
    assert error.what == what
    assert str(error.place).startswith(str(path))


def test_a_wheel_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "package.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x", "y")
    assert failure(path).help == "unpack it first"


def test_more_text_than_memory_holds_is_refused_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kneck.parsers.targets.LARGEST_TEXT", 1 << 20)
    path = tmp_path / "large.sass"
    path.write_bytes(b" " * (3 << 20))
    error = failure(path)
    assert error.what == "the listing has 3 MB, and at most 1 MB are read"
    assert "--kernel" in (error.help or "")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert failure(tmp_path).what == "this is a folder"


def test_a_device_is_refused_and_not_read_for_ever() -> None:
    if os.path.exists("/dev/zero"):
        assert failure("/dev/zero").what == "this is a device, not a file"


def test_a_name_with_a_zero_byte_is_refused() -> None:
    assert failure("a\x00b").what.startswith("cannot read it")


def test_a_truncated_cubin_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.cubin"
    data = CUBIN.read_bytes()
    for size in (19, 60, 5000, len(data) - 100):
        path.write_bytes(data[:size])
        failure(path)


def patched(path: Path, sm: int) -> Path:
    """Write the cubin with another architecture in its flags."""
    data = bytearray(CUBIN.read_bytes())
    data[49] = sm
    path.write_bytes(bytes(data))
    return path


def test_a_cubin_of_an_old_generation_is_refused_by_name(tmp_path: Path) -> None:
    error = failure(patched(tmp_path / "old.cubin", 61))
    assert error.what == "sm_61 is Pascal, and kneck reads sm_70 and later"


def test_a_cubin_that_no_disassembler_here_knows_names_the_remedy(tmp_path: Path) -> None:
    error = failure(patched(tmp_path / "volta.cubin", 70))
    assert "no disassembler here reads this cubin of sm_70" in error.what
    assert error.help is not None
    assert "CUDA_HOME" in error.help and "SASS text" in error.help


def test_an_older_disassembler_in_cuda_home_is_asked_when_the_first_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "bin" / "nvdisasm"
    tool.parent.mkdir()
    tool.write_text(
        "#!/bin/sh\nprintf '\\t.target\\tsm_70\\n.text.k:\\n        /*0000*/  EXIT ;\\n'\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    artifact = read_target(str(patched(tmp_path / "volta.cubin", 70)))
    assert [each.arch for each in artifact.listing.functions] == ["sm_70"]


def test_without_a_disassembler_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", [])
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", "")
    for name in ("nvdisasm", "cuobjdump"):
        with pytest.raises(MissingProgramError) as caught:
            find_tool(name)
        assert caught.value.exit_status == 3
        assert f"pip install nvidia-cuda-{name}" in (caught.value.help or "")
        assert "SASS text" in (caught.value.help or "")
    with pytest.raises(MissingProgramError):
        read_target(str(CUBIN))


def test_the_package_comes_before_cuda_home_and_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "nvidia" / "cu13" / "bin"
    home, on_path = tmp_path / "home" / "bin", tmp_path / "path"
    for folder in (package, home, on_path):
        folder.mkdir(parents=True)
        (folder / "nvdisasm").write_text(f"#!/bin/sh\n# {folder}\n")
        (folder / "nvdisasm").chmod(0o755)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setenv("PATH", os.pathsep.join([str(on_path), "relative"]))
    assert [each.origin for each in find_tools("nvdisasm")] == ["package", "CUDA_HOME", "PATH"]


@pytest.mark.parametrize("name", ["a.sm_80.fatbin", "two\nlines", "-xelf", "\x1b[2J"])
def test_the_name_of_a_container_does_not_matter(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(FATBIN.read_bytes())
    artifact = read_target(name, kernel="float", arch="sm_86")
    assert {each.arch for each in artifact.listing.functions} == {"sm_86"}


def test_a_cubin_of_an_older_toolkit_says_the_same(tmp_path: Path) -> None:
    older = read_target(str(DATA / "switch.cuda12.sm_86.cubin"))
    newer = {each.name: each for each in read_target(str(CUBIN)).resources}
    assert {each.name for each in older.listing.functions} == {FLOAT, DOUBLE}
    for record in older.resources:
        other = newer[record.name]
        assert (record.arch, record.static_smem, record.barriers, record.max_threads) == (
            other.arch,
            other.static_smem,
            other.barriers,
            other.max_threads,
        )
        assert record.registers and record.parameters == other.parameters


def test_a_container_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.fatbin"
    path.write_bytes(FATBIN.read_bytes()[:3000])
    failure(path)


def test_a_container_with_ptx_only_says_so() -> None:
    error = failure(DATA / "ptx_only.fatbin")
    assert error.what == "there is PTX in it, but no machine code"


def test_a_hostile_file_name_is_no_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("--help").write_bytes(CUBIN.read_bytes())
    assert len(read_target("--help").listing.functions) == 2


def test_nothing_heavy_is_imported_to_start_a_disassembly() -> None:
    probe = (
        "import sys; import kneck.parsers.disassembly;"
        "heavy = {'lark', 'numpy', 'yaml', 'pydantic', 'networkx', 'rich', 'demangle', 'json',"
        " 'dataclasses', 'pathlib'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_a_damaged_cubin_gives_a_listing_or_a_named_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    monkeypatch.setattr(launch, "SHORTEST_LIMIT_S", 10)  # nvdisasm hangs on some of them
    whole = bytearray(CUBIN.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "damaged.cubin"
    path.write_bytes(bytes(whole))
    try:
        artifact = read_target(str(path))
    except KneckError as error:
        assert error.help
    else:
        assert artifact.listing.functions
