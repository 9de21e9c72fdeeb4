"""Measure the set on a GPU: median times, Nsight Compute's counters, results of the programs.

    python measure.py jobs JOBS.json                  here, needs kneck
    python measure.py time JOBS.json PART OUT.json    on the GPU: the driver and numpy only
    python measure.py once JOBS.json PART TIMES.json  one launch each, watched by a profiler
    python measure.py programs DIR OUT.npz            the integer programs of the emulator's tests

Times: CUDA events around each launch, L2 flushed before it, median after three warm-up launches.
measure.sh does all of it; `once` leaves out what failed to run before. read_counters.py reads the
reports.
"""

from __future__ import annotations

import ctypes
import json
import lzma
import statistics
import sys
import time
from array import array
from pathlib import Path
from typing import Any

from driver import Driver, DriverError  # type: ignore[import-not-found]

HERE = Path(__file__).parent
FLUSH_BYTES = 256 << 20  # several times the largest L2
WARM_UPS = 3
SAMPLES = 15
SECONDS_PER_KERNEL = 0.4
BYTES = {"f16": 2, "f32": 4, "f64": 8, "i8": 1, "u8": 1, "i32": 4, "u32": 4, "i64": 8, "u64": 8}
SCALARS = {
    "f32": ctypes.c_float, "f64": ctypes.c_double, "i32": ctypes.c_int32, "u32": ctypes.c_uint32,
    "i64": ctypes.c_int64, "u64": ctypes.c_uint64,
}  # fmt: skip


class Bench:
    """Loaded modules and the arrays of one launch."""

    def __init__(self, cubins: Path) -> None:
        self.driver = Driver()
        self.cubins = cubins
        self.modules: dict[str, Any] = {}
        self.flush = self.driver.allocate(FLUSH_BYTES)

    def function(self, cubin: str, name: str, dynamic_smem: int = 0) -> Any:
        """Find a kernel, loading its module on first use."""
        if cubin not in self.modules:
            self.modules[cubin] = self.driver.module((self.cubins / cubin).read_bytes())
        return self.driver.function(self.modules[cubin], name, dynamic_smem)

    def allocated(self, spec: dict[str, Any]) -> Any:
        """Allocate and fill one array."""
        size = spec["count"] * BYTES[spec["array"]]
        pointer = self.driver.allocate(-(-size // 512) * 512)
        contents, dtype = spec["contents"], spec["array"]
        if contents == "values":
            self.driver.upload(pointer, array("I", spec["value"]).tobytes())
        elif contents == "zeros":
            self.driver.zero(pointer, size)
        elif contents.startswith("row starts of"):
            self.driver.upload(
                pointer, row_starts(spec["count"] - 1, int(16 * (spec["count"] - 1)))
            )
        elif contents.startswith("below"):
            self.fill("fill_below", pointer, spec["count"], int(contents.split()[1]))
        elif contents == "cycle":
            self.fill("fill_cycle", pointer, spec["count"], spec["count"])
        elif dtype in ("f16", "f32", "f64"):
            self.fill(f"fill_{dtype}", pointer, spec["count"], 0)
        else:
            self.fill("fill_words", pointer, size // 4, 0)
        return pointer

    def fill(self, kernel: str, pointer: Any, count: int, limit: int) -> None:
        """Run one of the filling kernels."""
        arguments = [pointer, ctypes.c_uint64(count), ctypes.c_uint32(limit & 0xFFFFFFFF)]
        self.driver.launch(self.function("fill.cubin", kernel), [1056], [256], 0, arguments)
        self.driver.synchronize()

    def prepare(self, job: dict[str, Any]) -> tuple[Any, list[Any], list[Any]]:
        """Give function, parameters and arrays of one launch."""
        parameters: list[Any] = []
        arrays: list[Any] = []
        for spec in job["parameters"]:
            if "scalar" in spec:
                parameters.append(SCALARS[spec["scalar"]](spec["value"]))
                continue
            pointer = self.allocated(spec)
            arrays.append(pointer)
            shape = spec.get("tensor_map")
            parameters.append(
                self.driver.tensor_map(pointer, shape["size"], shape["box"]) if shape else pointer
            )
        self.driver.synchronize()
        function = self.function(job["cubin"], job["name"], job["dynamic_smem"])
        return function, parameters, arrays

    def launch(self, job: dict[str, Any], function: Any, parameters: list[Any]) -> None:
        """Launch once."""
        self.driver.launch(function, job["grid"], job["block"], job["dynamic_smem"], parameters)

    def release(self, arrays: list[Any]) -> None:
        """Free the arrays of a launch."""
        self.driver.synchronize()
        for pointer in arrays:
            self.driver.free(pointer)


def row_starts(rows: int, nonzeros: int) -> bytes:
    """Make CSR row starts with rows of 8 to 24 elements that sum up to `nonzeros`."""
    import numpy as np

    lengths = np.random.default_rng(1).integers(8, 25, rows)
    lengths[: abs(nonzeros - int(lengths.sum()))] += np.sign(nonzeros - int(lengths.sum()))
    starts = np.zeros(rows + 1, np.int32)
    np.cumsum(lengths, out=starts[1:])
    assert starts[-1] == nonzeros
    return starts.tobytes()


def sample(bench: Bench, job: dict[str, Any]) -> dict[str, Any]:
    """Time one kernel."""
    driver = bench.driver
    function, parameters, arrays = bench.prepare(job)
    start, end = driver.event(), driver.event()
    times: list[float] = []
    began = time.monotonic()
    for index in range(WARM_UPS + SAMPLES):
        driver.zero(bench.flush, FLUSH_BYTES)
        driver.record(start)
        bench.launch(job, function, parameters)
        driver.record(end)
        driver.synchronize()
        if index >= WARM_UPS:
            times.append(driver.elapsed_ms(start, end))
        if len(times) >= 3 and time.monotonic() - began > SECONDS_PER_KERNEL:
            break
    result: dict[str, Any] = {
        "time_ms": statistics.median(times),
        "spread": (max(times) - min(times)) / statistics.median(times),
        "samples": len(times),
    }
    if job["check"]:
        result["error"] = compare(bench, job, arrays)
    bench.release(arrays)
    return result


def compare(bench: Bench, job: dict[str, Any], arrays: list[Any]) -> float:
    """Compare a product with one computed in higher precision on some rows; relative norm."""
    import numpy as np

    m, n, k = (job["dims"][d] for d in "MNK")
    rows = 64
    a = np.frombuffer(bench.driver.download(arrays[0], rows * k * 2), np.float16)
    b = np.frombuffer(bench.driver.download(arrays[1], n * k * 2), np.float16)
    c = np.frombuffer(bench.driver.download(arrays[2], rows * n * 4), np.float32)
    want = a.reshape(rows, k).astype(np.float32) @ b.reshape(n, k).astype(np.float32).T
    return float(np.linalg.norm(c.reshape(rows, n) - want) / np.linalg.norm(want))


def command_jobs(to: str) -> None:
    """Work out all launches."""
    import jobs  # type: ignore[import-not-found]

    names = [
        line.split("'")[1]
        for line in (HERE / "cubin" / "pipes.log").read_text().splitlines()
        if "Compiling entry function" in line
    ]
    plan = {
        "set": [jobs.job(entry) for entry in jobs.manifest()["kernels"]],
        "paths": jobs.path_jobs(),
        "pipes": jobs.pipe_jobs(sorted(names)),
        "banks": jobs.bank_jobs(),
    }
    Path(to).write_text(json.dumps(plan, separators=(",", ":")))


def selected(path: str, part: str) -> list[dict[str, Any]]:
    """Give the jobs of one part; `set:1/4` is every fourth of the set, starting with the second."""
    name, _, share = part.partition(":")
    chosen = json.loads(Path(path).read_text())[name]
    if "/" in share:
        first, step = map(int, share.split("/"))
        return list(chosen[first::step])
    return [one for one in chosen if not share or one["name"].split("_")[0] == share]


def command_time(path: str, part: str, to: str) -> None:
    """Time every kernel; the file is written after each, so that a hang loses one only."""
    bench = Bench(HERE / "cubin")
    results: dict[str, Any] = {}
    for job in selected(path, part):
        print(job["name"], end=" ", flush=True)
        try:
            results[job["name"]] = sample(bench, job)
        except DriverError as error:
            results[job["name"]] = {"failed": str(error)}
        print(results[job["name"]], flush=True)
        Path(to).write_text(json.dumps(results, indent=1))
        if "failed" in results[job["name"]]:
            break


def command_once(path: str, part: str, times: str) -> None:
    """Launch every kernel once inside the profiler's range."""
    bench = Bench(HERE / "cubin")
    timed = json.loads(Path(times).read_text()) if part.startswith("set") else None
    for job in selected(path, part):
        if timed is not None and "time_ms" not in timed.get(job["name"], {}):
            continue
        function, parameters, arrays = bench.prepare(job)
        bench.driver.profiler(True)
        bench.launch(job, function, parameters)
        bench.driver.synchronize()
        bench.driver.profiler(False)
        bench.release(arrays)


def command_programs(folder: str, to: str) -> None:
    """Run the integer programs and keep what they wrote."""
    import numpy as np

    plan = json.loads((Path(folder) / "programs.json").read_text())
    driver = Driver()
    module = driver.module(lzma.decompress((Path(folder) / "programs.sm_90.cubin.xz").read_bytes()))
    size = plan["blocks"] * plan["threads"] * plan["variables"] * 4
    out = driver.allocate(size)
    results = {}
    for name, parameters in plan["programs"].items():
        driver.zero(out, size)
        arguments = [out, *(ctypes.c_uint32(p) for p in parameters)]
        function = driver.function(module, name)
        driver.launch(function, [plan["blocks"]], [plan["threads"]], 0, arguments)
        driver.synchronize()
        results[name] = np.frombuffer(driver.download(out, size), np.uint32).reshape(
            -1, plan["variables"]
        )
    np.savez_compressed(to, **results)  # type: ignore[arg-type]


if __name__ == "__main__":
    commands = {
        "jobs": command_jobs, "time": command_time, "once": command_once,
        "programs": command_programs,
    }  # fmt: skip
    commands[sys.argv[1]](*sys.argv[2:])  # type: ignore[operator]
