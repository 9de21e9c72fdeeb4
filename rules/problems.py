"""Read kb/problems: element types and problem models, formulas parsed and their names checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, PositiveFloat

from ..facts.problem import Dimension, ElementType, ProblemModel, TypeSlot
from ..parsers.errors import KnowledgeError
from ..parsers.expression_tree import Expression
from ..parsers.suggest import suggestion
from .documents import Document, validate
from .hardware_files import (
    check_name,
    check_sources,
    entries,
    formula,
    load_sources,
    read_file,
)
from .hardware_schema import SourceKeys, Strict
from .instruction_schema import Precision

FOLDER = "problems"
TYPES = "types"
Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]


class DimensionFile(Strict):
    """One dimension."""

    meaning: str
    default: str | None = None
    smallest: Annotated[float, Field(ge=0)] = 1
    largest: PositiveFloat | None = None
    optional: bool = False
    whole: bool = True


class SlotFile(Strict):
    """One element type that a specification may set."""

    meaning: str
    default: str | None = None


class ProblemFile(Strict):
    """kb/problems/KIND.yaml."""

    id: Name
    title: str
    source: SourceKeys
    product: Name | None = None
    dimensions: dict[Name, DimensionFile]
    types: dict[Name, SlotFile] = Field(default_factory=dict)
    derived: dict[Name, str] = Field(default_factory=dict)
    flops: str
    arrays: Annotated[dict[Name, str], Field(min_length=1)]


class TypeFile(Strict):
    """One element type of kb/problems/types.yaml."""

    bytes: PositiveFloat
    names: tuple[str, ...] = ()
    accumulates: str | None = None
    result: str | None = None
    product: Precision | None = None
    product_fp32acc: Precision | None = None


def read_problem_models(folders: Sequence[Path]) -> dict[str, ProblemModel]:
    """Read all models by id; raises KnowledgeError with the place of the first fault."""
    sources = load_sources(folders)
    element_types = _element_types(folders)
    models = {}
    for name, (folder, path) in entries(folders, FOLDER).items():
        if name != TYPES:
            document = read_file(folder, path)
            parsed = validate(document, ProblemFile)
            check_name(document, "id", parsed.id, path)
            check_sources(document, parsed.source, sources, "source")
            models[name] = _model(document, parsed, element_types)
    return models


def _element_types(folders: Sequence[Path]) -> dict[str, ElementType]:
    found: dict[str, ElementType] = {}
    for folder in folders:
        path = folder / FOLDER / f"{TYPES}.yaml"
        if path.is_file():
            document = read_file(folder, path)
            for name in document.data if isinstance(document.data, dict) else ():
                parsed = validate(document, TypeFile, name)
                found[name] = ElementType(name, **dict(parsed))
    return found


def _model(
    document: Document, parsed: ProblemFile, element_types: Mapping[str, ElementType]
) -> ProblemModel:
    dimensions = {
        name: Dimension(
            declared.meaning,
            _default(document, parsed, name, declared.default),
            declared.smallest,
            declared.largest,
            declared.optional,
            declared.whole,
        )
        for name, declared in parsed.dimensions.items()
    }
    known = [*parsed.dimensions, *(f"{slot}.bytes" for slot in parsed.types)]
    derived: dict[str, Expression] = {}
    for name, text in parsed.derived.items():
        derived[name] = _formula(document, text, known, "derived", name)
        known.append(name)
    slots = set(parsed.types)
    for slot, declared in parsed.types.items():
        first = (declared.default or slot).split(".")[0]
        if first not in slots | set(element_types):
            raise document.error(
                f'unknown type "{declared.default}"',
                "types",
                slot,
                "default",
                help=suggestion(first, slots | set(element_types)),
            )
    if parsed.product is not None and parsed.product not in slots:
        raise document.error(
            f'"{parsed.product}" is no type', "product", help=suggestion(parsed.product, slots)
        )
    return ProblemModel(
        id=parsed.id,
        title=parsed.title,
        dimensions=dimensions,
        types={n: TypeSlot(slot.meaning, slot.default) for n, slot in parsed.types.items()},
        derived=derived,
        flops=_formula(document, parsed.flops, known, "flops"),
        arrays={
            name: _formula(document, text, known, "arrays", name)
            for name, text in parsed.arrays.items()
        },
        element_types=element_types,
        product=parsed.product,
        places={
            "flops": str(document.place("flops")),
            "bytes": str(document.key_place("arrays")),
        },
    )


def _default(
    document: Document, parsed: ProblemFile, name: str, text: str | None
) -> Expression | None:
    if text is None:
        return None
    return _formula(document, text, parsed.dimensions, "dimensions", name, "default")


def _formula(document: Document, text: str, known: Iterable[str], *at: str) -> Expression:
    place = document.place(*at)
    parsed = formula(text, place)
    names = list(known)
    for name in parsed.names:
        if name not in names:
            raise KnowledgeError(
                f'unknown name "{name}" in a formula', place, suggestion(name, names)
            )
    return parsed
