"""Which blocks of a grid are emulated, and how many each stands for."""

from __future__ import annotations

from collections.abc import Sequence

from ...parsers.record import dataclass

WARP = 32


@dataclass(frozen=True, slots=True)
class Sample:
    """One emulated block, and how many blocks of the grid it stands for."""

    index: tuple[int, int, int]
    weight: float


def choose_samples(grid: tuple[int, int, int], warps: int, most_threads: int) -> tuple[Sample, ...]:
    """Choose blocks that stand for the grid: per axis the first, a middle and the last one.

    Edge blocks explain most small errors of a single block. All blocks of a small grid are taken;
    where three per axis would be too many threads, the outer axes keep their middle only, and the
    first and the last block of the grid still stand beside it.
    """
    room = max(3, most_threads // (warps * WARP))
    if grid[0] * grid[1] * grid[2] <= room:
        axes = [[(i, 1.0) for i in range(n)] for n in grid]
        return _product(axes)
    axes = [[(n // 2, float(n))] for n in grid]
    count = 1
    for axis in range(3):
        wanted = _three(grid[axis])
        if count * len(wanted) <= room:
            axes[axis] = wanted
            count *= len(wanted)
    samples = _product(axes)
    corner = (grid[0] - 1, grid[1] - 1, grid[2] - 1)
    present = {sample.index for sample in samples}
    extra = [index for index in ((0, 0, 0), corner) if index not in present]
    if not extra or count + len(extra) > room + 2:
        return samples
    heaviest = max(range(len(samples)), key=lambda i: samples[i].weight)
    if samples[heaviest].weight <= len(extra):
        return samples
    kept = Sample(samples[heaviest].index, samples[heaviest].weight - len(extra))
    changed = [*samples[:heaviest], kept, *samples[heaviest + 1 :]]
    return tuple(changed) + tuple(Sample(index, 1.0) for index in extra)


def scattered_samples(
    grid: tuple[int, int, int], warps: int, most_threads: int
) -> tuple[Sample, ...]:
    """Choose blocks all over the grid, each for the same share of it.

    A rank-1 lattice: the linear index walks by the golden section, so that rows and columns are
    both covered.
    """
    total = grid[0] * grid[1] * grid[2]
    count = min(total, max(8, most_threads // (warps * WARP)))
    golden = 0.6180339887498949
    linear = sorted({int((0.5 + i * golden) % 1.0 * total) for i in range(count)})
    weight = total / len(linear)
    return tuple(
        Sample((i % grid[0], i // grid[0] % grid[1], i // (grid[0] * grid[1])), weight)
        for i in linear
    )


def _three(n: int) -> list[tuple[int, float]]:
    """Give first, middle and last; an even number has two in the middle."""
    if n <= 3:
        return [(i, 1.0) for i in range(n)]
    half = (n - 2) / 2
    middle = [((n - 1) // 2, half), (n // 2, half)] if n % 2 == 0 else [(n // 2, 2 * half)]
    return [(0, 1.0), *middle, (n - 1, 1.0)]


def _product(axes: Sequence[Sequence[tuple[int, float]]]) -> tuple[Sample, ...]:
    return tuple(
        Sample((x, y, z), wx * wy * wz)
        for z, wz in axes[2]
        for y, wy in axes[1]
        for x, wx in axes[0]
    )
