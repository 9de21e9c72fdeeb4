"""The conflict graph as a picture: strategies left in the order of rank, the rest right.

Edges between the columns cross the middle, edges inside a column bend outwards; each carries a
number, and the reasons stand below under these numbers.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape

from ..parsers.record import dataclass
from .diagnosis import Conflict

WIDTH, MARGIN, ROW, BOX_HEIGHT, LINE = 900, 24, 54, 34, 18
BOX_WIDTH = 250
COLORS = {
    "conflicts": "#b3261e",
    "enables": "#1b6e3c",
    "supersedes": "#5b3fa8",
    "competes": "#8a5a00",
}
FILLS = {"strategy": "#e6f0ff", "not chosen": "#f3f3f3", "pitfall": "#fff1e6"}


@dataclass(frozen=True, slots=True)
class _Box:
    id: str
    kind: str
    x: int
    y: int

    @property
    def middle(self) -> int:
        return self.y + BOX_HEIGHT // 2

    @property
    def is_left(self) -> bool:
        return self.x < WIDTH // 2


def draw(nodes: Sequence[tuple[str, str]], edges: Sequence[Conflict]) -> str:
    """Draw nodes (id, kind) and edges as a complete SVG document."""
    boxes = _place(nodes)
    rows = max((box.y for box in boxes.values()), default=MARGIN) + ROW
    reasons = [_reason(number, edge) for number, edge in enumerate(edges, 1)]
    lines = [line for reason in reasons for line in reason]
    height = rows + MARGIN + LINE * len(lines) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        _markers(),
        *(_edge(number, edge, boxes) for number, edge in enumerate(edges, 1)),
        *(_box(box) for box in boxes.values()),
        *(
            f'<text x="{MARGIN}" y="{rows + MARGIN + LINE * at}" fill="{color}">{escape(text)}'
            "</text>"
            for at, (text, color) in enumerate(lines)
        ),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _place(nodes: Sequence[tuple[str, str]]) -> dict[str, _Box]:
    left = [node for node in nodes if node[1] == "strategy"]
    right = [node for node in nodes if node[1] != "strategy"]
    columns = ((left, MARGIN + 40), (right, WIDTH - MARGIN - 40 - BOX_WIDTH))
    return {
        id: _Box(id, kind, x, MARGIN + ROW * row)
        for column, x in columns
        for row, (id, kind) in enumerate(column)
    }


def _box(box: _Box) -> str:
    dash = ' stroke-dasharray="4 3"' if box.kind == "not chosen" else ""
    return (
        f'<g><title>{escape(box.kind)}</title><rect x="{box.x}" y="{box.y}" width="{BOX_WIDTH}" '
        f'height="{BOX_HEIGHT}" rx="6" fill="{FILLS[box.kind]}" stroke="#555"{dash}/>'
        f'<text x="{box.x + BOX_WIDTH // 2}" y="{box.middle + 5}" text-anchor="middle">'
        f"{escape(box.id)}</text></g>"
    )


def _edge(number: int, edge: Conflict, boxes: dict[str, _Box]) -> str:
    one, two = boxes[edge.between[0]], boxes[edge.between[1]]
    if one.is_left == two.is_left:
        side = one.x if one.is_left else one.x + BOX_WIDTH
        bend = side - 46 if one.is_left else side + 46
        path = (
            f"M {side} {one.middle} C {bend} {one.middle}, {bend} {two.middle}, {side} {two.middle}"
        )
        at = (side + 3 * bend) // 4, (one.middle + two.middle) // 2
    else:
        start = one.x + BOX_WIDTH if one.is_left else one.x
        end = two.x if one.is_left else two.x + BOX_WIDTH
        half = (start + end) // 2
        path = (
            f"M {start} {one.middle} C {half} {one.middle}, {half} {two.middle}, {end} {two.middle}"
        )
        at = half, (one.middle + two.middle) // 2
    color = COLORS.get(edge.kind, "#333")
    mutual = edge.kind in ("conflicts", "competes")
    arrow = "" if mutual else f' marker-end="url(#{edge.kind})"'
    return (
        f'<g><title>{escape(edge.because)}</title><path d="{path}" fill="none" stroke="{color}" '
        f'stroke-width="1.6"{arrow}/><circle cx="{at[0]}" cy="{at[1]}" r="9" fill="white" '
        f'stroke="{color}"/><text x="{at[0]}" y="{at[1] + 4}" text-anchor="middle" font-size="11" '
        f'fill="{color}">{number}</text></g>'
    )


def _markers() -> str:
    heads = "".join(
        f'<marker id="{kind}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        f'markerHeight="8" orient="auto"><path d="M 0 0 L 8 4 L 0 8 z" fill="{color}"/></marker>'
        for kind, color in COLORS.items()
    )
    return f"<defs>{heads}</defs>"


def _reason(number: int, edge: Conflict) -> list[tuple[str, str]]:
    text = f"{number}  {edge.between[0]} {edge.kind} {edge.between[1]}: {edge.because}"
    wrapped = textwrap.wrap(text, 118, subsequent_indent="    ")
    return [(line, COLORS.get(edge.kind, "#333")) for line in wrapped]
