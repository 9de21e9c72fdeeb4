"""What the GPU's driver tells about a device, a function and a launch, in kneck's own types."""

from __future__ import annotations

from ...parsers.record import dataclass

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """One GPU as its driver describes it; sizes in bytes, rates in MHz, None where unknown."""

    ordinal: int
    name: str
    arch: str
    sms: int
    memory_bytes: int
    l2_bytes: int | None
    sm_clock_mhz: float | None
    memory_clock_mhz: float | None
    memory_bus_bits: int | None
    smem_per_sm: int
    smem_per_block_optin: int
    smem_reserved_per_block: int
    registers_per_sm: int
    threads_per_sm: int
    blocks_per_sm: int | None
    driver_version: str
    uuid: str = ""

    @property
    def dram_gb_per_s(self) -> float | None:
        """Nominal memory bandwidth: two transfers a clock over the whole bus, in 1e9 B/s."""
        if self.memory_clock_mhz is None or self.memory_bus_bits is None:
            return None
        return 2 * self.memory_clock_mhz * 1e6 * self.memory_bus_bits / 8 / 1e9


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """Attributes of a loaded kernel; `parameters` are (offset, size), None if not told."""

    name: str
    registers: int
    static_smem: int
    local_bytes: int
    constant_bytes: int
    max_threads: int
    binary_version: int  # 90 for sm_90
    ptx_version: int
    parameters: tuple[tuple[int, int], ...] | None


@dataclass(frozen=True, slots=True)
class Launch:
    """Grid, block and shared memory of a launch; `carveout` in percent, None for the default."""

    grid: Dim3
    block: Dim3
    dynamic_smem: int = 0
    carveout: int | None = None

    @property
    def threads(self) -> int:
        """Threads of one block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]


@dataclass(frozen=True, slots=True)
class SensorReading:
    """Clocks, temperature and power at one moment; None where the driver does not tell."""

    sm_clock_mhz: float | None
    memory_clock_mhz: float | None
    temperature_c: float | None
    power_w: float | None
    throttle_reasons: tuple[str, ...] = ()
