"""The few calls of the CUDA driver that a measurement needs, through ctypes: nothing to install.

Every call checks its status. Memory is plain device memory; one context, the default stream.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any


class DriverError(RuntimeError):
    """A call of the driver failed."""


class Driver:
    """One device with its primary context."""

    def __init__(self, device: int = 0) -> None:
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        handle, context = c_int(), c_void_p()
        self.call("cuDeviceGet", byref(handle), device)
        self.call("cuDevicePrimaryCtxRetain", byref(context), handle)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: Any) -> None:
        """Call one function; raises DriverError with the driver's own text."""
        status = getattr(self.lib, name)(*arguments)
        if status:
            text = c_char_p()
            self.lib.cuGetErrorString(status, byref(text))
            raise DriverError(f"{name}: {(text.value or b'unknown').decode()} ({status})")

    def module(self, image: bytes) -> c_void_p:
        """Load a cubin."""
        module = c_void_p()
        self.call("cuModuleLoadData", byref(module), image)
        return module

    def function(self, module: c_void_p, name: str, dynamic_smem: int = 0) -> c_void_p:
        """Find a kernel and allow it its dynamic shared memory."""
        function = c_void_p()
        self.call("cuModuleGetFunction", byref(function), module, name.encode())
        if dynamic_smem > 48 * 1024:
            self.call("cuFuncSetAttribute", function, 8, dynamic_smem)
        return function

    def allocate(self, size: int) -> c_uint64:
        """Allocate bytes."""
        pointer = c_uint64()
        self.call("cuMemAlloc_v2", byref(pointer), c_size_t(size))
        return pointer

    def free(self, pointer: c_uint64) -> None:
        """Give memory back."""
        self.call("cuMemFree_v2", pointer)

    def zero(self, pointer: c_uint64, size: int) -> None:
        """Set bytes to zero."""
        self.call("cuMemsetD8_v2", pointer, 0, c_size_t(size))

    def upload(self, pointer: c_uint64, data: bytes) -> None:
        """Copy to the device."""
        self.call("cuMemcpyHtoD_v2", pointer, data, c_size_t(len(data)))

    def download(self, pointer: c_uint64, size: int) -> bytes:
        """Copy from the device."""
        buffer = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", buffer, pointer, c_size_t(size))
        return buffer.raw

    def launch(
        self,
        function: c_void_p,
        grid: Sequence[int],
        block: Sequence[int],
        dynamic_smem: int,
        parameters: Sequence[Any],
    ) -> None:
        """Launch; parameters are ctypes objects."""
        gx, gy, gz = (*grid, 1, 1)[:3]
        bx, by, bz = (*block, 1, 1)[:3]
        pointers = (c_void_p * len(parameters))(
            *(ctypes.cast(byref(p), c_void_p) for p in parameters)
        )
        sizes = [c_uint(v) for v in (gx, gy, gz, bx, by, bz, dynamic_smem)]
        self.call("cuLaunchKernel", function, *sizes, None, pointers, None)

    def synchronize(self) -> None:
        """Wait for everything."""
        self.call("cuCtxSynchronize")

    def event(self) -> c_void_p:
        """Make a timing event."""
        event = c_void_p()
        self.call("cuEventCreate", byref(event), 0)
        return event

    def record(self, event: c_void_p) -> None:
        """Record an event in the default stream."""
        self.call("cuEventRecord", event, None)

    def elapsed_ms(self, start: c_void_p, end: c_void_p) -> float:
        """Time between two events that have passed."""
        time = c_float()
        name = "cuEventElapsedTime_v2" if hasattr(self.lib, "cuEventElapsedTime_v2") else ""
        self.call(name or "cuEventElapsedTime", byref(time), start, end)
        return time.value

    def profiler(self, on: bool) -> None:
        """Open or close the range that a profiler watches."""
        self.call("cuProfilerStart" if on else "cuProfilerStop")

    def tensor_map(self, pointer: c_uint64, size: Sequence[int], box: Sequence[int]) -> Any:
        """Describe a row-major f16 matrix for the tensor copy engine, swizzled by 128 bytes."""
        storage = (ctypes.c_uint8 * 192)()
        start = -ctypes.addressof(storage) % 64  # the driver wants 64-byte alignment
        tensor = (ctypes.c_uint8 * 128).from_buffer(storage, start)
        half, swizzle_128, promotion_128 = 6, 3, 2
        self.call(
            "cuTensorMapEncodeTiled", tensor, half, c_uint(2), pointer,
            (c_uint64 * 2)(*size), (c_uint64 * 1)(size[0] * 2), (c_uint * 2)(*box),
            (c_uint * 2)(1, 1), 0, swizzle_128, promotion_128, 0,
        )  # fmt: skip
        return tensor
