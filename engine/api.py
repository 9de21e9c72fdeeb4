"""The Python functions of the contract, re-exported by the package `kneck`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..facts.occupancy import Occupancy
from ..parsers.errors import KneckError
from ..parsers.suggest import suggestion

if TYPE_CHECKING:
    from ..facts.hardware import Architecture
    from ..parsers.listing import Listing, ResourceRecord
    from .diagnosis import Diagnosis


def infer(
    target: str,
    *,
    grid: int | str | Sequence[int] | None = None,
    block: int | str | Sequence[int] | None = None,
    what_if: Iterable[str] = (),
    kb: str | Iterable[str] = (),
    **options: Any,
) -> Diagnosis:
    """Diagnose one kernel; keywords are the options of `kneck infer` with underscores.

    Raises KneckError for wrong use and unreadable input, TypeError for an unknown keyword.
    """
    from ..facts.request import Request
    from .session import diagnose

    folders = (kb,) if isinstance(kb, str) else tuple(kb)
    request = Request(
        target=str(target),
        grid=_axes(grid),
        block=_axes(block),
        what_if=tuple(what_if),
        kb=folders,
        command=f"kneck.infer({str(target)!r})",
        **options,
    )
    return diagnose(request).diagnosis


def occupancy(
    arch: str,
    *,
    registers: int,
    threads: int,
    static_smem: int = 0,
    dynamic_smem: int = 0,
    carveout: int | None = None,
    barriers: int = 1,
    kb: Iterable[str] = (),
) -> Occupancy:
    """Compute blocks and warps per SM of a launch; sizes in bytes, carve-out in percent.

    Raises KneckError for an architecture without a file and for values no launch can have.
    """
    from ..facts.occupancy import occupancy as compute

    limits = architecture(arch, kb).limits
    return compute(limits, registers, threads, static_smem, dynamic_smem, carveout, barriers)


def architecture(name: str, kb: Iterable[str] = ()) -> Architecture:
    """Load an architecture of the knowledge base; raises KneckError where it has no file."""
    from ..rules.hardware import architecture_names, load_architecture
    from ..rules.overlay import knowledge_folders

    folders = [folder.path for folder in knowledge_folders(kb)]
    found = load_architecture(name, folders)
    if found is None:
        known = architecture_names(folders)
        raise KneckError(
            f'no architecture "{name}"; kb/architectures has {", ".join(known)}',
            help=f"{suggestion(name, known)} To add one: CONTRIBUTING.md, Adding an architecture",
        )
    return found


def parse_sass(text: str, path: str = "<text>") -> Listing:
    """Parse the text of `cuobjdump -sass` or `nvdisasm`; raises KneckError for anything else."""
    from ..parsers.sass import parse_sass as parse

    return parse(text, path)


def parse_resources(text: str, path: str = "<text>") -> list[ResourceRecord]:
    """Parse a log of `nvcc --resource-usage`, `ptxas -v` or `cuobjdump -res-usage`."""
    from ..parsers.resources import parse_resources as parse

    return parse(text, path, reserved_bytes())


def reserved_bytes(kb: Iterable[str] = ()) -> dict[str, int]:
    """Map each architecture whose `-res-usage` counts the driver's reserve to that reserve."""
    from ..rules.hardware import load_architectures
    from ..rules.overlay import knowledge_folders

    folders = [folder.path for folder in knowledge_folders(kb)]
    return {
        name: found.limits.smem_reserved_bytes_per_block
        for name, found in load_architectures(folders).items()
        if found.capabilities.get("res_usage_includes_reserve")
    }


def _axes(value: int | str | Sequence[int] | None) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) else ",".join(map(str, value))
