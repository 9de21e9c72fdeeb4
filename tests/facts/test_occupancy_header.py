"""kneck's occupancy equals NVIDIA's header in 20,000 random configurations."""

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from kneck.facts.hardware import Architecture
from kneck.facts.occupancy import Occupancy, occupancy
from kneck.rules.hardware import load_architectures, shipped_folder

CONFIGURATIONS = 20_000
NO_LIMIT = 2**31 - 1
REFERENCE = Path(__file__).parents[1] / "data" / "occupancy_reference.cpp"
RESOURCES = ("registers", "smem", "warps", "blocks", "barriers", "virtual_resources")

Configuration = tuple[str, int, int, int, int, int, int, int]


def header_folder() -> Path | None:
    """Find the include folder of a CUDA toolkit: CUDA_HOME, beside nvcc, or the usual place."""
    roots = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
    nvcc = shutil.which("nvcc")
    if nvcc:
        roots.append(Path(nvcc).resolve().parents[1])
    roots.extend(sorted(Path("/usr/local").glob("cuda*")))
    folders = (root / "include" for root in roots)
    return next((folder for folder in folders if (folder / "cuda_occupancy.h").is_file()), None)


COMPILER, HEADERS = shutil.which("g++"), header_folder()


@pytest.mark.skipif(not COMPILER or not HEADERS, reason="needs g++ and cuda_occupancy.h")
def test_blocks_and_every_limit_equal_the_header_in_random_configurations(tmp_path: Path) -> None:
    architectures = load_architectures([shipped_folder()])
    configurations = random_configurations(architectures)
    expected = ask_header(configurations, architectures, tmp_path)
    differing = [
        (configuration, answer, own)
        for configuration, answer in zip(configurations, expected, strict=True)
        if (own := numbers(compute(configuration, architectures))) != answer
    ]
    assert differing == []
    assert len({configuration[0] for configuration in configurations}) == len(architectures) == 11


def random_configurations(architectures: dict[str, Architecture]) -> list[Configuration]:
    """Draw launches that reach every limit, many of them at an edge of an allocation unit."""
    draw = random.Random(20240531)
    names = sorted(architectures)
    found: list[Configuration] = []
    for _ in range(CONFIGURATIONS):
        name = draw.choice(names)
        limits = architectures[name].limits
        total = draw.choice(
            (
                draw.randrange(limits.smem_bytes_per_block_optin + 4096),
                draw.randrange(49_152 + 2048),
                max(0, limits.smem_bytes_per_sm // draw.randint(1, 12) + draw.randint(-1100, 100)),
                0,
            )
        )
        static = draw.choice((0, total, draw.randint(0, total)))
        threads = draw.choice((draw.randint(1, 1024), 32 * draw.randint(1, 32)))
        carveout = draw.choice((-1, draw.randint(-1, 100)))
        barriers = draw.choice((0, 1, draw.randint(0, 16)))
        registers = draw.choice((draw.randint(0, 260), 8 * draw.randint(1, 32)))
        virtual = draw.choice((0, 0, draw.randint(0, 160)))
        found.append(
            (name, registers, threads, static, total - static, carveout, barriers, virtual)
        )
    return found


def ask_header(
    configurations: list[Configuration], architectures: dict[str, Architecture], folder: Path
) -> list[tuple[int, ...]]:
    program = folder / "occupancy_reference"
    build = [str(COMPILER), "-O1", f"-I{HEADERS}", "-o", str(program), str(REFERENCE)]
    subprocess.run(build, check=True)
    lines = []
    for name, *rest in configurations:
        major, minor = architectures[name].compute_capability.split(".")
        lines.append(" ".join(map(str, (major, minor, *rest))))
    answer = subprocess.run(
        [program], input="\n".join(lines), text=True, capture_output=True, check=True
    )
    return [tuple(map(int, line.split())) for line in answer.stdout.splitlines()]


def compute(configuration: Configuration, architectures: dict[str, Architecture]) -> Occupancy:
    name, *launch = configuration
    return occupancy(architectures[name].limits, *launch)


def numbers(result: Occupancy) -> tuple[int, ...]:
    limits = (result.block_limits.get(name) for name in RESOURCES)
    return (result.blocks_per_sm, *(NO_LIMIT if limit is None else limit for limit in limits))
