"""Clocks and temperature come from NVML; what a board does not offer is None, not 0."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from kneck.facts.gpu import Gpu
from kneck.facts.measure.device import DeviceInfo
from kneck.facts.measure.sensors import Sensors
from kneck.parsers.errors import MissingProgramError

from .fake_driver import FakeDriver


class NVMLError(Exception):
    """As pynvml raises it."""


def device() -> DeviceInfo:
    with Gpu(driver=FakeDriver()) as gpu:
        return gpu.info


def library(**changed: Any) -> SimpleNamespace:
    asked: dict[str, Any] = {}
    functions: dict[str, Any] = {
        "NVMLError": NVMLError,
        "NVML_CLOCK_SM": "sm",
        "NVML_CLOCK_MEM": "memory",
        "NVML_TEMPERATURE_GPU": 0,
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: asked.update(closed=True),
        "nvmlDeviceGetHandleByUUID": lambda uuid: asked.update(uuid=uuid) or "handle",
        "nvmlDeviceGetHandleByIndex": lambda index: asked.update(index=index) or "handle",
        "nvmlDeviceGetClockInfo": lambda handle, kind: {"sm": 1980, "memory": 3201}[kind],
        "nvmlDeviceGetTemperature": lambda handle, kind: 41,
        "nvmlDeviceGetPowerUsage": lambda handle: 250_500,
        "nvmlDeviceGetCurrentClocksThrottleReasons": lambda handle: 0x24,
        "asked": asked,
    }
    return SimpleNamespace(**{**functions, **changed})


def test_one_reading_has_clocks_temperature_power_and_what_slows_it() -> None:
    nvml = library()
    with Sensors(device(), nvml) as sensors:
        reading = sensors.read()
    assert (reading.sm_clock_mhz, reading.memory_clock_mhz) == (1980, 3201)
    assert (reading.temperature_c, reading.power_w) == (41, 250.5)
    assert reading.throttle_reasons == ("software power cap", "software thermal slowdown")
    assert nvml.asked["uuid"] == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert nvml.asked["closed"]


def test_what_the_board_does_not_offer_is_unknown() -> None:
    def refuses(*arguments: object) -> None:
        raise NVMLError("Not Supported")

    nvml = library(
        nvmlDeviceGetPowerUsage=refuses, nvmlDeviceGetCurrentClocksThrottleReasons=refuses
    )
    with Sensors(device(), nvml) as sensors:
        reading = sensors.read()
    assert reading.power_w is None and reading.throttle_reasons == ()
    assert reading.sm_clock_mhz == 1980


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(MissingProgramError, match="nvidia-ml-py") as caught:
        Sensors(device())
    assert caught.value.exit_status == 3 and caught.value.help == "pip install 'kneck[gpu]'"


def test_a_library_that_does_not_answer_ends_with_status_3() -> None:
    def fails() -> None:
        raise NVMLError("Driver Not Loaded")

    with pytest.raises(MissingProgramError, match="NVML does not answer: Driver Not Loaded"):
        Sensors(device(), library(nvmlInit=fails))
