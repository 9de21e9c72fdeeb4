"""The GPU of this machine through cuda-python; no other module imports `cuda`.

A `Gpu` owns the primary context of one device and everything allocated in it. What it returns are
plain numbers and kneck's own types. Driver errors become KneckError with a next step.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from types import TracebackType
from typing import Any

from ..parsers.errors import KneckError, MissingProgramError
from .measure.describe import device_info
from .measure.device import DeviceInfo, Launch
from .measure.driver_errors import NO_DRIVER_HELP, driver_error


def load_driver() -> Any:
    """Import the driver bindings and initialize them; MissingProgramError without GPU or driver."""
    try:
        driver: Any = import_module("cuda.bindings.driver")
    except ImportError as error:
        raise MissingProgramError(
            f"cuda-python is not installed ({error.name or error})",
            help="pip install cuda-python",
        ) from None
    try:
        status = driver.cuInit(0)[0]
    except (RuntimeError, OSError) as error:  # the bindings look for libcuda on first use
        first = str(error).splitlines()[0]
        raise MissingProgramError(
            f"no NVIDIA driver on this machine: {first}", help=NO_DRIVER_HELP
        ) from None
    if int(status) != 0:
        raise driver_error(driver, status, "cuInit")
    return driver


class Gpu(AbstractContextManager["Gpu"]):
    """One device with its primary context; use it in a `with` statement."""

    def __init__(self, ordinal: int = 0, driver: Any = None) -> None:
        self.driver = load_driver() if driver is None else driver
        count = self.call("cuDeviceGetCount")
        if count == 0:
            raise MissingProgramError("this machine has no CUDA GPU", help=NO_DRIVER_HELP)
        if not 0 <= ordinal < count:
            raise KneckError(
                f"no GPU {ordinal}: this machine has {count}", help="count GPUs from 0"
            )
        self.device = self.call("cuDeviceGet", ordinal)
        self.ordinal = ordinal
        self._buffers: dict[int, int] = {}
        self._modules: list[Any] = []
        self._broken = False
        self._context = self.call("cuDevicePrimaryCtxRetain", self.device)
        self.call("cuCtxSetCurrent", self._context)
        self._stream = self.call("cuStreamCreate", 1)  # 1: does not wait for the default stream

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Free everything; after a failure the context is only let go, which frees it as well."""
        if kind is None and not self._broken:
            self.call("cuStreamSynchronize", self._stream)
            for address in list(self._buffers):
                self.free(address)
            for module in self._modules:
                self.call("cuModuleUnload", module)
            self.call("cuStreamDestroy", self._stream)
        self.driver.cuDevicePrimaryCtxRelease(self.device)

    def call(self, name: str, *arguments: Any) -> Any:
        """Call one driver function; give its results, one alone or a tuple."""
        status, *results = getattr(self.driver, name)(*arguments)
        if int(status) != 0:
            error = driver_error(self.driver, status, name)
            self._broken = self._broken or error.breaks_context
            raise error
        return results[0] if len(results) == 1 else tuple(results)

    # -- device ------------------------------------------------------------------------------

    def attribute(self, name: str) -> int | None:
        """Read a device attribute by the driver's name, None where this driver has none."""
        number = getattr(self.driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}", None)
        if number is None:
            return None
        return int(self.call("cuDeviceGetAttribute", number, self.device))

    @property
    def info(self) -> DeviceInfo:
        """Describe the device."""
        return device_info(self)

    def free_memory(self) -> int:
        """Bytes of device memory that are free now."""
        return int(self.call("cuMemGetInfo")[0])

    # -- memory ------------------------------------------------------------------------------

    def allocate(self, size: int) -> int:
        """Allocate device memory; give its address."""
        address = int(self.call("cuMemAlloc", max(size, 1)))
        self._buffers[address] = size
        return address

    def free(self, address: int) -> None:
        """Free memory from `allocate`."""
        self.call("cuMemFree", address)
        del self._buffers[address]

    def upload(self, address: int, data: bytes | bytearray) -> None:
        """Copy bytes to the device and wait."""
        self.call("cuMemcpyHtoD", address, bytes(data), len(data))

    def download(self, address: int, size: int) -> bytes:
        """Copy bytes from the device, after everything launched before has ended."""
        self.synchronize()
        host = bytearray(size)
        target = (ctypes.c_char * size).from_buffer(host)
        self.call("cuMemcpyDtoH", ctypes.addressof(target), address, size)
        del target
        return bytes(host)

    def fill(self, address: int, value: int, words: int) -> None:
        """Set 32-bit words on the stream."""
        self.call("cuMemsetD32Async", address, value, words, self._stream)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy within the device on the stream, as the driver does it."""
        self.call("cuMemcpyDtoDAsync", target, source, size, self._stream)

    # -- code --------------------------------------------------------------------------------

    def load(self, image: bytes) -> Any:
        """Load a cubin, a fatbin or PTX text; PTX is compiled by the driver."""
        if not image.startswith((b"\x7fELF", b"\x50\xed\x55\xba")):
            image += b"\0"  # PTX is a C string
        module = self.call("cuModuleLoadData", image)
        self._modules.append(module)
        return module

    def function(self, module: Any, name: str) -> Any:
        """Find a kernel by its symbol."""
        return self.call("cuModuleGetFunction", module, name.encode())

    def prepare(self, function: Any, launch: Launch) -> None:
        """Raise the dynamic shared memory limit and set the carve-out, where the launch asks."""
        names = self.driver.CUfunction_attribute
        if launch.dynamic_smem:
            number = names.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self.call("cuFuncSetAttribute", function, number, launch.dynamic_smem)
        if launch.carveout is not None:
            number = names.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
            self.call("cuFuncSetAttribute", function, number, launch.carveout)

    def blocks_per_sm(self, function: Any, threads: int, dynamic_smem: int) -> int:
        """Ask the driver's own occupancy calculator."""
        name = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        return int(self.call(name, function, threads, dynamic_smem))

    # -- launches ----------------------------------------------------------------------------

    def launch(self, function: Any, launch: Launch, parameters: Sequence[bytes]) -> None:
        """Put one launch on the stream; each parameter is its little-endian bytes."""
        cells = [ctypes.create_string_buffer(value, len(value)) for value in parameters]
        table = (ctypes.c_void_p * max(len(cells), 1))(*map(ctypes.addressof, cells))
        self.call(
            "cuLaunchKernel",
            function,
            *launch.grid,
            *launch.block,
            launch.dynamic_smem,
            self._stream,
            ctypes.addressof(table),
            0,
        )

    def synchronize(self) -> None:
        """Wait for the stream; failures of kernels launched before surface here."""
        self.call("cuStreamSynchronize", self._stream)

    def time_ms(
        self,
        work: Sequence[Callable[[], None]],
        before: Callable[[], None] | None = None,
        first: Callable[[], None] | None = None,
        while_busy: Callable[[], None] | None = None,
    ) -> list[float]:
        """Time each piece of work between two CUDA events, in milliseconds.

        `before` is put on the stream in front of each start event, untimed. All is queued and
        then waited for once; `first` occupies the GPU meanwhile, since a GPU that waits for the
        host between two events would be timed waiting. `while_busy` is called before the wait.
        """
        pairs = [(self._event(), self._event()) for _ in work]
        try:
            if first is not None:
                first()
            for (start, end), launch in zip(pairs, work, strict=True):
                if before is not None:
                    before()
                self.call("cuEventRecord", start, self._stream)
                launch()
                self.call("cuEventRecord", end, self._stream)
            if while_busy is not None:
                while_busy()
            self.synchronize()
            return [float(self.call("cuEventElapsedTime", *pair)) for pair in pairs]
        finally:
            if not self._broken:
                for event in (event for pair in pairs for event in pair):
                    self.call("cuEventDestroy", event)

    def _event(self) -> Any:
        return self.call("cuEventCreate", 0)
