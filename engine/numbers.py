"""Numbers as a reader wants them: few digits, a unit, an em dash where nothing is known."""

from __future__ import annotations

UNKNOWN = "unknown"


def number(value: object) -> float | int | None:
    """Narrow a fact's value to a number; text, claims and the unknown give None."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def anything(value: object) -> str:
    """Write the value of any fact."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "true" if value else "false"
    narrowed = number(value)
    return str(value) if narrowed is None else plain(narrowed)


def plain(value: float | int | None, digits: int = 3) -> str:
    """Write a number with about this many significant digits; whole numbers with separators."""
    if value is None:
        return UNKNOWN
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    if 10**digits <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def decimal(value: float | int | None) -> str:
    """Write a number to one decimal, as the method prints balance points."""
    if value is None:
        return UNKNOWN
    return f"{value:,.1f}" if abs(value) < 1e15 else f"{value:.3g}"


def size(count: float | int | None) -> str:
    """Write bytes: `30 KiB`, `50,177 B`, `1.5 MiB`; exact below a megabyte."""
    if count is None:
        return UNKNOWN
    kibi = 1 << 10
    mebi = 1 << 20
    if count and count % kibi == 0 and count < mebi:
        return f"{int(count) // kibi} KiB"
    if count < mebi:
        return f"{plain(count)} B"
    return f"{plain(count / mebi)} MiB" if count < kibi * mebi else f"{plain(count / 2**30)} GiB"


def rate(gflops: float | int | None, unit: str = "FLOPS") -> str:
    """Write a rate given in 1e9 per second as G or T: `34.5 TFLOPS`."""
    if gflops is None:
        return UNKNOWN
    kilo = 1000
    if gflops >= kilo:
        return f"{plain(gflops / kilo)} T{unit}"
    return f"{plain(gflops)} G{unit}"


def percent(fraction: float | int | None) -> str:
    """Write a fraction as percent: 0.471 is `47 %`; below ten percent one decimal."""
    if fraction is None:
        return UNKNOWN
    value = 100.0 * fraction
    if abs(value) >= 1e15:
        return f"{value:.3g} %"
    return f"{value:.1f} %" if abs(value) < 10 and value != int(value) else f"{value:.0f} %"


def gain(low: float | int | None, high: float | int | None) -> str:
    """Write a gain in percent: `+20-35 %`, `up to +112 %`, or that nothing is known."""
    if high is None:
        return "gain unknown"
    if low is None:
        return f"up to {high:+.0f} %"
    if low < 0:
        return f"{low:+.0f} to {high:+.0f} %"
    return f"+{low:.0f}-{high:.0f} %" if round(low) != round(high) else f"{high:+.0f} %"


def milliseconds(value: float | int | None) -> str:
    """Write a time given in milliseconds, in the unit that reads best."""
    if value is None:
        return UNKNOWN
    if value < 1e-3:
        return f"{plain(value * 1e6)} ns"
    return f"{plain(value)} ms"
