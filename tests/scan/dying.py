"""Work that ends its process, as a lack of memory or a fault of the interpreter does."""

from __future__ import annotations

import os

from kneck.engine.scan import pool
from kneck.engine.scan.model import Unit


def do_unit(unit: Unit) -> None:
    """Die with one file, do the others."""
    if "saxpy" in unit.file:
        os._exit(9)
    pool._worker.do(unit)  # type: ignore[union-attr]
