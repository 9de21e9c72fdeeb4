"""The GPU behind kneck's own types: what is asked of the driver, and what its errors say."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from kneck.facts.gpu import Gpu, load_driver
from kneck.facts.measure.describe import function_info
from kneck.facts.measure.device import Launch
from kneck.facts.measure.driver_errors import DriverError, MissingGpuError
from kneck.parsers.errors import KneckError, MissingProgramError

from .fake_driver import CUresult, FakeDriver, FakeKernel, FakeLaunch

ONE = Launch((1, 1, 1), (32, 1, 1))


def test_a_device_is_described_in_plain_numbers() -> None:
    with Gpu(driver=FakeDriver()) as gpu:
        info = gpu.info
    assert (info.name, info.arch, info.sms) == ("NVIDIA H200", "sm_90", 132)
    assert info.dram_gb_per_s == pytest.approx(4916.7, abs=0.1)
    assert info.driver_version == "13.0"
    assert info.l2_bytes == 62_914_560


def test_a_machine_without_gpu_ends_with_status_3() -> None:
    with pytest.raises(MissingProgramError) as caught:
        Gpu(driver=FakeDriver(devices=0))
    assert caught.value.exit_status == 3 and "--time-ms" in str(caught.value)


def test_an_unknown_ordinal_is_refused() -> None:
    with pytest.raises(KneckError, match="no GPU 2: this machine has 1"):
        Gpu(2, driver=FakeDriver())


def driver_module(monkeypatch: pytest.MonkeyPatch, **functions: object) -> None:
    module = ModuleType("cuda.bindings.driver")
    for name, function in functions.items():
        setattr(module, name, function)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", module)


def test_no_driver_library_ends_with_status_3(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(flags: int) -> None:
        raise RuntimeError("libcuda.so.1: cannot open shared object file\nmore")

    driver_module(monkeypatch, cuInit=fails)
    with pytest.raises(MissingProgramError, match="no NVIDIA driver on this machine: libcuda"):
        load_driver()


def test_no_bindings_name_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    with pytest.raises(MissingProgramError, match="cuda-python is not installed") as caught:
        load_driver()
    assert caught.value.help == "pip install cuda-python"


def test_a_driver_that_finds_no_device_ends_with_status_3(monkeypatch: pytest.MonkeyPatch) -> None:
    driver_module(monkeypatch, cuInit=lambda flags: (CUresult.CUDA_ERROR_NO_DEVICE,))
    with pytest.raises(MissingGpuError, match="no CUDA GPU") as caught:
        load_driver()
    assert caught.value.exit_status == 3


def test_a_kernel_sees_its_parameters() -> None:
    kernel = FakeKernel("k", (8, 4, 2))
    driver = FakeDriver({"k": kernel})
    with Gpu(driver=driver) as gpu:
        function = gpu.function(gpu.load(b"\x7fELF"), "k")
        gpu.launch(function, Launch((3, 2, 1), (64, 1, 1), 16), [b"\1" * 8, b"\2\0\0\0", b"\3\0"])
    assert driver.launches == [
        FakeLaunch("k", (3, 2, 1), (64, 1, 1), 16, (0x0101010101010101, 2, 3))
    ]


def test_the_driver_tells_the_parameters_of_a_kernel() -> None:
    with Gpu(driver=FakeDriver({"k": FakeKernel("k", (8, 4, 8, 2))})) as gpu:
        info = function_info(gpu, gpu.function(gpu.load(b"\x7fELF"), "k"), "k")
    assert info.parameters == ((0, 8), (8, 4), (16, 8), (24, 2))


def test_an_older_driver_does_not_tell_them() -> None:
    class Older(FakeDriver):
        cuFuncGetParamInfo = None  # type: ignore[assignment]

    with Gpu(driver=Older({"k": FakeKernel("k", (8,))})) as gpu:
        assert function_info(gpu, gpu.function(gpu.load(b"\x7fELF"), "k"), "k").parameters is None


def test_dynamic_shared_memory_and_carve_out_are_set_before_the_launch() -> None:
    driver = FakeDriver({"k": FakeKernel("k")})
    with Gpu(driver=driver) as gpu:
        function = gpu.function(gpu.load(b"\x7fELF"), "k")
        gpu.prepare(function, Launch((1, 1, 1), (32, 1, 1), 100_000, carveout=75))
    assert driver.set_attributes == [
        ("MAX_DYNAMIC_SHARED_SIZE_BYTES", 100_000),
        ("PREFERRED_SHARED_MEMORY_CARVEOUT", 75),
    ]


def test_each_launch_is_timed_between_its_own_events() -> None:
    times = iter([0.5, 0.25, 1.0])
    driver = FakeDriver({"k": FakeKernel("k", (), lambda launch: next(times))})
    with Gpu(driver=driver) as gpu:
        function = gpu.function(gpu.load(b"\x7fELF"), "k")
        work = [lambda: gpu.launch(function, ONE, ())] * 3
        assert gpu.time_ms(work) == pytest.approx([0.5, 0.25, 1.0])


def test_what_runs_before_a_launch_is_not_timed() -> None:
    driver = FakeDriver({"k": FakeKernel("k", (), lambda launch: 0.5)})
    with Gpu(driver=driver) as gpu:
        function = gpu.function(gpu.load(b"\x7fELF"), "k")

        def run() -> None:
            gpu.launch(function, ONE, ())

        assert gpu.time_ms([run, run], before=run, first=run) == pytest.approx([0.5, 0.5])
    assert len(driver.launches) == 5


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (CUresult.CUDA_ERROR_ILLEGAL_ADDRESS, "read or wrote an illegal address"),
        (CUresult.CUDA_ERROR_UNKNOWN, "cuStreamSynchronize failed: unknown error"),
    ],
)
def test_a_kernel_that_fails_is_a_named_error(code: CUresult, words: str) -> None:
    driver = FakeDriver({"k": FakeKernel("k", (), lambda launch: code)})
    with pytest.raises(DriverError, match=words) as caught, Gpu(driver=driver) as gpu:
        gpu.allocate(64)
        function = gpu.function(gpu.load(b"\x7fELF"), "k")
        gpu.time_ms([lambda: gpu.launch(function, ONE, ())])
    assert caught.value.code == code.name
    assert driver.calls == ["release"]


def test_a_launch_out_of_resources_says_what_to_lower() -> None:
    driver = FakeDriver({"k": FakeKernel("k", max_threads=384)})
    with Gpu(driver=driver) as gpu:
        function = gpu.function(gpu.load(b"\x7fELF"), "k")
        with pytest.raises(DriverError, match="more registers or shared memory") as caught:
            gpu.launch(function, Launch((1, 1, 1), (512, 1, 1)), ())
    assert "--block" in (caught.value.help or "")


def test_code_for_another_architecture_is_named() -> None:
    with Gpu(driver=FakeDriver()) as gpu:
        with pytest.raises(DriverError, match="nothing that this GPU can run"):
            gpu.load(b"wrong")


def test_an_unknown_kernel_asks_for_its_mangled_name() -> None:
    with Gpu(driver=FakeDriver()) as gpu:
        with pytest.raises(DriverError, match="no kernel of that name") as caught:
            gpu.function(gpu.load(b"\x7fELF"), "nothere")
    assert "--kernel" in (caught.value.help or "")


def test_memory_comes_back_as_it_was_written() -> None:
    with Gpu(driver=FakeDriver()) as gpu:
        address = gpu.allocate(8)
        gpu.upload(address, b"12345678")
        assert gpu.download(address, 8) == b"12345678"


def test_everything_is_freed_at_the_end() -> None:
    driver = FakeDriver()
    with Gpu(driver=driver) as gpu:
        gpu.allocate(8)
        gpu.allocate(16)
        assert len(driver.memory) == 2
    assert not driver.memory
