"""The committed cubins are what the manifest says: kernels, opcodes, strategies, launches.

The listings are counted here with one regular expression, so that these counts do not rest on the
parser that other tests compare with them.
"""

import re
import subprocess
import sysconfig
from collections import Counter
from functools import cache
from pathlib import Path
from shutil import which
from typing import Any

import pytest
import yaml

HERE = Path(__file__).resolve().parent
MANIFEST = yaml.safe_load((HERE / "manifest.yaml").read_text(encoding="utf-8"))
KERNELS: dict[str, dict[str, Any]] = {kernel["id"]: kernel for kernel in MANIFEST["kernels"]}
SECTION = re.compile(r"^\.text\.(\S+):$")
INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,6}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)")


def cubin_of(kernel: dict[str, Any], arch: str) -> Path:
    return HERE / "cubin" / f"{Path(kernel['file']).stem}.{arch}.cubin"


@cache
def opcodes(cubin: Path) -> dict[str, Counter[str]]:
    """How often each opcode stands in each function of a cubin."""
    packaged = Path(sysconfig.get_paths()["purelib"]) / "nvidia" / "cu13" / "bin" / "nvdisasm"
    tool = str(packaged) if packaged.exists() else which("nvdisasm")
    assert tool, "install nvidia-cuda-nvdisasm"
    listing = subprocess.run([tool, "-c", str(cubin)], check=True, capture_output=True, text=True)
    counts: dict[str, Counter[str]] = {}
    for line in listing.stdout.splitlines():
        if section := SECTION.match(line):
            counts[section[1]] = Counter()
        elif instruction := INSTRUCTION.match(line):
            counts[next(reversed(counts))][instruction[1]] += 1
    return counts


def test_every_kernel_has_an_id_of_its_own() -> None:
    assert len(KERNELS) == len(MANIFEST["kernels"])


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
def test_source_cubins_and_logs_are_committed(kernel: dict[str, Any]) -> None:
    assert (HERE / kernel["file"]).exists()
    for arch in kernel["archs"]:
        cubin = cubin_of(kernel, arch)
        assert cubin.read_bytes()[:4] == b"\x7fELF"
        log = cubin.with_suffix(".log").read_text(encoding="utf-8")
        assert f"Compiling entry function '{kernel['kernel']}' for '{arch}'" in log


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
def test_the_sm_86_code_has_the_instructions_the_manifest_names(kernel: dict[str, Any]) -> None:
    found = opcodes(cubin_of(kernel, "sm_86"))[kernel["kernel"]]
    assert {name: found[name] for name in kernel["sass"]} == kernel["sass"]


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
def test_launches_are_ones_that_cuda_accepts(kernel: dict[str, Any]) -> None:
    launch = kernel["launch"]
    x, y, z = launch["block"]
    assert 32 <= x * y * z <= 1024
    assert all(1 <= size for size in launch["grid"])
    assert max(launch["grid"][1:]) <= 65535


LOOSENED = yaml.safe_load((HERE / "loosened.yaml").read_text(encoding="utf-8"))["loosened"]


@pytest.mark.parametrize("recipe", LOOSENED, ids=[recipe["id"] for recipe in LOOSENED])
def test_nvdisasm_reads_a_loosened_cubin_as_it_reads_the_base(recipe: dict[str, Any]) -> None:
    assert KERNELS[recipe["base"]]["kernel"] == recipe["kernel"]
    assert opcodes(HERE / recipe["cubin"]) == opcodes(HERE / recipe["from"])


def test_a_pair_is_a_known_base_and_another_kernel_or_launch() -> None:
    pairs = {name: k["pair"] for name, k in KERNELS.items() if "pair" in k}
    assert len(pairs) >= 20
    for name, pair in pairs.items():
        base, variant = KERNELS[pair["base"]], KERNELS[name]
        assert (base["file"], base["launch"]) != (variant["file"], variant["launch"])


def test_no_source_is_forgotten_by_the_manifest() -> None:
    named = {kernel["file"] for kernel in KERNELS.values()}
    assert {path.name for path in HERE.glob("*.cu")} == named
    stems = {f"{Path(k['file']).stem}.{arch}" for k in KERNELS.values() for arch in k["archs"]}
    assert {path.stem for path in (HERE / "cubin").glob("*.cubin")} == stems
