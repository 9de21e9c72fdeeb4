"""The problem that a kernel solves: operations and unique bytes from its dimensions.

`gemm:M=4096,N=4096,K=4096,dtype=f16` names a model of kb/problems; its formulas are data. Values
may be expressions over the other dimensions. What the specification leaves open is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from ..parsers.errors import KneckError
from ..parsers.expression_tree import Expression, Scalar, evaluate
from ..parsers.record import dataclass
from ..parsers.suggest import suggestion
from .model import Fact, Source

NOT_NUMBERS = frozenset({"nan", "inf", "infinity", "-inf", "-infinity", "+inf", "+infinity"})
MOST_DIGITS = 15  # of a number that a float holds exactly
EXAMPLE = "gemm:M=4096,N=4096,K=4096,dtype=f16"


@dataclass(frozen=True, slots=True)
class Dimension:
    """One size of a model; `default` is a formula, `optional` leaves it unknown."""

    meaning: str
    default: Expression | None = None
    smallest: float = 1
    largest: float | None = None
    optional: bool = False
    whole: bool = True


@dataclass(frozen=True, slots=True)
class TypeSlot:
    """One element type of a model; `default` names a type, a slot, or `slot.accumulates`."""

    meaning: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element type; `product` names the peak of a product of it.

    `accumulates` and `result` are the types that sums and results of products usually have.
    """

    name: str
    bytes: float
    names: tuple[str, ...] = ()
    accumulates: str | None = None
    result: str | None = None
    product: str | None = None
    product_fp32acc: str | None = None


@dataclass(frozen=True)
class ProblemModel:
    """One kind of problem, from kb/problems; `places` says where each formula stands."""

    id: str
    title: str
    dimensions: Mapping[str, Dimension]
    types: Mapping[str, TypeSlot]
    derived: Mapping[str, Expression]
    flops: Expression
    arrays: Mapping[str, Expression]
    element_types: Mapping[str, ElementType]
    product: str | None = None
    places: Mapping[str, str] = field(default_factory=dict)

    def keys(self) -> list[str]:
        """List what a specification may set."""
        return [*self.dimensions, *self.types]


@dataclass(frozen=True)
class Problem:
    """A problem with its numbers; None is unknown, and `missing` names what would tell.

    `bytes` counts every array once (unique DRAM bytes), `arrays` the same by array.
    """

    kind: str
    text: str
    dimensions: Mapping[str, int | float]
    types: Mapping[str, str]
    flops: int | float | None
    bytes: int | float | None
    arrays: Mapping[str, int | float | None]
    precision: str | None
    missing: tuple[str, ...]
    places: Mapping[str, str] = field(default_factory=dict)


def parse_problem(text: str, models: Mapping[str, ProblemModel]) -> Problem:
    """Read a specification `KIND:NAME=VALUE,...`; raises KneckError that names the wrong part."""
    kind, _, rest = text.partition(":")
    kind = kind.strip()
    if kind not in models:
        what = f'unknown problem "{kind}"' if kind else "the problem is empty"
        raise KneckError(what, help=suggestion(kind, models) if kind else f"write {EXAMPLE}")
    model = models[kind]
    given = _assignments(rest, model)
    types = _types(model, given)
    dimensions = _dimensions(model, given)
    lookup = _lookup(model, dimensions, types)
    for name, formula in model.derived.items():
        value = evaluate(formula, lookup)
        if isinstance(value, (int, float)):
            dimensions[name] = _within(name, value, Dimension(name), formula.text)
    arrays = {name: _number(evaluate(formula, lookup)) for name, formula in model.arrays.items()}
    known = [size for size in arrays.values() if size is not None]
    return Problem(
        kind=kind,
        text=text.strip(),
        dimensions=dimensions,
        types=types,
        flops=_number(evaluate(model.flops, lookup)),
        bytes=sum(known) if len(known) == len(arrays) else None,
        arrays=arrays,
        precision=_precision(model, types),
        missing=_missing(model, {*dimensions, *types}),
        places=model.places,
    )


def problem_facts(problem: Problem) -> list[Fact]:
    """Give the problem as facts: text, operations, unique bytes, dimensions, precision."""
    option = Source("option", f"--problem {problem.text}")
    facts = [
        Fact("baseline.problem", problem.text, "", option),
        Fact("problem.kind", problem.kind, "", option),
    ]
    for name, value, unit in (("flops", problem.flops, "FLOP"), ("bytes", problem.bytes, "B")):
        if value is not None:
            detail = f"{problem.text}, by {problem.places.get(name, problem.kind)}"
            facts.append(Fact(f"baseline.{name}", value, unit, Source("option", detail)))
    facts.extend(Fact(f"problem.{n}", v, "", option) for n, v in problem.dimensions.items())
    facts.extend(Fact(f"problem.{n}", v, "", option) for n, v in problem.types.items())
    if problem.precision is not None:
        facts.append(Fact("problem.precision", problem.precision, "", option))
    return facts


def _assignments(rest: str, model: ProblemModel) -> dict[str, str]:
    """Split `A=1,B=max(2,3)` at the commas outside of brackets."""
    given: dict[str, str] = {}
    for part in _split(rest):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name:
            raise KneckError(f'"{part.strip()}" in --problem sets nothing', help="write NAME=VALUE")
        if name not in model.keys():
            raise KneckError(
                f'{model.id} has no dimension "{name}"', help=suggestion(name, model.keys())
            )
        if name in given:
            raise KneckError(f"{name} is given twice in --problem", help="keep one of the two")
        if not value:
            raise KneckError(f"{name} has no value in --problem", help=f"write {name}=VALUE")
        given[name] = value
    return given


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth <= 0:
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return [part for part in parts if part.strip()]


def _types(model: ProblemModel, given: Mapping[str, str]) -> dict[str, str]:
    spelled = {
        spelling: element.name
        for element in model.element_types.values()
        for spelling in (element.name, *element.names)
    }
    types: dict[str, str] = {}
    for slot, declared in model.types.items():
        name = given.get(slot)
        if name is not None:
            if name.lower() not in spelled:
                raise KneckError(
                    f'{slot}: unknown element type "{name}"', help=suggestion(name, spelled)
                )
            types[slot] = spelled[name.lower()]
            continue
        default = _default_type(declared.default, types, model)
        if default is not None:
            types[slot] = default
    return types


def _default_type(default: str | None, types: Mapping[str, str], model: ProblemModel) -> str | None:
    """Resolve `s32`, `dtype`, `dtype.accumulates` or `dtype.result`."""
    if default is None or default in model.element_types:
        return default
    slot, _, attribute = default.partition(".")
    element = model.element_types.get(types.get(slot, ""))
    if element is None:
        return None
    if attribute == "accumulates":
        return element.accumulates
    if attribute == "result":
        return element.result
    return element.name


def _dimensions(model: ProblemModel, given: Mapping[str, str]) -> dict[str, int | float]:
    formulas: dict[str, Expression] = {}
    for name, declared in model.dimensions.items():
        if name in given:
            formulas[name] = _formula(name, given[name])
        elif declared.default is not None:
            formulas[name] = declared.default
        elif not declared.optional:
            raise KneckError(
                f"{model.id} needs {name} ({declared.meaning})", help=f"add {name}=VALUE"
            )
    found: dict[str, int | float] = {}
    for name in formulas:
        _resolve(name, formulas, found, (), model)
    return {name: found[name] for name in model.dimensions if name in found}


def _formula(name: str, text: str) -> Expression:
    if text.isdecimal() and text.isascii() and len(text) <= MOST_DIGITS:
        return Expression(text, ("num", int(text)), ())  # a plain number needs no parser
    from ..parsers.expression import parse_expression

    if text.lower() in NOT_NUMBERS:
        raise KneckError(f"{name}: {text} is not a number", help="give a finite number")
    try:
        return parse_expression(text)
    except KneckError as error:
        what, *sketch = error.what.split("\n")
        lines = "\n".join([f"{name}={text} is no formula: {what}", *sketch])
        raise KneckError(
            lines, help=error.help or "write numbers, dimensions, + - * / ( )"
        ) from None


def _resolve(
    name: str,
    formulas: Mapping[str, Expression],
    found: dict[str, int | float],
    asking: tuple[str, ...],
    model: ProblemModel,
) -> None:
    """Evaluate a dimension after those that it names."""
    if name in found:
        return
    if name in asking:
        raise KneckError(
            f"{name} depends on itself: {' -> '.join((*asking, name))}",
            help=f"give {name} a number",
        )
    formula = formulas[name]
    for other in formula.names:
        if other not in model.dimensions:
            raise KneckError(
                f'{name}={formula.text} names "{other}", which is no dimension of {model.id}',
                help=suggestion(other, model.dimensions),
            )
        if other not in formulas:
            raise KneckError(f"{name} needs {other}, which is not given", help=f"add {other}=VALUE")
        _resolve(other, formulas, found, (*asking, name), model)
    value = evaluate(formula, found.get)
    if isinstance(value, bool) and model.dimensions[name].largest == 1:
        value = int(value)  # causal=true
    if isinstance(value, (bool, str)) or value is None:
        raise KneckError(f"{name}={formula.text} is not a number", help="give a finite number")
    found[name] = _within(name, value, model.dimensions[name], formula.text)


def _within(name: str, value: int | float, declared: Dimension, text: str) -> int | float:
    shown = text if text == f"{value:g}" else f"{text} = {value:g}"
    if value < declared.smallest:
        what = "is negative" if value < 0 else f"is below {declared.smallest:g}"
        raise KneckError(f"{name}: {shown} {what}", help=f"give {declared.smallest:g} or more")
    if declared.largest is not None and value > declared.largest:
        raise KneckError(
            f"{name}: {shown} is above {declared.largest:g}",
            help=f"give {declared.smallest:g} to {declared.largest:g}",
        )
    if declared.whole and value != int(value):
        raise KneckError(f"{name}: {shown} is not a whole number", help="give a whole number")
    return int(value) if value == int(value) else value


def _lookup(
    model: ProblemModel, dimensions: Mapping[str, int | float], types: Mapping[str, str]
) -> Callable[[str], Scalar | None]:
    """Look up a dimension, or the size of an element as TYPE.bytes."""

    def lookup(name: str) -> Scalar | None:
        slot, _, attribute = name.partition(".")
        if attribute == "bytes":
            element = model.element_types.get(types.get(slot, ""))
            return None if element is None else element.bytes
        return dimensions.get(name)

    return lookup


def _missing(model: ProblemModel, known: set[str]) -> tuple[str, ...]:
    """Name what the formulas use and nothing gives; a type that follows from another is not it."""
    used = {name for formula in (model.flops, *model.arrays.values()) for name in formula.names}
    missing = [name for name in model.dimensions if name in used - known]
    for slot in model.types:
        default = (model.types[slot].default or "").partition(".")[0]
        follows = default in model.types and default not in known and f"{default}.bytes" in used
        if f"{slot}.bytes" in used and slot not in known and not follows:
            missing.append(slot)
    return tuple(missing)


def _precision(model: ProblemModel, types: Mapping[str, str]) -> str | None:
    """Name the peak of the model's product, where type and accumulator tell it."""
    element = model.element_types.get(types.get(model.product or "", ""))
    if element is None:
        return None
    if element.product_fp32acc is None:
        return element.product
    accumulator = types.get("acc")
    if accumulator is None:
        return None
    return element.product if accumulator == element.name else element.product_fp32acc


def _number(value: Scalar | None) -> int | float | None:
    if value is None or isinstance(value, (bool, str)):
        return None
    return int(value) if value == int(value) else value
