"""Draw nDCG@5 over labelled documents, a line for each method or peer: SVG in docs/results, or beside own results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import figures

FOLDER = figures.RESULTS if figures.OWN else Path(__file__).parents[1] / "docs" / "results"

COLOURS = {"auto": "#c2571a", "svm": "#2f6fb5", "knn": "#3a8f4d", "zero_shot": "#8a4fb0"}

OTHER = "#6b7480"
"The colour of other tools."

LEFT, STEP, HEIGHT, ABOVE = 40, 70, 220, 30
"Start of the axis, the distance of two sizes, and the height of the drawing and of the space above it."

APART, ROOM = 14, 140
"The least distance of the names of two lines, and the room for names right of the axis."


def write(rows: Mapping[str, Any], prefix: str = "curve") -> None:
    """Write a file for each corpus of corpus -> method -> size -> draw."""
    for name, methods in rows.items():
        (FOLDER / f"{prefix}-{name}.svg").write_text(drawing(name, points(methods)), encoding="utf-8")


def points(methods: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Method -> size -> the mean nDCG@5 of the draws that have one.

    >>> points({"svm": {"50": {"0": {"nDCG@5": 0.2}, "1": {"nDCG@5": 0.4}}}})
    {'svm': {'50': 0.3}}
    """
    found = {
        method: {size: [each["nDCG@5"] for each in draws.values() if "nDCG@5" in each] for size, draws in sizes.items()}
        for method, sizes in methods.items()
    }
    return {
        method: {size: round(float(np.mean(values)), 4) for size, values in sizes.items() if values}
        for method, sizes in found.items()
    }


def drawing(name: str, found: Mapping[str, Mapping[str, float]]) -> str:
    """SVG: labelled documents to the right, one step for each size that was measured, nDCG@5 upwards."""
    sizes = sorted({size for each in found.values() for size in each}, key=number)
    top = max(value for each in found.values() for value in each.values())
    width, bottom = LEFT + STEP * len(sizes) + ROOM, ABOVE + HEIGHT

    def at(size: str, value: float) -> tuple[float, float]:
        return LEFT + STEP * sizes.index(size), bottom - HEIGHT * value / top

    body = [_text(0, 14, f"{name}: nDCG@5, %, over labelled documents"), _text(0, ABOVE + 10, f"{100 * top:.0f}")]
    body += [_text(0, bottom, "0"), *(_text(at(size, 0)[0] - 8, bottom + 18, size) for size in sizes)]
    body.append(f'<path d="M{LEFT} {ABOVE}V{bottom}H{width - ROOM - STEP + 10}" fill="none" stroke="#888"/>')
    lines = {}
    for method, values in found.items():
        lines[method] = [at(size, values[size]) for size in sizes if size in values]
        if [*values] == ["0"]:  # what learns nothing from labels is the same at every size
            lines[method] = [at(size, values["0"]) for size in sizes]
    lines = {method: places for method, places in lines.items() if places}
    heights = spread([places[-1][1] for places in lines.values()])
    for (method, places), height in zip(lines.items(), heights, strict=True):
        body += _line(places, method, COLOURS.get(method, OTHER), height)
    drawn = "\n".join(body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 24}" font-family="sans-serif" '
        f'font-size="12" fill="#888">\n{drawn}\n</svg>\n'
    )


def spread(heights: Sequence[float]) -> list[float]:
    """Move heights apart, downwards in their order, so that the names of lines that end side by side can be read.

    >>> spread([100.0, 50.0, 104.0])
    [100.0, 50.0, 114.0]
    """
    found, free = [0.0] * len(heights), -float("inf")
    for place in sorted(range(len(heights)), key=heights.__getitem__):
        found[place] = max(heights[place], free)
        free = found[place] + APART
    return found


def _line(places: Sequence[tuple[float, float]], name: str, colour: str, height: float) -> list[str]:
    """A line with a dot for each place, and its name at a height beside its end."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
    line = f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    return [line, *dots, f'<text x="{places[-1][0] + 8:.1f}" y="{height + 4:.1f}" fill="{colour}">{name}</text>']


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x}" y="{y}">{text}</text>'


def number(size: str) -> float:
    """For the order of sizes: "all" is the last."""
    return float("inf") if size == "all" else float(size)
