"""Shape of a set of measured kernels (manifest, measured figures) and of `kb/truth.yaml`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

Fraction = Annotated[float, Field(gt=0, le=1)]
Axes = Annotated[list[PositiveInt], Field(min_length=1, max_length=3)]
Class = Literal["compute", "memory", "latency"]


class Strict(BaseModel):
    """Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")


class KernelEntry(Strict):
    """One kernel as it was launched; `cubin` is a path from the set's folder.

    `contents`, `tensor_maps` and `check` are for the program that measures; `expected` is what
    its author thought before.
    """

    name: Annotated[str, Field(min_length=1)]
    grid: Axes
    block: Axes
    problem: str
    args: str
    cubin: str | None = None
    kernel: str | None = None
    arch: str | None = None
    dynamic_smem: Annotated[int, Field(ge=0)] | None = None
    dims: dict[str, int] = Field(default_factory=dict)
    contents: dict[int, str] = Field(default_factory=dict)
    tensor_maps: dict[int, Any] = Field(default_factory=dict)
    check: str | None = None
    expected: Class | None = None

    @property
    def family(self) -> str:
        """Give the text before the first underscore; variants of one family share it."""
        return self.name.split("_")[0]


class PairEntry(Strict):
    """A kernel, and the same work with one strategy applied.

    other_size: the variant ran another size, so times are compared per operation (or byte).
    is_evidence: the strategy's range was made with this outcome.
    """

    base: str
    variant: str
    strategy: str
    other_size: bool = False
    is_evidence: bool = False


class Demands(Strict):
    """The least that is asked of each figure, as a share of 1; None: nothing is asked."""

    class_with_arguments: Fraction | None = None
    class_without_arguments: Fraction | None = None
    resource: Fraction | None = None
    executed: Fraction | None = None
    wavefronts: Fraction | None = None
    sectors: Fraction | None = None
    among_first: Fraction | None = None
    gain_inside: Fraction | None = None


class Manifest(Strict):
    """The set: which GPU it was measured on, its kernels, its pairs."""

    gpu: str
    kernels: Annotated[list[KernelEntry], Field(min_length=1)]
    pairs: list[PairEntry] = Field(default_factory=list)
    demands: Demands = Demands()


class Unit(Strict):
    """What a bound can name; `parts` are the resources that belong to it."""

    side: Literal["compute", "memory"]
    counters: list[str]
    parts: list[str] = Field(default_factory=list)


class Sides(Strict):
    """The counters that say how busy each side is."""

    compute: str
    memory: str


class Tolerance(Strict):
    """How far a figure may be from the measured one to count as right."""

    saturated: Fraction
    equally_busy: Fraction
    executed: Fraction
    wavefronts: Fraction
    sectors: Fraction
    noise: Fraction


class Published(Strict):
    """What another tool reached at the same task."""

    gain_error: PositiveFloat
    source: list[str]


class Judge(Strict):
    """The whole of `kb/truth.yaml`."""

    side: Sides
    units: dict[str, Unit]
    tolerance: Tolerance
    first: PositiveInt
    published: Published
