"""First files for a new architecture, device or strategy, which pass the checks as they stand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..parsers.errors import KneckError
from ..parsers.generations import sm_number
from ..parsers.suggest import suggestion
from .overlay import KnowledgeFolder

KINDS = {"arch": "architectures", "device": "devices", "strategy": "strategies"}
PIPES = "pipes"
NAMES = {
    "arch": (r"sm_[0-9]+[a-z]?", "sm_99"),
    "device": (r"[a-z0-9]+(-[a-z0-9]+)*", "rtx-9090"),
    "strategy": (r"[a-z0-9]+(-[a-z0-9]+)*", "widen-stores"),
}
TEMPLATE = Path("templates", "strategy.yaml")


def new_files(
    kind: str, name: str, folders: Sequence[KnowledgeFolder], like: str | None = None
) -> dict[Path, str]:
    """Give the first files of a name: their paths inside a knowledge folder, and their texts.

    An architecture or a device is a copy of the one named `like`, else of the nearest one; an
    architecture has a second file for its pipes. Raises KneckError for a wrong name and for one
    that exists.
    """
    if kind not in KINDS:
        raise KneckError(f'no kind "{kind}" of knowledge file', help=suggestion(kind, KINDS))
    pattern, example = NAMES[kind]
    if not re.fullmatch(pattern, name):
        raise KneckError(f'"{name}" is no name for a new {kind}', help=f"write it like {example}")
    known = _known(kind, folders)
    if name in known:
        raise KneckError(f"{name} has a file already: {known[name].shown}", help="edit that one")
    path = Path(KINDS[kind], f"{name}.yaml")
    if kind == "strategy":
        template = (folders[0].path / TEMPLATE).read_text(encoding="utf-8")
        return {path: template.replace("- id: ID", f"- id: {name}")}
    base = _base(kind, name, known, like)
    sources = {path: known[base].path}
    if kind == "arch":
        found = [folder.path / PIPES / f"{base}.yaml" for folder in folders]
        sources |= {Path(PIPES, f"{name}.yaml"): pipes for pipes in found if pipes.is_file()}
    texts = {inside: source.read_text(encoding="utf-8") for inside, source in sources.items()}
    return {inside: _renamed(kind, name, base, text) for inside, text in texts.items()}


class _Known(NamedTuple):
    """A file of a knowledge folder, and its path as reports give it."""

    path: Path
    shown: str


def _known(kind: str, folders: Sequence[KnowledgeFolder]) -> dict[str, _Known]:
    return {
        path.stem: _Known(path, f"{folder.name}/{KINDS[kind]}/{path.name}")
        for folder in folders
        for path in sorted((folder.path / KINDS[kind]).glob("*.yaml"))
    }


def _base(kind: str, name: str, known: dict[str, _Known], like: str | None) -> str:
    if like is not None:
        if like not in known:
            raise KneckError(f'there is no {kind} "{like}"', help=suggestion(like, known))
        return like
    if kind == "device":
        from difflib import get_close_matches

        return get_close_matches(name, known, 1, cutoff=0)[0]
    wanted = sm_number(name) or 0
    return min(known, key=lambda other: (abs((sm_number(other) or 0) - wanted), other))


def _renamed(kind: str, name: str, base: str, text: str) -> str:
    """Put the new name in, and say at the top that every figure is still that of another."""
    head = (
        f"# {name}: copied from {base}. Change every figure, give each group its own source and\n"
        f"# status, and leave out what is not known; then: kneck kb check\n#\n"
    )
    if kind == "device":
        text = re.sub(rf"(?m)^id: {re.escape(base)}$", f"id: {name}", text)
        text = re.sub(r"(?m)^name: .*$", f"name: {name}", text)
        return head + _without_measured(text)
    text = re.sub(rf"(?m)^arch: {re.escape(base)}$", f"arch: {name}", text)
    number = sm_number(name) or 0
    capability = f'compute_capability: "{number // 10}.{number % 10}"'
    return head + re.sub(r"(?m)^compute_capability: .*$", capability, text)


def _without_measured(text: str) -> str:
    """Leave out what was measured on the other device."""
    text = re.sub(r"(?m)^measured:\n(?:[ #].*\n?|\n)*", "", text)
    return re.sub(r"(?m)^  measured:\n(?:    .*\n?)*", "", text)
