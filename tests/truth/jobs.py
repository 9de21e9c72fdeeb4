"""What a measurement does, worked out of the manifest beforehand: sizes, contents, launches.

The device side then needs no part of kneck: it reads the result as JSON.
"""

from __future__ import annotations

import random
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


def lane_patterns(width: int) -> dict[str, list[int]]:
    """Give byte offsets of 32 lanes that move `width` bytes each, by name."""
    lanes = range(32)
    found = {
        "contiguous": [lane * width for lane in lanes],
        "broadcast": [0 for _ in lanes],
        "reversed": [(31 - lane) * width for lane in lanes],
        "pairs": [lane // 2 * width for lane in lanes],
        "quads": [lane // 4 * width for lane in lanes],
        "octets": [lane // 8 * width for lane in lanes],
        "halves": [lane // 16 * width for lane in lanes],
        "repeat16": [lane % 16 * width for lane in lanes],
        "repeat8": [lane % 8 * width for lane in lanes],
        "repeat4": [lane % 4 * width for lane in lanes],
        "columns8": [lane % 8 * 128 + lane // 8 * width for lane in lanes],
        "columns4": [lane % 4 * 256 + lane // 4 * width for lane in lanes],
        "two_lines": [64 + lane * width for lane in lanes],
    }
    for factor in (2, 3, 4, 5, 8):
        found[f"stride{factor}"] = [lane * width * factor for lane in lanes]
    for across in (2, 4, 8, 16):
        for pad in (0, 4, 8, 16):
            if pad % width == 0:
                pitch = across * width + pad
                found[f"rows{across}_pad{pad}"] = [
                    lane // across * pitch + lane % across * width for lane in lanes
                ]
    for seed in range(6):
        chosen = random.Random(seed * 31 + width)
        found[f"random{seed}"] = [chosen.randrange(4096 // width) * width for _ in lanes]
    return found


def copy_patterns() -> dict[str, list[int]]:
    """Give offsets of a 16-byte copy: 32 in shared memory, then 32 in global memory."""
    lanes = range(32)
    found = {}
    for across in (1, 2, 4, 8, 16, 32):
        source = [lane // across * 8192 + lane % across * 16 for lane in lanes]
        for name, pitch in (("dense", across * 16), ("pad16", across * 16 + 16), ("line", 128)):
            if across > 8 and name != "dense":
                continue
            target = [lane // across * pitch + lane % across * 16 for lane in lanes]
            found[f"rows{across}_{name}"] = target + source
        if across == 8:
            target = [lane * 16 for lane in lanes]
            found["rows8_half_a_line_on"] = target + [at + 64 for at in source]
            found["rows8_two_sectors_on"] = target + [at + 32 for at in source]
            swizzled = [lane // 8 * 128 + (lane % 8 ^ lane // 8) * 16 for lane in lanes]
            found["rows8_swizzled"] = swizzled + source
        if across == 4:
            swizzled = [lane // 4 * 64 + (lane % 4 ^ lane // 8 % 4) * 16 for lane in lanes]
            found["rows4_swizzled"] = swizzled + source
    return found


def bank_jobs() -> list[dict[str, Any]]:
    """Give every pattern for every memory instruction."""
    result = []
    widths = {"lds": 4, "lds64": 8, "lds128": 16, "sts": 4, "sts64": 8, "sts128": 16, "atoms": 4,
              "ldg": 4, "ldg64": 8, "ldg128": 16}  # fmt: skip
    for kernel, width in widths.items():
        result += [_bank(kernel, name, table) for name, table in lane_patterns(width).items()]
    for kernel in ("copy_bypass", "copy_access"):
        result += [_bank(kernel, name, table) for name, table in copy_patterns().items()]
    return result


def _bank(kernel: str, pattern: str, table: list[int]) -> dict[str, Any]:
    offsets = {"array": "u32", "count": 64, "contents": "values", "value": (table * 2)[:64]}
    size = 1 << 24 if kernel.startswith("copy") else 1 << 16
    words = {"array": "u32", "count": size + (1 << 17), "contents": "random", "value": None}
    out = {"array": "u32", "count": 132 * 256, "contents": "zeros", "value": None}
    rounds = {"scalar": "i32", "value": 64}
    job = _micro(f"bank_{kernel}", "banks.cubin", [132], [256], [offsets, out, words, rounds])
    return {**job, "pattern": pattern, "dynamic_smem": 65536 if kernel.startswith("copy") else 0}
