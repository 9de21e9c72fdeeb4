"""The helper kernels of `kb/probes/support.cu`: fill arrays, pass time, do nothing."""

from __future__ import annotations

from ..arguments import Argument
from ..gpu import Gpu
from .contents import constant_value, encoded, random_limit
from .device import Launch

ONE_WARP = Launch((1, 1, 1), (32, 1, 1))


class Support:
    """The helper kernels of `kb/probes/support.cu`, loaded for one GPU."""

    BLOCK = 256
    BLOCKS_PER_SM = 8

    def __init__(self, gpu: Gpu, image: bytes) -> None:
        self._gpu = gpu
        self._module = gpu.load(image)
        blocks = gpu.info.sms * self.BLOCKS_PER_SM
        self._launch = Launch((blocks, 1, 1), (self.BLOCK, 1, 1))
        self._spin = gpu.function(self._module, "spin")
        self.empty = gpu.function(self._module, "empty")

    def run(self, kernel: str, address: int, count: int, seed: int = 0, value: int = 0) -> None:
        """Launch one helper on an array."""
        parameters = [
            address.to_bytes(8, "little"),
            count.to_bytes(8, "little"),
            seed.to_bytes(4, "little"),
            value.to_bytes(8, "little"),
        ]
        self._gpu.launch(self._gpu.function(self._module, kernel), self._launch, parameters)

    def spin(self, microseconds: float) -> None:
        """Keep the GPU busy for about this long."""
        nanoseconds = int(1000 * microseconds).to_bytes(8, "little")
        self._gpu.launch(self._spin, ONE_WARP, [nanoseconds])

    def fill(self, address: int, argument: Argument, seed: int) -> None:
        """Give an array its contents."""
        count = argument.count or 0
        family = argument.dtype if argument.dtype[0] in "fb" else f"i{argument.dtype[1:]}"
        if argument.contents in ("random", "iota", "cycle"):
            limit = random_limit(argument)
            self.run(f"fill_{argument.contents}_{family}", address, count, seed, limit)
            return
        pattern = int.from_bytes(encoded(constant_value(argument), argument.dtype), "little")
        self.run(f"fill_value_{8 * argument.element_bytes}", address, count, 0, pattern)
