"""Writes what `kneck probe` measured into a device file, beside the datasheet figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from .device import DeviceInfo
from .probe_types import Measured

# Words in product names that do not tell products apart.
NOISE = re.compile(
    r"nvidia|geforce|tesla|quadro|jetson|agx|gpu|sxm\d*|pcie|nvl|hbm\d?e?|\d+gb|developer|kit|"
    r"graphics|device"
)


def same_product(name: str, other: str) -> bool:
    """Tell whether a driver's name and a name of the knowledge base mean one product.

    >>> same_product("NVIDIA A100-SXM4-80GB", "A100 SXM")
    True
    >>> same_product("NVIDIA GeForce RTX 3070 Ti", "RTX 3070")
    False
    """
    return _words(name) == _words(other)


def _words(name: str) -> list[str]:
    words = re.findall(r"[a-z]+\d*[a-z]*|\d+[a-z]*", name.lower())
    return [word for word in words if not NOISE.fullmatch(word)]


def best_of(measured: Sequence[Measured], best: Mapping[str, Sequence[str]]) -> list[Measured]:
    """Add the figures that are the largest of others; the probe says which one it was.

    A list may name figures that an earlier list made.
    """
    known = {figure.name: figure for figure in measured}
    for name, parts in best.items():
        found = [known[part] for part in parts if part in known]
        if found:
            top = max(found, key=lambda figure: figure.value)
            known[name] = Measured(
                name,
                top.value,
                top.unit,
                top.spread_fraction,
                top.clock_ghz,
                top.stable,
                top.probe,
                f"the best of {', '.join(part.name for part in found)}",
            )
    return list(known.values())


def split_peaks(
    measured: Iterable[Measured], peak_names: Iterable[str]
) -> tuple[list[Measured], list[Measured]]:
    """Part the peaks that verdicts are judged against from all other figures."""
    names = set(peak_names)
    figures = list(measured)
    return [f for f in figures if f.name in names], [f for f in figures if f.name not in names]


def with_measured(
    text: str, peaks: Sequence[Measured], others: Sequence[Measured], command: str, source: str
) -> str:
    """Put figures into a device file: `peaks.measured` and a top-level `measured`.

    What stood in these two places is replaced; everything else, comments included, stays.
    `source` is a key of sources.yaml.
    """
    lines = _without(_without(text.splitlines(), "  measured:"), "measured:")
    while lines and not lines[-1].strip():
        lines.pop()
    at = _end_of(lines, "peaks:")
    inside = [line for figure in peaks for line in _entry(figure, command, source, 4)]
    block = ["  measured:", *inside] if inside else []
    lines[at:at] = block
    if others:
        lines += ["", "measured:"]
        lines += [line for figure in others for line in _entry(figure, command, source, 2)]
    return "\n".join(lines) + "\n"


def _without(lines: list[str], key: str) -> list[str]:
    """Drop a block: the line of its key and everything indented deeper that follows."""
    depth = len(key) - len(key.lstrip())
    for start, line in enumerate(lines):
        if line.startswith(key):
            end = start + 1
            while end < len(lines) and (not lines[end].strip() or _depth(lines[end]) > depth):
                end += 1
            return lines[:start] + lines[end:]
    return lines


def _end_of(lines: Sequence[str], key: str) -> int:
    """Give the line after a block and its trailing blank lines."""
    start = next(i for i, line in enumerate(lines) if line.startswith(key))
    end = start + 1
    while end < len(lines) and (not lines[end].strip() or _depth(lines[end]) > 0):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    return end


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _entry(figure: Measured, command: str, source: str, indent: int) -> list[str]:
    """Write one figure; those that a pass could not repeat are marked."""
    fields = [
        f"value: {rounded(figure.value)}",
        f"unit: {figure.unit}",
        f"spread: {figure.spread_fraction:.4f}",
        f"clock_ghz: {figure.clock_ghz:.3f}",
        f"command: {command}",
        f"source: [{source}]",
    ]
    if not figure.stable:
        fields.append("stable: false")
    return [f"{' ' * indent}{figure.name}: {{{', '.join(fields)}}}"]


def rounded(value: float) -> str:
    """Write five significant digits without an exponent.

    >>> rounded(818335.83), rounded(4.00625), rounded(0.0000123456)
    ('818340', '4.0062', '0.000012346')
    """
    digits = f"{Decimal(f'{value:.5g}'):f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def new_device_file(device: DeviceInfo, device_id: str, product_class: str, source: str) -> str:
    """Write a device file from what the driver tells, for a GPU that has none.

    The only peak in it is the nominal memory bandwidth; `kneck probe` adds the measured ones.
    """
    lines = [
        f"# {device.name}, as its driver describes it; peaks measured by `kneck probe`",
        "",
        f"id: {device_id}",
        f"name: {device.name}",
        f"arch: {device.arch}",
        f"product_class: {product_class}",
        "",
        "chip:",
        f"  source: [{source}]",
        f"  sm_count: {device.sms}",
        f"  boost_ghz: {(device.sm_clock_mhz or 0) / 1000:g}",
        f"  l2_bytes: {device.l2_bytes or 0}",
        f"  dram_bytes: {device.memory_bytes}",
        "",
        "peaks:",
        "  dense:",
        f"    source: [{source}]",
        "    status: derived",
        "    formula: 2 * memory clock * bus width",
    ]
    if device.dram_gb_per_s is not None:
        lines.append(f"    dram_gb_per_s: {device.dram_gb_per_s:.1f}")
    return "\n".join(lines) + "\n"


def id_of(name: str) -> str:
    """Make a device id from a product name.

    >>> id_of("NVIDIA GeForce RTX 4070 Ti")
    'rtx-4070-ti'
    """
    return "-".join(_words(name)) or "gpu"
