"""The nearest cliff of another architecture at or above a block's shared memory."""

from __future__ import annotations

from collections.abc import Mapping

from .cliffs import smem_cliffs
from .derive import Derivation, Outputs
from .hardware import Architecture
from .model import Value

TWO_BLOCKS = 2


def foreign_cliff_derivation(architectures: Mapping[str, Architecture]) -> Derivation:
    """Give `smem.foreign_cliff` and its architecture; figures that the method printed count too."""
    cliffs = {
        name: smem_cliffs(arch.limits).get(TWO_BLOCKS) for name, arch in architectures.items()
    }

    def compute(f: Mapping[str, Value]) -> Outputs:
        smem, own = float(f["smem.per_block"]), f["smem.cliff"]
        known = {name: size for name, size in cliffs.items() if size is not None and size != own}
        if "method.published_cliff_bytes" in f:
            known["the method's table"] = int(f["method.published_cliff_bytes"])
        if "method.mistaken_cliff_bytes" in f:
            known["a common mistake"] = int(f["method.mistaken_cliff_bytes"])
        above = sorted((size, name) for name, size in known.items() if size >= smem)
        text = "smallest two-block cliff of the others that holds this block"
        if not above:
            return {"smem.foreign_cliff": (None, "B", "no other cliff is as large as this block")}
        return {
            "smem.foreign_cliff": (above[0][0], "B", text),
            "smem.foreign_cliff_arch": (above[0][1], "", text),
        }

    return Derivation(
        ("smem.foreign_cliff", "smem.foreign_cliff_arch"),
        ("smem.per_block", "smem.cliff"),
        compute,
        ("method.published_cliff_bytes", "method.mistaken_cliff_bytes"),
    )
