"""What run_all.sh runs on a GPU: bench the cases, probe the card, try the failures.

python on_gpu.py bench OUT.json          kneck bench beside the independent loop, in turn
python on_gpu.py probe OUT.json          all micro-benchmarks
python on_gpu.py support OUT.json        array contents, occupancy answers, named failures
python on_gpu.py commands                shell lines for ncu
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from kneck.engine.measurement import measurement_settings, probe_images, probe_list
from kneck.facts.arguments import Argument, parse_arguments
from kneck.facts.gpu import Gpu
from kneck.facts.measure.bench import run_bench
from kneck.facts.measure.contents import element_values
from kneck.facts.measure.describe import function_info
from kneck.facts.measure.device import Launch
from kneck.facts.measure.device_file import best_of
from kneck.facts.measure.probe import run_probes
from kneck.facts.measure.sensors import Sensors
from kneck.facts.measure.support import Support
from kneck.parsers.errors import KneckError

HERE = Path(__file__).resolve().parent
CUBINS = HERE.parent / "kernels" / "cubin"
JIT_PROBES = ("dram copy", "LDS", "latency of L2")


def cases() -> list[dict[str, Any]]:
    """Read cases.yaml."""
    found: list[dict[str, Any]] = yaml.safe_load((HERE / "cases.yaml").read_text())["cases"]
    return found


def cubin(case: dict[str, Any]) -> Path:
    """Give the H200's cubin of a case."""
    name = f"{case['cubin']}.sm_90.cubin"
    return CUBINS / name if (CUBINS / name).exists() else HERE / "cubin" / name


def independent_command(case: dict[str, Any], warm_up: int, repetitions: int) -> list[str]:
    """Write the command line of the independent loop for a case."""
    numbers = [*case["grid"], *case["block"], 0, warm_up, repetitions]
    words = [str(HERE / "independent"), str(cubin(case)), case["kernel"], *map(str, numbers)]
    for argument in parse_arguments(case["args"], case["dims"]):
        if argument.kind == "array":
            kind = "cycle" if argument.contents == "cycle" else argument.dtype
            words.append(f"{kind}:{argument.count}")
        else:
            words.append(f"{argument.dtype}={argument.value}")
    return words


def independent_ms(case: dict[str, Any]) -> float:
    """Run the independent loop."""
    command = independent_command(case, 20, 50)
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def bench_all() -> Iterator[dict[str, Any]]:
    """Bench each case between two runs of the independent loop."""
    settings, support = measurement_settings().bench, probe_images()["support"]
    for case in cases():
        first = independent_ms(case)
        began = time.monotonic()
        with Gpu() as gpu, Sensors(gpu.info) as sensors:
            launch = Launch(tuple(case["grid"]), tuple(case["block"]))
            arguments = parse_arguments(case["args"], case["dims"])
            image = cubin(case).read_bytes()
            for cache in ("flush", "warm", "rotate") if case["id"] == "saxpy_1_mb" else ("flush",):
                result = run_bench(
                    gpu, image, case["kernel"], launch, arguments, support, sensors, settings,
                    cache,
                )  # fmt: skip
                entry = asdict(result)
                entry["wall_s"] = time.monotonic() - began
                entry["id"], entry["independent_ms"] = case["id"], [first, independent_ms(case)]
                yield entry


def probe_all(only: Sequence[str] = ()) -> dict[str, Any]:
    """Run all micro-benchmarks, or some."""
    listed, began = probe_list(), time.monotonic()
    specs = [spec for spec in listed.specs if not only or spec.id in only]
    with Gpu() as gpu:
        report = run_probes(
            gpu, probe_images(), listed.loops, specs, listed.settings, time.monotonic
        )
    report.measured[:] = best_of(report.measured, listed.best)
    return {**asdict(report), "seconds": time.monotonic() - began}


def support_all() -> dict[str, Any]:
    """Check contents against numpy, ask for occupancy, provoke the named failures."""
    found: dict[str, Any] = {"contents": {}, "occupancy": [], "failures": {}}
    with Gpu() as gpu:
        found["device"] = asdict(gpu.info)
        support = Support(gpu, probe_images()["support"])
        for dtype in ("f8", "bf8", "f16", "bf16", "f32", "f64", "i8", "u16", "i32", "u64"):
            for contents in ("random", "iota", "zeros", "ones", "cycle", "fill"):
                if contents == "cycle" and dtype not in ("i32", "u64"):
                    continue
                argument = Argument(
                    "array", dtype, 1 << 16, 3 if contents == "fill" else None,
                    contents,
                )  # fmt: skip
                found["contents"][f"{dtype} {contents}"] = _same(gpu, support, argument)
        for stem in ("hgemm_cp_async", "hgemm_over_cliff", "saxpy", "reduce_shuffle", "igemm"):
            module = gpu.load((CUBINS / f"{stem}.sm_90.cubin").read_bytes())
            function = gpu.function(module, stem)
            described = function_info(gpu, function, stem)
            for threads in (32, 96, 128, 256, 512, 1024):
                for smem in (0, 1024, 30720, 61440, 100000, 200000):
                    gpu.prepare(function, Launch((1, 1, 1), (1, 1, 1), smem))
                    blocks = gpu.blocks_per_sm(function, threads, smem)
                    found["occupancy"].append(
                        [stem, described.registers, described.static_smem, threads, smem, blocks]
                    )
            found.setdefault("functions", {})[stem] = asdict(described)
    for name, spec in (
        ("wrong argument count", "f32[n], f32[n], f32=2.0"),
        ("wrong argument size", "f32[n], f32[n], f64=2.0, i32 n"),
        ("illegal address", "f32[n], ptr=64, f32=2.0, i32 n"),
        ("out of memory", "f32[n], f32[1000000000000], f32=2.0, i32 n"),
        ("too many threads", "f32[n], f32[n], f32=2.0, i32 n"),
    ):
        found["failures"][name] = _failure(spec, 2048 if name == "too many threads" else 256)
    return found


def _same(gpu: Gpu, support: Support, argument: Argument) -> str:
    address = gpu.allocate(argument.bytes or 0)
    support.fill(address, argument, seed=3)
    raw = gpu.download(address, argument.bytes or 0)
    gpu.free(address)
    indices = np.arange(argument.count or 0, dtype=np.uint64)
    wanted = element_values(argument, indices, 3)
    from kneck.facts.measure.contents import encoded

    size = argument.element_bytes
    kind = argument.dtype
    for i in range(0, len(indices), 97):
        value = wanted[i].item()
        if raw[i * size : (i + 1) * size] != encoded(value, kind):
            return f"element {i}: {raw[i * size : (i + 1) * size].hex()}, not {value}"
    return "same"


def _failure(spec: str, threads: int) -> dict[str, Any]:
    case = next(case for case in cases() if case["id"] == "saxpy_1_mb")
    code = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
from on_gpu import *
with Gpu() as gpu, Sensors(gpu.info) as sensors:
    run_bench(gpu, cubin({case!r}).read_bytes(), "saxpy", Launch((512, 1, 1), ({threads}, 1, 1)),
              parse_arguments({spec!r}, {case["dims"]!r}), probe_images()["support"], sensors,
              measurement_settings().bench)
"""
    wrapped = f"""
from kneck.parsers.errors import KneckError
try:
{"".join("    " + line + chr(10) for line in code.splitlines())}
except KneckError as error:
    print(error.exit_status)
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", wrapped], capture_output=True, text=True)
    return {"out": done.stdout, "err": done.stderr[-600:], "rc": done.returncode}


def main() -> None:
    """Run one part."""
    part = sys.argv[1]
    if part == "commands":
        for case in cases():
            if case["profile"]:
                print(case["id"], case["kernel"], *independent_command(case, 1, 2))
        return
    if part == "bench":
        results: Any = []
        for entry in bench_all():
            results.append(entry)
            times = entry["independent_ms"]
            median = entry["timing"]["series"]["median"]
            print(entry["id"], entry["cache"], median, entry["timing"]["series"]["shape"],
                  entry["timing"]["launches"], times, entry["busy"], f"{entry['wall_s']:.1f} s",
                  flush=True)  # fmt: skip
    else:
        parts: dict[str, Callable[[], Any]] = {
            "probe": probe_all,
            "support": support_all,
            "jit": lambda: probe_all(JIT_PROBES),
        }
        results = parts[part]()
    Path(sys.argv[2]).write_text(json.dumps(results, indent=1, default=str) + "\n")


if __name__ == "__main__":
    try:
        main()
    except KneckError as error:
        sys.exit(str(error))
