"""Time over size in, a drawing with two logarithmic axes out: SVG in docs/results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.scale_measures import MEASURES, RECALL

FOLDER = Path(__file__).parents[1] / "docs" / "results"
COLOURS = (
    "#c2571a",
    "#2f6fb5",
    "#3a8f4d",
    "#8a4fb0",
    "#6b7480",
    "#b52f5a",
    "#7a6a1e",
    "#1e7a76",
    "#4a4ab5",
    "#555",
    "#c99a00",
    "#7fa31e",
)
STEP = 90
"Pixels for a power of ten."
LEFT, ABOVE = 60, 30


def write(found: Mapping[str, Any]) -> None:
    """A file over documents and one over labels. found: what `scale` writes."""
    for axis in ("documents", "labels"):
        (FOLDER / f"scale-{axis}.svg").write_text(drawing(axis, lines(found, axis)), encoding="utf-8")


def lines(found: Mapping[str, Any], axis: str) -> dict[str, dict[int, float]]:
    """Name and part -> size -> seconds, of what was measured at two sizes and takes a second at one of them."""
    parts = {
        f"{name}: {part}": {int(size): row[part] for size, row in rows.items() if row[part] >= 0.01}
        for name, rows in found["rows"].items()
        if MEASURES[name][0] == axis
        for part in next(iter(rows.values()))
        if part != "imports" and not part.endswith(("_mb", "MB", "GB", "wall", "start to first tag", RECALL))
    }
    return {name: points for name, points in parts.items() if len(points) > 1 and max(points.values()) >= 1}


def drawing(axis: str, found: Mapping[str, Mapping[int, float]]) -> str:
    """SVG: the size to the right, seconds upwards, a dotted line for each power of ten; names at the right edge."""
    sizes = [size for points in found.values() for size in points]
    values = [value for points in found.values() for value in points.values()]
    left, right = math.floor(math.log10(min(sizes))), math.ceil(math.log10(max(sizes)))
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    bottom, width = ABOVE + STEP * (high - low), STEP * 2 * (right - left)

    def at(size: float, value: float) -> tuple[float, float]:
        return LEFT + 2 * STEP * (math.log10(size) - left), bottom - STEP * (math.log10(value) - low)

    body = [_text(0, 14, f"seconds of the processor over {axis}")]
    for power in range(low, high + 1):
        _, y = at(1, 10.0**power)
        body += [_text(0, y + 4, f"{10.0**power:g}"), _rule(f"M{LEFT} {y:.1f}h{width}")]
    for power in range(left, right + 1):
        x, _ = at(10.0**power, 1)
        body += [_text(x - 20, bottom + 18, f"{10**power:,}"), _rule(f"M{x:.1f} {ABOVE}V{bottom}")]
    ends = sorted((at(max(points), points[max(points)])[1], name) for name, points in found.items())
    place = -math.inf
    for number, (y, name) in enumerate(ends):
        place, colour = max(y + 4, place + 13), COLOURS[number % len(COLOURS)]
        points = [at(size, value) for size, value in sorted(found[name].items())]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        body += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        body.append(f'<text x="{LEFT + width + 8}" y="{place:.1f}" fill="{colour}">{name}</text>')
    size = f"{LEFT + width + 320} {max(bottom, place) + 24:.0f}"
    style = 'font-family="sans-serif" font-size="12" fill="#888"'
    text = "\n".join(body)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" {style}>\n{text}\n</svg>\n'


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}">{text}</text>'


def _rule(path: str) -> str:
    return f'<path d="{path}" fill="none" stroke="#888" stroke-dasharray="1 4"/>'
