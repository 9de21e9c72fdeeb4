"""Every error: exit status and message, nothing on standard output, no output file.

The messages stand here as a user reads them. Files are made in a folder of their own, which is the
working folder, so that messages name short paths.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import kneck
from kneck.parsers import tools

from .cases import KERNELS, ROOT, cubin, run

FATBIN = ROOT / "tests" / "parsers" / "data" / "switch.fatbin"  # sm_80, sm_86 and sm_90a
PTX = """\
.version 8.0
.target sm_86
.address_size 64
.visible .entry f() { ret; }
"""
DAMAGED_RULE = """\
- id: broken
  title: A rule that names a fact that does not exist
  status: hypothesis
  why: It is wrong.
  action: None.
  when: [tile.ration > 5]
  wrong_when: [always]
  experiment: None.
  source: this test
  evidence: [none]
  tests:
    - {given: {tile.ratio: 6}, fires: true}
    - {given: {tile.ratio: 4}, fires: false}
"""


@pytest.fixture(scope="module")
def listing(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give the SASS text of saxpy, as cuobjdump prints it."""
    tool = tools.find_tool("cuobjdump")
    command = [tool.path, "-sass", str(cubin("saxpy"))]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, listing: str) -> Path:
    """Make every file that the table names."""
    folder = tmp_path_factory.mktemp("errors")
    for name in ("saxpy", "two_kernels", "hgemm_30k"):
        shutil.copy(KERNELS / "cubin" / f"{name}.sm_86.cubin", folder / f"{name}.cubin")
    whole = cubin("saxpy").read_bytes()
    (folder / "cut.cubin").write_bytes(whole[:3000])
    (folder / "empty.cubin").write_bytes(b"")
    (folder / "noise.bin").write_bytes(bytes(range(1, 256)) + b"\0" * 100)
    (folder / "kernel.ptx").write_text(PTX)
    (folder / "kernel.txt").write_text("#include <cstdio>\n__global__ void f() {}\n")
    (folder / "words.txt").write_text("hello\nworld\n")
    (folder / "utf16.sass").write_bytes(listing.encode("utf-16"))
    (folder / "latin.sass").write_bytes(b"\tcode for sm_86\n\xe9\n")
    (folder / "pascal.sass").write_text(listing.replace("sm_86", "sm_61").replace("SM86", "SM61"))
    (folder / "saxpy.sass").write_text(listing)
    shutil.copy(FATBIN, folder / "switch.fatbin")
    (folder / "library.whl").write_bytes(b"PK\x03\x04 and so on")
    (folder / "folder").mkdir()
    (folder / "folder.cu").mkdir()
    (folder / "ok.cu").write_text("__global__ void f(float* a) { a[0] = 1; }\n")
    (folder / "bad.cu").write_text("__global__ void f() { return 1 }\n")
    (folder / "empty.cu").write_text("")
    (folder / "other.json").write_text("{}")
    (folder / "overlay" / "strategies").mkdir(parents=True)
    (folder / "overlay" / "strategies" / "broken.yaml").write_text(DAMAGED_RULE)
    return folder


@pytest.fixture
def here(files: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in the folder of the files, and check that no command leaves a file in it."""
    monkeypatch.chdir(files)
    before = sorted(files.rglob("*"))
    yield files
    assert sorted(files.rglob("*")) == before


@dataclass(frozen=True)
class Case:
    """A command line, its exit status and what it says on standard error."""

    args: tuple[str, ...]
    says: str
    status: int = 2


def infer(*args: str, says: str, status: int = 2) -> Case:
    return Case(("infer", *args), says, status)


TARGETS = {
    "no such file": infer(
        "saxpi.cubin",
        says="""\
error: no such file
  --> saxpi.cubin
  help: did you mean "saxpy.cubin"?
""",
    ),
    "no file named": infer(
        "",
        says="""\
error: no file is named
  help: give a cubin, an object or library that nvcc built, or SASS text
""",
    ),
    "empty file": infer(
        "empty.cubin",
        says="""\
error: the file is empty
  --> empty.cubin
  help: give a cubin, an object or library that nvcc built, or SASS text
""",
    ),
    "folder": infer(
        "folder",
        says="""\
error: this is a folder
  --> folder
  help: name a file in it, or: kneck scan
""",
    ),
    "device": infer(
        os.devnull,
        says=f"""\
error: this is a device, not a file
  --> {os.devnull}
  help: give a cubin, an object or library that nvcc built, or SASS text
""",
    ),
    "PTX": infer(
        "kernel.ptx",
        says="""\
error: this is PTX, kneck reads SASS
  --> kernel.ptx:1
  help: assemble it first: ptxas -arch=ARCH FILE.ptx -o FILE.cubin, and give the cubin
""",
    ),
    "CUDA source under another name": infer(
        "kernel.txt",
        says="""\
error: this is CUDA source, kneck reads SASS
  --> kernel.txt:1
  help: compile it: nvcc -cubin -arch=ARCH -o FILE.cubin SOURCE, and give the cubin
""",
    ),
    "truncated cubin": infer(
        "cut.cubin",
        says="""\
error: the cubin is damaged or cut off (its tables do not fit into its 3000 bytes)
  --> cut.cubin
  help: build it again, or copy it again in binary mode
""",
    ),
    "noise": infer(
        "noise.bin",
        says="""\
error: this is neither device code nor text
  --> noise.bin
  help: give a cubin, an object or library that nvcc built, or SASS text
""",
    ),
    "text that is no listing": infer(
        "words.txt",
        says="""\
error: no SASS instruction found; the text starts with 'hello'
  --> words.txt:1
  help: make one with: cuobjdump -sass FILE > FILE.sass, or nvdisasm -c -hex FILE.cubin
""",
    ),
    "UTF-16": infer(
        "utf16.sass",
        says="""\
error: the text is not UTF-8
  --> utf16.sass
  help: write the listing again as UTF-8 (PowerShell: ... | Out-File -Encoding utf8 FILE)
""",
    ),
    "Latin-1": infer(
        "latin.sass",
        says="""\
error: the text is not UTF-8
  --> latin.sass:2
  help: write the listing again as UTF-8 (PowerShell: ... | Out-File -Encoding utf8 FILE)
""",
    ),
    "Pascal": infer(
        "pascal.sass",
        says="""\
error: sm_61 is Pascal, and kneck reads sm_70 and later
  --> pascal.sass:5
  help: compile for sm_70 or later: nvcc -cubin -arch=ARCH
""",
    ),
    "wheel": infer(
        "library.whl",
        says="""\
error: this is a zip file or wheel
  --> library.whl
  help: unpack it first
""",
    ),
    "nothing on standard input": infer(
        "-",
        says="""\
error: the listing is empty
  --> <stdin>
  help: make one with: cuobjdump -sass FILE > FILE.sass, or nvdisasm -c -hex FILE.cubin
""",
    ),
    "fat binary without the architecture": infer(
        "switch.fatbin", "--arch", "sm_75",
        says="""\
error: there is no code for sm_75 in it
  --> switch.fatbin
  help: there is code for sm_80, sm_86, sm_90a
""",
    ),
    "cubin of another architecture": infer(
        "saxpy.cubin", "--arch", "sm_90",
        says="""\
error: there is no code for sm_90 in it
  --> saxpy.cubin
  help: there is code for sm_86
""",
    ),
    "several kernels": infer(
        "two_kernels.cubin",
        says="""\
error: there are 2 kernels and none is named
  --> two_kernels.cubin
  help: add --kernel NAME; there are: void blas::scale<float, 4>(float*, float, int); dot_partial
""",
    ),
    "a name that fits several kernels": infer(
        "two_kernels.cubin", "--kernel", "a",
        says="""\
error: "a" fits 2 kernels
  --> two_kernels.cubin
  help: name one in full: void blas::scale<float, 4>(float*, float, int); dot_partial
""",
    ),
    "unknown kernel": infer(
        "two_kernels.cubin", "--kernel", "dot_partiel",
        says="""\
error: there is no kernel "dot_partiel"
  --> two_kernels.cubin
  help: did you mean "dot_partial"?
""",
    ),
    "unknown example": infer(
        "example:saxpi",
        says="""\
error: no example "saxpi"
  help: did you mean "saxpy"?
""",
    ),
}  # fmt: skip

OPTIONS = {
    "unknown device": infer(
        "saxpy.cubin", "--gpu", "rtx-3070ti",
        says="""\
error: unknown device "rtx-3070ti"
  help: did you mean "rtx-3070-ti"?
""",
    ),
    "a device that cannot run the code": infer(
        "saxpy.cubin", "--gpu", "h100",
        says="""\
error: H100 SXM5 80GB is sm_90 and cannot run code for sm_86
  help: name a device for sm_86 with --gpu, or build for sm_90
""",
    ),
    "unknown problem": infer(
        "saxpy.cubin", "--problem", "gem:M=1",
        says="""\
error: unknown problem "gem"
  help: did you mean "gemm"?
""",
    ),
    "empty problem": infer(
        "saxpy.cubin", "--problem", "",
        says="""\
error: the problem is empty
  help: write gemm:M=4096,N=4096,K=4096,dtype=f16
""",
    ),
    "missing dimension": infer(
        "saxpy.cubin", "--problem", "gemm:M=1",
        says="""\
error: gemm needs N (columns of B and C)
  help: add N=VALUE
""",
    ),
    "negative dimension": infer(
        "saxpy.cubin", "--problem", "gemm:M=-5,N=1,K=1",
        says="""\
error: M: -5 is negative
  help: give 1 or more
""",
    ),
    "dimension of zero": infer(
        "saxpy.cubin", "--problem", "gemm:M=0,N=1,K=1",
        says="""\
error: M: 0 is below 1
  help: give 1 or more
""",
    ),
    "half a row": infer(
        "saxpy.cubin", "--problem", "gemm:M=1.5,N=1,K=1",
        says="""\
error: M: 1.5 is not a whole number
  help: give a whole number
""",
    ),
    "dimension that is NaN": infer(
        "saxpy.cubin", "--problem", "gemm:M=nan,N=1,K=1",
        says="""\
error: M: nan is not a number
  help: give a finite number
""",
    ),
    "dimension that is infinite": infer(
        "saxpy.cubin", "--problem", "gemm:M=inf,N=1,K=1",
        says="""\
error: M: inf is not a number
  help: give a finite number
""",
    ),
    "division by zero": infer(
        "saxpy.cubin", "--problem", "gemm:M=1/0,N=1,K=1",
        says="""\
error: M=1/0 is not a number
  help: give a finite number
""",
    ),
    "a formula that is no formula": infer(
        "saxpy.cubin", "--problem", "custom:flops=import os,bytes=3",
        says="""\
error: flops=import os is no formula: "os" does not fit here
    import os
           ^
  help: write numbers, dimensions, + - * / ( )
""",
    ),
    "a formula in Python's spelling": infer(
        "saxpy.cubin", "--problem", "gemm:M=2**12,N=1,K=1",
        says="""\
error: M=2**12 is no formula: "*" does not fit here
    2**12
      ^
  help: write ^ for a power
""",
    ),
    "dimensions that need each other": infer(
        "saxpy.cubin", "--problem", "gemm:M=N,N=M,K=1",
        says="""\
error: M depends on itself: M -> N -> M
  help: give M a number
""",
    ),
    "unknown dimension": infer(
        "saxpy.cubin", "--problem", "gemm:M=1,N=1,K=1,Q=3",
        says="""\
error: gemm has no dimension "Q"
  help: known: K, M, N, acc, batch, dtype, out
""",
    ),
    "unknown element type": infer(
        "saxpy.cubin", "--problem", "gemm:M=1,N=1,K=1,dtype=f17",
        says="""\
error: dtype: unknown element type "f17"
  help: did you mean "f16"?
""",
    ),
    "a dimension given twice": infer(
        "saxpy.cubin", "--problem", "gemm:M=1,M=2,N=1,K=1",
        says="""\
error: M is given twice in --problem
  help: keep one of the two
""",
    ),
    "a block of 0": infer(
        "saxpy.cubin", "--block", "0",
        says="""\
error: --block 0: not one to three sizes of at least 1
  help: write --block 32,32
""",
    ),
    "a block that is no number": infer(
        "saxpy.cubin", "--block", "1.5",
        says="""\
error: --block 1.5: not one to three sizes of at least 1
  help: write --block 32,32
""",
    ),
    "a block of four axes": infer(
        "saxpy.cubin", "--block", "1,2,3,4",
        says="""\
error: --block 1,2,3,4: not one to three sizes of at least 1
  help: write --block 32,32
""",
    ),
    "a block above 1,024 threads": infer(
        "saxpy.cubin", "--block", "32,32,2",
        says="""\
error: --block 32,32,2: a block of 2048 threads cannot be launched
  help: give 1 to 1024 threads per block
""",
    ),
    "a block above 1,024 threads where the registers are not known": infer(
        "saxpy.sass", "--block", "1025",
        says="""\
error: --block 1025: a block of 1025 threads cannot be launched
  help: give 1 to 1024 threads per block
""",
    ),
    "a grid above the limit of its axis": infer(
        "saxpy.cubin", "--grid", "1,65536",
        says="""\
error: --grid 1,65536: a grid of 65,536 blocks in y cannot be launched
  help: give at most 65,535 blocks in y
""",
    ),
    "fewer arguments than the kernel takes": infer(
        "saxpy.cubin", "--args", "i32=1000, f32=2",
        says="""\
error: the kernel takes 4 arguments, --args gives 2
  --> --args
  help: parameter sizes in bytes, in order: 8, 8, 4, 4
""",
    ),
    "an argument of another size than the kernel's": infer(
        "saxpy.cubin", "--args", "f32[1000], f32[1000], f64=2, i32=1000",
        says="""\
error: argument 3 of the kernel has 4 bytes, "f64=2" has 8
  --> --args:1:23
  help: parameter sizes in bytes, in order: 8, 8, 4, 4
""",
    ),
    "a negative grid": infer(
        "saxpy.cubin", "--grid", "-1",
        says="""\
error: --grid -1: not one to three sizes of at least 1
  help: write --grid 32,32
""",
    ),
    "negative shared memory": infer(
        "saxpy.cubin", "--block", "256", "--dynamic-smem", "-1",
        says="""\
error: --dynamic-smem -1 is negative
  help: give 0 or more bytes
""",
    ),
    "a carve-out above 100 %": infer(
        "saxpy.cubin", "--carveout", "101",
        says="""\
error: --carveout 101 is not a percentage
  help: give 0 to 100
""",
    ),
    "a negative time": infer(
        "saxpy.cubin", "--time-ms", "-1",
        says="""\
error: --time-ms -1 is not a time
  help: give the kernel time in ms, more than 0
""",
    ),
    "a time that is NaN": infer(
        "saxpy.cubin", "--time-ms", "nan",
        says="""\
error: --time-ms nan is not a time
  help: give the kernel time in ms, more than 0
""",
    ),
    "an infinite time": infer(
        "saxpy.cubin", "--time-ms", "inf",
        says="""\
error: --time-ms inf is not a time
  help: give the kernel time in ms, more than 0
""",
    ),
    "a time that is no number": infer(
        "saxpy.cubin", "--time-ms", "abc",
        says="""\
error: invalid value for '--time-ms': 'abc' is not a valid float
  help: kneck infer --help
""",
    ),
    "nothing expected": infer(
        "saxpy.cubin", "--expect", "0",
        says="""\
error: --expect 0 is not a share in percent
  help: give more than 0, up to 100
""",
    ),
    "more than everything expected": infer(
        "saxpy.cubin", "--expect", "101",
        says="""\
error: --expect 101 is not a share in percent
  help: give more than 0, up to 100
""",
    ),
    "an unknown value of an option": infer(
        "saxpy.cubin", "--peaks", "sparse",
        says="""\
error: invalid value for '--peaks': 'sparse' is not one of 'dense', 'published', 'measured'
  help: kneck infer --help
""",
    ),
    "unknown option": infer(
        "saxpy.cubin", "--blok", "256",
        says="""\
error: there is no option --blok
  help: did you mean --block or --build or --kb? see kneck infer --help
""",
    ),
    "no target": infer(
        says="""\
error: missing argument 'TARGET'
  help: kneck infer --help
""",
    ),
    "what if nothing": infer(
        "saxpy.cubin", "--what-if", "smem.per_block",
        says="""\
error: --what-if smem.per_block: no assignment
  help: write --what-if NAME=VALUE
""",
    ),
    "what if of an unknown fact": infer(
        "saxpy.cubin", "--what-if", "smem.per_blok=1",
        says="""\
error: --what-if: unknown fact "smem.per_blok"
  help: did you mean "smem.per_block"?
""",
    ),
    "what if of no number": infer(
        "saxpy.cubin", "--what-if", "baseline.time_ms=nan",
        says="""\
error: --what-if baseline.time_ms=nan: not a number
  help: write a number
""",
    ),
    "what if of a claim": infer(
        "saxpy.cubin", "--what-if", "smem.over_cliff=maybe",
        says="""\
error: --what-if smem.over_cliff=maybe: not true or false
  help: write one of them
""",
    ),
    "fail on half a condition": infer(
        "saxpy.cubin", "--fail-on", "bound ==",
        says="""\
error: the expression ends where a value or a closing bracket should follow
    bound ==
            ^
  --> --fail-on:1:9
  help: write NAME > VALUE
""",
    ),
    "fail on a number": infer(
        "saxpy.cubin", "--fail-on", "kernel.instructions + 1",
        says="""\
error: --fail-on kernel.instructions + 1: this is no condition
  help: write NAME > VALUE
""",
    ),
    "fail on an unknown fact": infer(
        "saxpy.cubin", "--fail-on", "kernel.instruction > 1",
        says="""\
error: --fail-on: there is no fact "kernel.instruction"
  help: did you mean "kernel.instructions"?
""",
    ),
    "fail on a fact that is missing": infer(
        "saxpy.cubin", "--fail-on", "baseline.time_ms > 1",
        says="""\
error: --fail-on cannot be decided: baseline.time_ms is not known, no time was given
  help: kneck facts TARGET lists what is known
""",
    ),
    "no resource log": infer(
        "saxpy.cubin", "--resources", "words.txt",
        says="""\
error: no resource usage found; the text starts with 'hello'
  --> words.txt:1
  help: make one with: nvcc --resource-usage ..., ptxas -v ..., or cuobjdump -res-usage FILE
""",
    ),
}  # fmt: skip

OUTPUTS = {
    "a folder that does not exist": infer(
        "saxpy.cubin", "-o", "nowhere/report.txt",
        says="""\
error: cannot write the output: No such file or directory
  --> nowhere/report.txt
  help: choose a folder that exists and can be written, with -o FILE
""",
    ),
    "below a file": infer(
        "saxpy.cubin", "-o", "saxpy.cubin/report.txt",
        says="""\
error: cannot write the output: Not a directory
  --> saxpy.cubin/report.txt
  help: choose a folder that exists and can be written, with -o FILE
""",
    ),
    "a folder": infer(
        "saxpy.cubin", "-o", "folder",
        says="""\
error: the output is a folder
  --> folder
  help: name a file in it
""",
    ),
    "no name": infer(
        "saxpy.cubin", "-o", "",
        says="""\
error: no output file is named
  help: name one after -o, or leave -o out
""",
    ),
    "unknown format": infer(
        "saxpy.cubin", "--format", "xml",
        says="""\
error: invalid value for '--format': 'xml' is not one of 'text', 'markdown', 'json', 'html'
  help: kneck infer --help
""",
    ),
    "graph of unknown kind": infer(
        "saxpy.cubin", "--graph", "graph.xyz",
        says="""\
error: the graph has no known ending
  --> graph.xyz
  help: end the name in .dot, .mmd, .graphml, .svg
""",
    ),
}  # fmt: skip

KNOWLEDGE = {
    "no such knowledge folder": infer(
        "saxpy.cubin", "--kb", "nowhere",
        status=4,
        says="""\
error: the knowledge folder "nowhere" does not exist
  --> nowhere
  help: give a folder of rule files
""",
    ),
    "a knowledge folder that is a file": infer(
        "saxpy.cubin", "--kb", "saxpy.sass",
        status=4,
        says="""\
error: the knowledge folder "saxpy.sass" is not a folder
  --> saxpy.sass
  help: give a folder of rule files
""",
    ),
    "a wrong rule": infer(
        "saxpy.cubin", "--kb", "overlay",
        status=4,
        says="""\
error: unknown fact "tile.ration"
  --> overlay/strategies/broken.yaml:6:10
  help: did you mean "tile.ratio"?
""",
    ),
    "a wrong rule, checked": Case(
        ("kb", "check", "overlay"),
        """\
error: unknown fact "tile.ration"
  --> overlay/strategies/broken.yaml:6:10
  help: did you mean "tile.ratio"?
1 fault found
""",
        1,
    ),
    "an unknown rule": Case(
        ("kb", "show", "cp-async"),
        """\
error: no rule "cp-async"
  help: did you mean "cp-async-agreed"?
""",
    ),
}  # fmt: skip

COMMANDS = {
    "unknown command": Case(
        ("infre",),
        """\
error: no command "infre"
  help: did you mean "infer"?
""",
    ),
    "a saved diagnosis that is none": Case(
        ("explain", "--from", "other.json"),
        """\
error: this is no kneck.diagnosis/1 document
  --> other.json
  help: write it with kneck infer --format json
""",
    ),
    "a saved diagnosis that does not exist": Case(
        ("explain", "--from", "nothing.json"),
        """\
error: no such file or directory
  --> nothing.json
  help: give a file that `infer --format json` wrote
""",
    ),
    "a saved diagnosis that is no JSON": Case(
        ("explain", "--from", "words.txt"),
        """\
error: this is not JSON: Expecting value: line 1 column 1 (char 0)
  --> words.txt
  help: write it anew with kneck
""",
    ),
    "occupancy of an unknown architecture": Case(
        ("occupancy", "--arch", "sm_99", "--registers", "64", "--block", "256"),
        """\
error: no architecture "sm_99"; kb/architectures has sm_70, sm_75, sm_80, sm_86, sm_87, sm_89, \
sm_90, sm_100, sm_103, sm_120, sm_121
  help: did you mean "sm_90"? To add one: CONTRIBUTING.md, Adding an architecture
""",
    ),
    "occupancy of no threads": Case(
        ("occupancy", "--arch", "sm_86", "--registers", "64", "--block", "0"),
        """\
error: a block of 0 threads cannot be launched
  help: give 1 to 1024 threads per block
""",
    ),
    "occupancy of negative registers": Case(
        ("occupancy", "--arch", "sm_86", "--registers", "-1", "--block", "32"),
        """\
error: registers per thread: -1 is negative
  help: give 0 or more
""",
    ),
    "occupancy without registers": Case(
        ("occupancy", "--arch", "sm_86", "--block", "32"),
        """\
error: missing option '--registers'
  help: kneck occupancy --help
""",
    ),
}

BUILDS = {
    "no source": infer(
        "none.cu",
        says="""\
error: no such file
  --> none.cu
  help: did you mean "ok.cu"?
""",
    ),
    "a folder named as a source": infer(
        "folder.cu",
        says="""\
error: this is a folder
  --> folder.cu
  help: name a file in it, or: kneck scan
""",
    ),
    "a build command without an output": infer(
        "ok.cu", "--build", "nvcc -cubin {source}",
        says="""\
error: --build names no output
  help: write {out} where the output goes, or name it with -o
""",
    ),
    "a build command with an open quote": infer(
        "ok.cu", "--build", "nvcc '-o {out}",
        says="""\
error: --build: No closing quotation
  help: close the quotes
""",
    ),
    "a build that makes nothing": infer(
        "ok.cu", "--build", "true -o made.cubin",
        says="""\
error: the build made no made.cubin
  --> ok.cu
  help: the command was: true -o made.cubin
""",
    ),
    "a build by a program that is missing": infer(
        "ok.cu", "--build", "no-such-compiler -o {out} {source}",
        status=3,
        says="""\
error: no-such-compiler was not found
  help: install the CUDA toolkit or set CUDA_HOME; a cubin needs no compiler
""",
    ),
    "a build that fails": infer(
        "ok.cu", "--build", """sh -c 'echo "line 1: no such type"; exit 3' -o made.cubin""",
        says="""\
error: the build failed:
    line 1: no such type
  --> ok.cu
  help: the command was: sh -c 'echo "line 1: no such type"; exit 3' -o made.cubin
""",
    ),
    "a build that copies the source": infer(
        "ok.cu", "--build", "cp {source} {out}",
        says="""\
error: this is CUDA source, kneck reads SASS
  --> ok.cu:1
  help: compile it: nvcc -cubin -arch=ARCH -o FILE.cubin SOURCE, and give the cubin
""",
    ),
}  # fmt: skip

TABLE = {
    f"{group}: {name}": case
    for group, cases in {
        "target": TARGETS,
        "option": OPTIONS,
        "output": OUTPUTS,
        "knowledge": KNOWLEDGE,
        "command": COMMANDS,
        "build": BUILDS,
    }.items()
    for name, case in cases.items()
}


def plain(text: str) -> str:
    """Write every temporary folder as TEMPORARY."""
    return re.sub(r"/\S*/kneck-\w+", "TEMPORARY", text)


@pytest.mark.parametrize("name", TABLE)
def test_an_error_has_its_status_and_its_message(name: str, here: Path) -> None:
    case = TABLE[name]
    done = run(*case.args)
    assert plain(done.err) == case.says
    assert (done.status, done.out) == (case.status, "")


@pytest.mark.parametrize("name", [name for name, case in TABLE.items() if case.args[0] == "infer"])
def test_a_failing_infer_leaves_the_output_file_as_it_was(
    name: str, here: Path, tmp_path: Path
) -> None:
    case = TABLE[name]
    if "-o" in case.args:
        return
    output = tmp_path / "report.txt"
    output.write_text("before")
    assert run(*case.args, "-o", output).status == case.status
    assert output.read_text() == "before"
    assert sorted(tmp_path.iterdir()) == [output]


def test_the_table_holds_every_error_that_users_were_promised() -> None:
    assert len(TABLE) > 80


# Errors whose message is long, or that need another environment


def test_no_command_at_all_names_them() -> None:
    done = run()
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: no command is named\n  help: name one of infer, explain,")


def test_a_missing_nvcc_ends_with_status_3(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(here))
    done = run("infer", "ok.cu")
    assert (done.status, done.out) == (3, "")
    assert done.err == (
        "error: nvcc was not found\n"
        "  help: install the CUDA toolkit or set CUDA_HOME; a cubin needs no compiler\n"
    )


def test_a_missing_disassembler_ends_with_status_3_and_text_still_works(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KNECK_CACHE_DIR", "off")
    monkeypatch.setattr(tools, "_candidates", lambda file_name: iter(()))
    done = run("infer", "saxpy.cubin")
    assert (done.status, done.out) == (3, "")
    assert done.err == (
        "error: nvdisasm was not found in the Python packages, in CUDA_HOME or on the PATH\n"
        "  help: pip install nvidia-cuda-nvdisasm, or set CUDA_HOME to a CUDA toolkit; SASS text "
        "(cuobjdump -sass FILE > FILE.sass on another machine) works without it\n"
    )
    assert run("infer", "saxpy.sass").status == 0


def test_a_missing_cuobjdump_ends_with_status_3(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "_candidates", lambda file_name: iter(()))
    done = run("infer", "switch.fatbin")
    assert (done.status, done.out) == (3, "")
    assert done.err.startswith("error: cuobjdump was not found in the Python packages,")
    assert "help: pip install nvidia-cuda-cuobjdump" in done.err


def test_nothing_to_explain_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNECK_CACHE_DIR", str(tmp_path))
    done = run("explain")
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        "error: no diagnosis to explain yet\n"
        "  help: kneck infer TARGET first, or give --from FILE.json\n"
    )


def test_a_rule_that_does_not_exist_cannot_be_explained(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KNECK_CACHE_DIR", str(tmp_path))
    run("infer", "saxpy.cubin")
    done = run("explain", "cp-async-pipelinig")
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        'error: no rule "cp-async-pipelinig"\n  help: did you mean "cp-async-pipelining"?\n'
    )


# A launch that cannot run is no wrong use: the diagnosis says so


def test_a_launch_that_cannot_run_is_diagnosed_as_such(here: Path) -> None:
    diagnosis = kneck.infer("hgemm_30k.cubin", block=512, dynamic_smem=80_000)
    (pitfall,) = [p for p in diagnosis.pitfalls if p.id == "launch-fails"]
    assert pitfall.severity == "error"
    assert diagnosis.occupancy.blocks_per_sm == 0
    text = run("infer", "hgemm_30k.cubin", "--block", "512", "--dynamic-smem", "80000")
    assert text.status == 0
    assert "launch-fails" in text.out


def test_too_many_registers_for_the_block_are_a_launch_that_cannot_run() -> None:
    diagnosis = kneck.infer(
        str(cubin("hgemm_large_tile")), block=512, what_if=["resources.max_threads=512"]
    )
    assert "launch-fails" in [pitfall.id for pitfall in diagnosis.pitfalls]


def test_occupancy_says_that_a_launch_cannot_run() -> None:
    done = run("occupancy", "--arch", "sm_86", "--registers", "65", "--block", "928")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("sm_86: does not launch, ")


# The promise of the command line, as processes keep it


def process(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kneck", *args]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_a_process_ends_with_the_status_and_without_a_traceback(files: Path) -> None:
    done = process("infer", "cut.cubin", cwd=files)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == TARGETS["truncated cubin"].says


def test_a_full_disk_under_standard_output_is_named(files: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kneck", "infer", "saxpy.cubin"],
            cwd=files, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == (
        "error: cannot write the output: No space left on device\n"
        "  help: write to a file that has room, with -o FILE\n"
    )
