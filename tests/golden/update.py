"""The golden reports: which there are, how they are made, and a command that writes them anew.

python tests/golden/update.py        then read the difference before committing it
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from kneck.engine.cli import main

HERE = Path(__file__).resolve().parent
KERNELS = HERE.parent / "kernels"  # reports are made here, so that paths in them are short

DEVICES = {  # one device per architecture; sm_86 has the default device
    "sm_75": "t4", "sm_80": "a100", "sm_86": None, "sm_90": "h100", "sm_120": "rtx-5090",
}  # fmt: skip
FIRST_KERNELS = ("saxpy", "hgemm_30k", "hgemm_over_cliff", "scale", "dot_partial")
MORE_KERNELS = ("igemm", "flash_attention")


@dataclass(frozen=True)
class Golden:
    """One file and the command lines that make it; {json} is a file that the first one writes."""

    file: str
    commands: tuple[tuple[str, ...], ...]


@cache
def manifest() -> dict[str, dict[str, Any]]:
    """Give the test kernels by id."""
    document = yaml.safe_load((KERNELS / "manifest.yaml").read_text(encoding="utf-8"))
    return {kernel["id"]: kernel for kernel in document["kernels"]}


def infer_line(id: str, arch: str, *more: str, command: str = "infer") -> tuple[str, ...]:
    """Write the command line that diagnoses a test kernel as its manifest launches it."""
    kernel = manifest()[id]
    launch = kernel["launch"]
    device = DEVICES[arch]
    return (
        command,
        f"cubin/{Path(kernel['file']).stem}.{arch}.cubin",
        *(("--kernel", kernel["kernel"]) if kernel["file"] == "two_kernels.cu" else ()),
        *(("--gpu", device) if device is not None else ()),
        *("--grid", ",".join(map(str, launch["grid"]))),
        *("--block", ",".join(map(str, launch["block"]))),
        *("--dynamic-smem", str(launch["dynamic_smem"])),
        *("--problem", kernel["problem"]),
        *("--args", kernel["args"]),
        *("--time-ms", str(kernel["assumed_time_ms"])),
        *more,
    )


def goldens() -> Iterator[Golden]:
    """List every golden file."""
    for id in FIRST_KERNELS:
        for arch in DEVICES:
            yield Golden(f"{id}.{arch}.txt", (infer_line(id, arch),))
    for id in MORE_KERNELS:
        for arch in ("sm_80", "sm_86", "sm_90"):
            yield Golden(f"{id}.{arch}.txt", (infer_line(id, arch),))
    for id, arch in [
        ("saxpy", "sm_75"), ("hgemm_30k", "sm_86"), ("hgemm_over_cliff", "sm_86"),
        ("dot_partial", "sm_90"), ("igemm", "sm_86"), ("flash_attention", "sm_80"),
        ("hgemm_30k", "sm_120"),
    ]:  # fmt: skip
        yield Golden(f"{id}.{arch}.md", (infer_line(id, arch, "--format", "markdown"),))
    for id, arch in [("saxpy", "sm_90"), ("hgemm_30k", "sm_86"), ("hgemm_over_cliff", "sm_86")]:
        yield Golden(f"{id}.{arch}.json", (infer_line(id, arch, "--format", "json"),))
    for id, rule in [
        ("hgemm_30k", "cp-async-pipelining"),
        ("hgemm_30k", "over-smem-cliff"),
        ("hgemm_30k", "tensor-tile-reuse"),
        ("hgemm_over_cliff", "cp-async-pipelining"),
    ]:
        made = infer_line(id, "sm_86", "--format", "json", "-o", "{json}")
        yield Golden(f"{id}.explain-{rule}.txt", (made, ("explain", rule, "--from", "{json}")))
    log = ("--resources", "cubin/saxpy.sm_86.log")
    yield Golden("saxpy.facts.txt", (infer_line("saxpy", "sm_86", *log, command="facts"),))
    yield Golden(
        "occupancy.sm_86.txt",
        (
            (
                "occupancy",
                "--arch",
                "sm_86",
                "--registers",
                "64",
                "--block",
                "256",
                "--smem",
                "8192",
            ),
        ),
    )
    yield Golden("nothing-given.txt", (("infer", "cubin/igemm.sm_86.cubin"),))
    yield Golden("published-peaks.txt", (infer_line("hgemm_30k", "sm_86", "--peaks", "published"),))


def produce(golden: Golden) -> str:
    """Make a report; JSON without its `tool` section, which names the version and the command."""
    text = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(KERNELS),
        contextlib.redirect_stdout(text),
    ):
        for command in golden.commands:
            args = [part.replace("{json}", os.path.join(folder, "made.json")) for part in command]
            status = main(args)
            if status != 0:
                raise RuntimeError(f"kneck {' '.join(args)} ended with status {status}")
    if golden.file.endswith(".json"):
        document = json.loads(text.getvalue())
        del document["tool"]
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    return text.getvalue()


def update() -> None:
    """Write every golden file, and remove those that nothing makes any more."""
    wanted = {golden.file: golden for golden in goldens()}
    for path in HERE.iterdir():
        if path.suffix in (".txt", ".md", ".json") and path.name not in wanted:
            path.unlink()
    for name, golden in wanted.items():
        (HERE / name).write_text(produce(golden), encoding="utf-8")


if __name__ == "__main__":
    update()
