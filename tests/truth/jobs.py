"""What a measurement does, worked out of the manifest beforehand: sizes, contents, launches.

The device side then needs no part of kneck: it reads the result as JSON.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import yaml

from kneck.facts.arguments import Argument, parse_arguments

HERE = Path(__file__).parent
PATHS = ("read", "read16", "write", "scatter", "async16", "async4", "add")
MASK = (1 << 22) - 1  # 16 MB of words


def manifest() -> dict[str, Any]:
    """Read the set."""
    return dict(yaml.safe_load((HERE / "manifest.yaml").read_text()))


def half(name: str) -> str:
    """Tell which half of the set a kernel is in: the last bit of its family's SHA-1."""
    digest = hashlib.sha1(name.split("_")[0].encode()).digest()
    return "test" if digest[-1] & 1 else "calibration"


def job(entry: dict[str, Any]) -> dict[str, Any]:
    """Give one launch in plain numbers."""
    dims = entry.get("dims", {})
    arguments = parse_arguments(entry["args"], dims)
    contents, maps = entry.get("contents", {}), entry.get("tensor_maps", {})
    parameters = [_parameter(argument, contents.get(i)) for i, argument in enumerate(arguments)]
    for position, shape in maps.items():
        parameters[position]["tensor_map"] = {
            key: [dims.get(value, value) for value in shape[key]] for key in ("size", "box")
        }
    return {
        "name": entry["name"],
        "cubin": f"{entry['name'].split('_')[0]}.cubin",
        "grid": entry["grid"],
        "block": entry["block"],
        "dynamic_smem": entry.get("dynamic_smem", 0),
        "parameters": parameters,
        "check": entry.get("check"),
        "dims": dims,
    }


def _parameter(argument: Argument, contents: str | None) -> dict[str, Any]:
    if argument.kind == "scalar":
        return {"scalar": argument.dtype, "value": argument.value}
    return {
        "array": argument.dtype,
        "count": argument.count,
        "contents": contents or argument.contents,
        "value": argument.value,
    }


def pipe_jobs(names: list[str]) -> list[dict[str, Any]]:
    """Give the single-opcode kernels: enough warps to fill every pipe."""
    out = {"array": "f64", "count": 264 * 512, "contents": "zeros", "value": None}
    return [
        _micro(name, "pipes.cubin", [264], [512], [out, {"scalar": "i32", "value": 256}])
        for name in names
    ]


def path_jobs() -> list[dict[str, Any]]:
    """Give the L2 request kernels, one to four sectors per line."""
    words: dict[str, Any] = {"array": "u32", "count": MASK + 1, "contents": "random", "value": None}
    return [
        _micro(
            f"path_{kind}", "paths.cubin", [1056], [256],
            [words, words, {"scalar": "u32", "value": MASK}, {"scalar": "i32", "value": 64},
             {"scalar": "i32", "value": sectors}],
        )
        for kind in PATHS
        for sectors in (1, 2, 4)
    ]  # fmt: skip


def _micro(
    name: str, cubin: str, grid: list[int], block: list[int], parameters: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "name": name, "cubin": cubin, "grid": grid, "block": block, "dynamic_smem": 0,
        "parameters": parameters, "check": None, "dims": {},
    }  # fmt: skip
