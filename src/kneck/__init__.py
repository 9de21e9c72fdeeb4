"""Why is this CUDA kernel slow, and what to do about it first.

>>> import kneck
>>> kneck.occupancy("sm_86", registers=64, threads=256, static_smem=8192).blocks_per_sm
4
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to import than an interrupt should have to wait
if TYPE_CHECKING:
    from typing import Any

    from .engine.api import infer, occupancy, parse_resources, parse_sass
    from .parsers.errors import KneckError

__version__ = "0.1.0"
__all__ = ["KneckError", "infer", "occupancy", "parse_resources", "parse_sass"]


def __getattr__(name: str) -> Any:
    """Import the front door's functions when they are asked for: the command line needs few."""
    if name == "KneckError":
        from .parsers.errors import KneckError

        return KneckError
    if name in __all__:
        from .engine import api

        return getattr(api, name)
    raise AttributeError(f"module 'kneck' has no attribute {name!r}")
