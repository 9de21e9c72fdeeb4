"""The knowledge that one request needs: rules, hardware, and which device judges."""

from __future__ import annotations

from collections.abc import Mapping

from ..facts.hardware import Architecture, Device, PeaksBasis
from ..facts.model import Value
from ..facts.request import Request
from ..parsers.errors import KneckError
from ..parsers.generations import sm_number
from ..parsers.record import dataclass
from ..rules.bundle import Hardware, load_hardware
from ..rules.cache import load_knowledge
from ..rules.model import Knowledge
from ..rules.overlay import knowledge_folders

LOCAL = "local"


@dataclass(frozen=True)
class Setting:
    """Rules and hardware of a request; `basis` is None where the user left the peaks open."""

    knowledge: Knowledge
    hardware: Hardware
    basis: PeaksBasis | None

    def method(self, name: str) -> Value | None:
        """Give a figure of the method."""
        wanted = f"method.{name}"
        return next((f.value for f in self.knowledge.method if f.name == wanted), None)

    @property
    def most_threads(self) -> int | None:
        """Give the largest block that any architecture takes; occupancy knows each one's own."""
        limits = [found.limits for found in self.hardware.architectures.values()]
        return max((each.max_threads_per_block for each in limits), default=None)

    @property
    def most_blocks(self) -> tuple[int, int, int] | None:
        """Give the largest grid in x, y and z, the same for all architectures here."""
        sizes = [self.method(f"max_grid_{axis}") for axis in "xyz"]
        x, y, z = (int(size) if isinstance(size, (int, float)) else 0 for size in sizes)
        return (x, y, z) if x and y and z else None

    @property
    def reserve_bytes(self) -> Mapping[str, int]:
        """Map each architecture whose tools count the driver's reserve to that reserve."""
        return reserve_bytes(self.hardware)


def load_setting(request: Request) -> Setting:
    """Load rules and hardware of the folders in force; raises KnowledgeError for a fault."""
    folders = knowledge_folders(request.kb)
    return Setting(load_knowledge(folders), load_hardware(folders), _basis(request.peaks))


def reserve_bytes(hardware: Hardware) -> dict[str, int]:
    """Map each architecture whose tools count the driver's reserve to that reserve."""
    return {
        name: found.limits.smem_reserved_bytes_per_block
        for name, found in hardware.architectures.items()
        if found.capabilities.get("res_usage_includes_reserve")
    }


def choose_device(request: Request, code_arch: str, setting: Setting) -> Device | None:
    """Give the device that judges: the one named, else the default one if it can run the code.

    Raises KneckError for an unknown device and for one that cannot run the code.
    """
    if request.gpu is not None:
        named = setting.hardware.device(request.gpu)
        if not can_run(code_arch, named.arch):
            raise KneckError(
                f"{named.name} is {named.arch} and cannot run code for {code_arch}",
                help=f"name a device for {code_arch} with --gpu, or build for {named.arch}",
            )
        return named
    device = default_device(setting)
    return device if device is not None and can_run(code_arch, device.arch) else None


def default_device(setting: Setting) -> Device | None:
    """Give the device that judges where none is named."""
    return setting.hardware.devices.get(str(setting.method("default_device")))


def can_run(code_arch: str, device_arch: str) -> bool:
    """Tell whether machine code runs on a device: same major version, not a later minor one.

    Code for one chip (`sm_90a`) runs on that version alone. Source: CUDA Programming Guide,
    binary compatibility.
    """
    code, device = sm_number(code_arch), sm_number(device_arch)
    if code is None or device is None:
        return False
    if code_arch[-1:].isalpha():
        return code == device
    return code // 10 == device // 10 and code <= device


def limiting_architecture(
    device: Device | None, code_arch: str, setting: Setting
) -> Architecture | None:
    """Give the architecture whose limits hold: the device's, else the code's; None: no file."""
    return setting.hardware.architecture(device.arch if device is not None else code_arch)


def _basis(text: str | None) -> PeaksBasis | None:
    match text:
        case "dense" | "published" | "measured":
            return text
        case None:
            return None
    known = "dense, published, measured"
    raise KneckError(f'unknown peaks "{text}"', help=f"known: {known}")
