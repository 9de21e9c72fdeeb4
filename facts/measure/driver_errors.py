"""The driver's error codes as errors with a name, a reason and a next step."""

from __future__ import annotations

from typing import Any

from ...parsers.errors import KneckError, MissingProgramError

NO_DRIVER_HELP = (
    "run this on a machine with an NVIDIA GPU and its driver, "
    "or give the time with --time-ms and the device with --gpu NAME"
)
COMPUTE_SANITIZER = "run the program under compute-sanitizer, and check sizes in --args and --grid"

# Name of the driver's code -> (what happened, next step). Codes not named here are reported by
# the driver's own text.
KNOWN = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": (
        "the kernel read or wrote an illegal address", COMPUTE_SANITIZER),
    "CUDA_ERROR_MISALIGNED_ADDRESS": (
        "the kernel used a misaligned address", COMPUTE_SANITIZER),
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": (
        "the kernel used an address of the wrong memory space", COMPUTE_SANITIZER),
    "CUDA_ERROR_INVALID_PC": ("the kernel jumped to an invalid address", COMPUTE_SANITIZER),
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": (
        "the kernel ran an illegal instruction", "compile it for this GPU's architecture"),
    "CUDA_ERROR_HARDWARE_STACK_ERROR": (
        "the kernel overflowed or corrupted its stack", COMPUTE_SANITIZER),
    "CUDA_ERROR_ASSERT": ("an assertion in the kernel failed", "look at the kernel's message"),
    "CUDA_ERROR_LAUNCH_FAILED": ("the kernel failed while it ran", COMPUTE_SANITIZER),
    "CUDA_ERROR_LAUNCH_TIMEOUT": (
        "the kernel ran into the display's time limit",
        "use a smaller problem, or a GPU without a display"),
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": (
        "the launch needs more registers or shared memory than one SM has",
        "use a smaller --block, or cap registers with --maxrregcount or __launch_bounds__"),
    "CUDA_ERROR_INVALID_VALUE": (
        "the driver refused a value of the launch",
        "check --grid, --block and --dynamic-smem against the device's limits"),
    "CUDA_ERROR_NO_BINARY_FOR_GPU": (
        "the code holds nothing that this GPU can run",
        "compile it for this GPU's architecture (see `kneck probe` for its name)"),
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": (
        "the driver is older than the compiler that made this PTX",
        "update the driver, or compile a cubin for this GPU's architecture"),
    "CUDA_ERROR_INVALID_PTX": ("the driver cannot compile this PTX", "check it with ptxas"),
    "CUDA_ERROR_INVALID_IMAGE": (
        "the driver cannot read this code", "give a cubin, a fatbin or PTX"),
    "CUDA_ERROR_NOT_FOUND": (
        "no kernel of that name in the code", "name it with --kernel, mangled as in the cubin"),
    "CUDA_ERROR_OUT_OF_MEMORY": (
        "the arguments do not fit into the GPU's memory", "use a smaller problem"),
    "CUDA_ERROR_ECC_UNCORRECTABLE": (
        "the GPU reports an uncorrectable memory error", "run it on another GPU"),
}  # fmt: skip
MISSING = {
    "CUDA_ERROR_NO_DEVICE": ("this machine has no CUDA GPU", NO_DRIVER_HELP),
    "CUDA_ERROR_STUB_LIBRARY": ("libcuda is a stub, not a driver", NO_DRIVER_HELP),
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": (
        "driver and kernel module do not match", "restart the machine after the driver's update"),
    "CUDA_ERROR_INSUFFICIENT_DRIVER": ("the driver is too old for cuda-python",
        "update the driver, or install an older cuda-python"),
    "CUDA_ERROR_NOT_INITIALIZED": ("the driver does not start", NO_DRIVER_HELP),
    "CUDA_ERROR_DEVICE_UNAVAILABLE": (
        "the GPU is in use by a process that holds it alone", "wait for it, or use another GPU"),
}  # fmt: skip
# After these the context is lost: nothing can be freed or launched in it any more.
BREAKING = frozenset({
    "CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_MISALIGNED_ADDRESS", "CUDA_ERROR_INVALID_PC",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE", "CUDA_ERROR_ILLEGAL_INSTRUCTION", "CUDA_ERROR_ASSERT",
    "CUDA_ERROR_HARDWARE_STACK_ERROR", "CUDA_ERROR_LAUNCH_FAILED", "CUDA_ERROR_LAUNCH_TIMEOUT",
    "CUDA_ERROR_ECC_UNCORRECTABLE",
})  # fmt: skip


class DriverError(KneckError):
    """A call of the CUDA driver failed; `code` is the driver's own name for it."""

    def __init__(self, what: str, help: str | None, code: str) -> None:
        super().__init__(what, help=help)
        self.code = code

    @property
    def breaks_context(self) -> bool:
        """Tell whether the context is lost with this error."""
        return self.code in BREAKING


class MissingGpuError(MissingProgramError, DriverError):
    """There is no GPU or no usable driver (exit status 3)."""


def driver_error(driver: Any, status: Any, call: str) -> DriverError:
    """Make the error for a status that is not success."""
    code = getattr(status, "name", str(status))
    if code in MISSING:
        what, help = MISSING[code]
        return MissingGpuError(what, help, code)
    if code in KNOWN:
        what, help = KNOWN[code]
        return DriverError(f"{what} ({code})", help, code)
    found = driver.cuGetErrorString(status)
    text = bytes(found[1]).decode() if int(found[0]) == 0 and found[1] else "unknown error"
    return DriverError(f"{call} failed: {text} ({code})", None, code)
