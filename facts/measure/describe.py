"""Reads a device's and a function's description from the driver, into plain records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...parsers.errors import MissingProgramError
from .device import DeviceInfo, FunctionInfo

if TYPE_CHECKING:
    from ..gpu import Gpu


def device_info(gpu: Gpu) -> DeviceInfo:
    """Describe the device of an open GPU."""
    major = _needed(gpu, "COMPUTE_CAPABILITY_MAJOR")
    minor = _needed(gpu, "COMPUTE_CAPABILITY_MINOR")
    sm_khz, memory_khz = gpu.attribute("CLOCK_RATE"), gpu.attribute("MEMORY_CLOCK_RATE")
    version = int(gpu.call("cuDriverGetVersion"))
    name = gpu.call("cuDeviceGetName", 256, gpu.device)
    return DeviceInfo(
        ordinal=gpu.ordinal,
        name=bytes(name).split(b"\0")[0].decode(),
        arch=f"sm_{major}{minor}",
        sms=_needed(gpu, "MULTIPROCESSOR_COUNT"),
        memory_bytes=int(gpu.call("cuDeviceTotalMem", gpu.device)),
        l2_bytes=gpu.attribute("L2_CACHE_SIZE") or None,
        sm_clock_mhz=sm_khz / 1000 if sm_khz else None,
        memory_clock_mhz=memory_khz / 1000 if memory_khz else None,
        memory_bus_bits=gpu.attribute("GLOBAL_MEMORY_BUS_WIDTH") or None,
        smem_per_sm=_needed(gpu, "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
        smem_per_block_optin=_needed(gpu, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
        smem_reserved_per_block=gpu.attribute("RESERVED_SHARED_MEMORY_PER_BLOCK") or 0,
        registers_per_sm=_needed(gpu, "MAX_REGISTERS_PER_MULTIPROCESSOR"),
        threads_per_sm=_needed(gpu, "MAX_THREADS_PER_MULTIPROCESSOR"),
        blocks_per_sm=gpu.attribute("MAX_BLOCKS_PER_MULTIPROCESSOR"),
        driver_version=f"{version // 1000}.{version % 1000 // 10}",
        uuid=bytes(gpu.call("cuDeviceGetUuid", gpu.device).bytes).hex(),
    )


def _needed(gpu: Gpu, name: str) -> int:
    value = gpu.attribute(name)
    if value is None:
        raise MissingProgramError(
            f"the driver bindings do not know {name}", help="pip install -U cuda-python"
        )
    return value


def function_info(gpu: Gpu, function: Any, name: str) -> FunctionInfo:
    """Read what the driver knows about a loaded kernel."""
    names = gpu.driver.CUfunction_attribute

    def read(attribute: str) -> int:
        number = getattr(names, f"CU_FUNC_ATTRIBUTE_{attribute}")
        return int(gpu.call("cuFuncGetAttribute", number, function))

    return FunctionInfo(
        name=name,
        registers=read("NUM_REGS"),
        static_smem=read("SHARED_SIZE_BYTES"),
        local_bytes=read("LOCAL_SIZE_BYTES"),
        constant_bytes=read("CONST_SIZE_BYTES"),
        max_threads=read("MAX_THREADS_PER_BLOCK"),
        binary_version=read("BINARY_VERSION"),
        ptx_version=read("PTX_VERSION"),
        parameters=_parameters(gpu, function),
    )


def _parameters(gpu: Gpu, function: Any) -> tuple[tuple[int, int], ...] | None:
    """Ask the driver (12.4 and later) for offset and size of each parameter."""
    ask = getattr(gpu.driver, "cuFuncGetParamInfo", None)
    if ask is None:
        return None
    found: list[tuple[int, int]] = []
    try:
        while True:  # the driver ends the list with an error
            status, *pair = ask(function, len(found))
            if int(status) != 0:
                return tuple(found)
            found.append((int(pair[0]), int(pair[1])))
    except RuntimeError:  # an older driver lacks the function although the bindings have it
        return None
