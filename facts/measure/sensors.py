"""Clocks, temperature and power of a GPU through NVML (`nvidia-ml-py`, extra `gpu`)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from types import TracebackType
from typing import Any

from ...parsers.errors import MissingProgramError
from .device import DeviceInfo, SensorReading

INSTALL = "pip install 'kneck[gpu]'"
# Bits of nvmlClocksThrottleReasons that slow a kernel down, in words.
REASONS = {
    0x0000_0004: "software power cap",
    0x0000_0008: "hardware slowdown",
    0x0000_0020: "software thermal slowdown",
    0x0000_0040: "hardware thermal slowdown",
    0x0000_0080: "hardware power brake",
}


class Sensors(AbstractContextManager["Sensors"]):
    """An open NVML session for one GPU; readings that the board does not offer are None."""

    def __init__(self, device: DeviceInfo, library: Any = None) -> None:
        self._nvml = _load() if library is None else library
        try:
            self._nvml.nvmlInit()
            self._handle = self._find(device)
        except self._nvml.NVMLError as error:
            raise MissingProgramError(
                f"NVML does not answer: {error}", help="update the NVIDIA driver"
            ) from None

    def _find(self, device: DeviceInfo) -> Any:
        digits = device.uuid
        if len(digits) != 32:
            return self._nvml.nvmlDeviceGetHandleByIndex(device.ordinal)
        parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
        return self._nvml.nvmlDeviceGetHandleByUUID(f"GPU-{'-'.join(parts)}")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._nvml.nvmlShutdown()

    def read(self) -> SensorReading:
        """Read everything once."""
        nvml = self._nvml
        power = self._try(lambda: nvml.nvmlDeviceGetPowerUsage(self._handle))
        reasons = self._try(lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._handle))
        bits = 0 if reasons is None else int(reasons)
        return SensorReading(
            sm_clock_mhz=self._clock(nvml.NVML_CLOCK_SM),
            memory_clock_mhz=self._clock(nvml.NVML_CLOCK_MEM),
            temperature_c=self._try(
                lambda: nvml.nvmlDeviceGetTemperature(self._handle, nvml.NVML_TEMPERATURE_GPU)
            ),
            power_w=None if power is None else power / 1000,
            throttle_reasons=tuple(text for bit, text in REASONS.items() if bits & bit),
        )

    def _clock(self, kind: Any) -> float | None:
        return self._try(lambda: self._nvml.nvmlDeviceGetClockInfo(self._handle, kind))

    def _try(self, ask: Callable[[], Any]) -> float | None:
        try:
            return float(ask())
        except self._nvml.NVMLError:  # this board does not offer the reading
            return None


def _load() -> Any:
    try:
        return import_module("pynvml")
    except ImportError:
        raise MissingProgramError(
            "clocks and temperature need the package nvidia-ml-py", help=INSTALL
        ) from None
