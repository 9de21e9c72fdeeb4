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
INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]{4,6})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)")


def cubin_of(kernel: dict[str, Any], arch: str) -> Path:
    return HERE / "cubin" / f"{Path(kernel['file']).stem}.{arch}.cubin"


@cache
def listing(cubin: Path) -> dict[str, dict[int, str]]:
    """The opcode at each address of each function of a cubin."""
    packaged = Path(sysconfig.get_paths()["purelib"]) / "nvidia" / "cu13" / "bin" / "nvdisasm"
    tool = str(packaged) if packaged.exists() else which("nvdisasm")
    assert tool, "install nvidia-cuda-nvdisasm"
    text = subprocess.run([tool, "-c", str(cubin)], check=True, capture_output=True, text=True)
    functions: dict[str, dict[int, str]] = {}
    for line in text.stdout.splitlines():
        if section := SECTION.match(line):
            functions[section[1]] = {}
        elif instruction := INSTRUCTION.match(line):
            functions[next(reversed(functions))][int(instruction[1], 16)] = instruction[2]
    return functions


def opcodes(cubin: Path, function: str) -> Counter[str]:
    return Counter(listing(cubin)[function].values())


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
    found = opcodes(cubin_of(kernel, "sm_86"), kernel["kernel"])
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
    assert listing(HERE / recipe["cubin"]) == listing(HERE / recipe["from"])


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


HAND_COUNTS = yaml.safe_load((HERE / "hand_counts.yaml").read_text(encoding="utf-8"))["kernels"]


def addresses(text: str | int) -> list[int]:
    """The addresses that runs such as "0x40 0x80-0xa0" name (YAML reads one alone as a number)."""
    found: list[int] = []
    for run in str(text).split():
        first, _, last = run.partition("-")
        found += range(int(first, 0), int(last or first, 0) + 1, 16)
    return found


@pytest.mark.parametrize("part", ["compute", "loads"])
@pytest.mark.parametrize("count", HAND_COUNTS, ids=[count["kernel"] for count in HAND_COUNTS])
def test_the_addresses_counted_by_hand_are_all_of_that_opcode_in_the_loop(
    count: dict[str, Any], part: str
) -> None:
    kernel = KERNELS[count["kernel"]]
    first, last = count["loop"]
    instructions = listing(cubin_of(kernel, "sm_86"))[kernel["kernel"]]
    opcode = count[part]["opcode"]
    in_loop = [at for at, name in instructions.items() if first <= at <= last and name == opcode]
    assert addresses(count[part]["at"]) == in_loop


@pytest.mark.parametrize("count", HAND_COUNTS, ids=[count["kernel"] for count in HAND_COUNTS])
def test_a_hand_count_agrees_with_itself(count: dict[str, Any]) -> None:
    inner = count.get("inner", {"loop": [0, -1], "trips": 0})
    for part in ("compute", "loads"):
        inside = [at for at in addresses(count[part]["at"]) if at in range(*inner["loop"])]
        once = len(addresses(count[part]["at"])) - len(inside)
        assert count[part]["executed"] == once + len(inside) * inner["trips"]
    ratio, _ = count["ratio"]
    assert ratio == count["compute"]["executed"] / count["loads"]["executed"]
