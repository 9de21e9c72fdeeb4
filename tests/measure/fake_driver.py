"""A CUDA driver that runs nothing: memory is bytes, kernels are functions that give a duration.

It has the shape of `cuda.bindings.driver` as far as `kneck.facts.gpu` uses it, so that everything
above it is tested without a GPU.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

CUresult = IntEnum(
    "CUresult",
    {
        "CUDA_SUCCESS": 0,
        "CUDA_ERROR_INVALID_VALUE": 1,
        "CUDA_ERROR_OUT_OF_MEMORY": 2,
        "CUDA_ERROR_NO_DEVICE": 100,
        "CUDA_ERROR_NO_BINARY_FOR_GPU": 209,
        "CUDA_ERROR_NOT_FOUND": 500,
        "CUDA_ERROR_ILLEGAL_ADDRESS": 700,
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": 701,
        "CUDA_ERROR_UNKNOWN": 999,
    },
)
OK = CUresult.CUDA_SUCCESS

H200 = {
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "CLOCK_RATE": 1_980_000,
    "MEMORY_CLOCK_RATE": 3_201_000,
    "MULTIPROCESSOR_COUNT": 132,
    "L2_CACHE_SIZE": 62_914_560,
    "GLOBAL_MEMORY_BUS_WIDTH": 6144,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 233_472,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 232_448,
    "RESERVED_SHARED_MEMORY_PER_BLOCK": 1024,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": 65_536,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
    "MAX_BLOCKS_PER_MULTIPROCESSOR": 32,
}


@dataclass
class FakeLaunch:
    """What a kernel sees: its name, grid, block and parameters."""

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    smem: int
    parameters: tuple[int, ...]


@dataclass
class FakeKernel:
    """A kernel: parameter sizes, attributes, and the model of its duration in ms.

    The model may give a CUresult instead: the kernel fails, and the next wait says so.
    """

    name: str
    sizes: tuple[int, ...] = ()
    duration: Callable[[FakeLaunch], float | CUresult] = lambda launch: 0.002
    static_smem: int = 0
    max_threads: int = 1024
    registers: int = 32


@dataclass
class FakeDriver:
    """The driver; `kernels` may be looked up in any module."""

    kernels: dict[str, FakeKernel] = field(default_factory=dict)
    attributes: dict[str, int] = field(default_factory=lambda: dict(H200))
    devices: int = 1
    memory_bytes: int = 150_000_000_000
    largest_allocation: int = 1 << 50
    blocks_per_sm: int = 2
    now_ms: float = 0.0
    failed: CUresult = OK
    launches: list[FakeLaunch] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    memory: dict[int, bytearray] = field(default_factory=dict)
    set_attributes: list[tuple[str, int]] = field(default_factory=list)
    next_address: int = 0x7000_0000_0000

    def __post_init__(self) -> None:
        names = [*H200, "RESERVED_SHARED_MEMORY_PER_BLOCK"]
        self.CUdevice_attribute = SimpleNamespace(
            **{f"CU_DEVICE_ATTRIBUTE_{name}": name for name in names}
        )
        functions = (
            "NUM_REGS", "SHARED_SIZE_BYTES", "LOCAL_SIZE_BYTES", "CONST_SIZE_BYTES",
            "MAX_THREADS_PER_BLOCK", "BINARY_VERSION", "PTX_VERSION",
            "MAX_DYNAMIC_SHARED_SIZE_BYTES", "PREFERRED_SHARED_MEMORY_CARVEOUT",
        )  # fmt: skip
        self.CUfunction_attribute = SimpleNamespace(
            **{f"CU_FUNC_ATTRIBUTE_{name}": name for name in functions}
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("cu"):
            raise AttributeError(f"the fake driver has no {name}")
        raise AttributeError(name)

    # device

    def cuDeviceGetCount(self) -> tuple[CUresult, int]:
        return OK, self.devices

    def cuDeviceGet(self, ordinal: int) -> tuple[CUresult, int]:
        return OK, ordinal

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[CUresult, str]:
        return OK, "context"

    def cuDevicePrimaryCtxRelease(self, device: int) -> tuple[CUresult]:
        self.calls.append("release")
        return (OK,)

    def cuCtxSetCurrent(self, context: str) -> tuple[CUresult]:
        return (OK,)

    def cuDeviceGetAttribute(self, name: str, device: int) -> tuple[CUresult, int]:
        return OK, self.attributes[name]

    def cuDriverGetVersion(self) -> tuple[CUresult, int]:
        return OK, 13000

    def cuDeviceGetName(self, size: int, device: int) -> tuple[CUresult, bytes]:
        return OK, b"NVIDIA H200\0\0\0"

    def cuDeviceTotalMem(self, device: int) -> tuple[CUresult, int]:
        return OK, self.memory_bytes

    def cuDeviceGetUuid(self, device: int) -> tuple[CUresult, SimpleNamespace]:
        return OK, SimpleNamespace(bytes=bytes(range(16)))

    def cuMemGetInfo(self) -> tuple[CUresult, int, int]:
        return OK, self.memory_bytes, self.memory_bytes

    def cuGetErrorString(self, status: CUresult) -> tuple[CUresult, bytes]:
        return OK, b"unknown error"

    # memory

    def cuMemAlloc(self, size: int) -> tuple[CUresult, int]:
        if size > self.largest_allocation:
            return CUresult.CUDA_ERROR_OUT_OF_MEMORY, 0
        address = self.next_address
        self.next_address += -(-size // 512) * 512
        self.memory[address] = bytearray(min(size, 1 << 20))
        return OK, address

    def cuMemFree(self, address: int) -> tuple[CUresult]:
        del self.memory[address]
        return (OK,)

    def cuMemcpyHtoD(self, address: int, data: bytes, size: int) -> tuple[CUresult]:
        self.memory[address][:size] = data
        return (OK,)

    def cuMemcpyDtoH(self, target: int, address: int, size: int) -> tuple[CUresult]:
        ctypes.memmove(target, bytes(self.memory[address][:size]), size)
        return (OK,)

    def cuMemsetD32Async(self, address: int, value: int, n: int, s: str) -> tuple[CUresult]:
        return (OK,)

    def cuMemcpyDtoDAsync(self, to: int, source: int, size: int, s: str) -> tuple[CUresult]:
        self.now_ms += size / 2e9
        return (OK,)

    # code

    def cuModuleLoadData(self, image: bytes) -> tuple[CUresult, str]:
        if image.startswith(b"wrong"):
            return CUresult.CUDA_ERROR_NO_BINARY_FOR_GPU, ""
        return OK, "module"

    def cuModuleUnload(self, module: str) -> tuple[CUresult]:
        return (OK,)

    def cuModuleGetFunction(self, module: str, name: bytes) -> tuple[CUresult, Any]:
        kernel = self.kernels.get(name.decode())
        return (OK, kernel) if kernel else (CUresult.CUDA_ERROR_NOT_FOUND, None)

    def cuFuncGetAttribute(self, name: str, kernel: FakeKernel) -> tuple[CUresult, int]:
        values = {
            "NUM_REGS": kernel.registers,
            "SHARED_SIZE_BYTES": kernel.static_smem,
            "MAX_THREADS_PER_BLOCK": kernel.max_threads,
            "BINARY_VERSION": 90,
        }
        return OK, values.get(name, 0)

    def cuFuncSetAttribute(self, kernel: FakeKernel, name: str, value: int) -> tuple[CUresult]:
        self.set_attributes.append((name, value))
        return (OK,)

    def cuFuncGetParamInfo(self, kernel: FakeKernel, index: int) -> tuple[CUresult, int, int]:
        if index >= len(kernel.sizes):
            return CUresult.CUDA_ERROR_INVALID_VALUE, 0, 0
        end = 0
        for size in kernel.sizes[: index + 1]:
            start = -(-end // size) * size
            end = start + size
        return OK, start, kernel.sizes[index]

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(
        self, kernel: FakeKernel, threads: int, smem: int
    ) -> tuple[CUresult, int]:
        return OK, self.blocks_per_sm

    # stream

    def cuStreamCreate(self, flags: int) -> tuple[CUresult, str]:
        return OK, "stream"

    def cuStreamDestroy(self, stream: str) -> tuple[CUresult]:
        return (OK,)

    def cuStreamSynchronize(self, stream: str) -> tuple[CUresult]:
        return (self.failed,)

    def cuEventCreate(self, flags: int) -> tuple[CUresult, list[float]]:
        return OK, [0.0]

    def cuEventRecord(self, event: list[float], stream: str) -> tuple[CUresult]:
        event[0] = self.now_ms
        return (OK,)

    def cuEventElapsedTime(self, a: list[float], b: list[float]) -> tuple[CUresult, float]:
        return OK, b[0] - a[0]

    def cuEventDestroy(self, event: list[float]) -> tuple[CUresult]:
        return (OK,)

    def cuLaunchKernel(self, kernel: FakeKernel, *rest: Any) -> tuple[CUresult]:
        grid, block, smem, parameters = rest[0:3], rest[3:6], rest[6], rest[8]
        threads = block[0] * block[1] * block[2]
        if threads > kernel.max_threads:
            return (CUresult.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,)
        pointers = (ctypes.c_void_p * max(len(kernel.sizes), 1)).from_address(parameters)
        values = tuple(
            int.from_bytes(ctypes.string_at(pointers[i], size), "little")  # type: ignore[arg-type]
            for i, size in enumerate(kernel.sizes)
        )
        launch = FakeLaunch(kernel.name, grid, block, smem, values)
        self.launches.append(launch)
        duration = kernel.duration(launch)
        if isinstance(duration, CUresult):
            self.failed = duration
        else:
            self.now_ms += duration
        return (OK,)


def with_support(*kernels: FakeKernel) -> FakeDriver:
    """Make a driver that has the helper kernels beside these."""
    names = [
        f"fill_{kind}_{dtype}"
        for kind in ("random", "iota", "cycle")
        for dtype in ("f8", "bf8", "f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64")
    ] + [f"fill_value_{bits}" for bits in (8, 16, 32, 64)]
    fills = [FakeKernel(name, (8, 8, 4, 8)) for name in names]
    helpers = [
        FakeKernel("read_through", (8, 8, 4, 8), lambda launch: 0.05),
        FakeKernel("spin", (8,), lambda launch: launch.parameters[0] / 1e6),
        FakeKernel("empty", (), lambda launch: 0.002),
    ]
    return FakeDriver({kernel.name: kernel for kernel in [*fills, *helpers, *kernels]})
