"""nDCG@5 of each method over labelled documents in, a drawing for each corpus out: SVG in docs/results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parents[1] / "docs" / "results"

COLOURS = {"auto": "#c2571a", "svm": "#2f6fb5", "knn": "#3a8f4d", "zero_shot": "#8a4fb0"}

LEFT, STEP, HEIGHT, ABOVE = 40, 70, 220, 30
"Start of the axis, the distance of two sizes, and the height of the drawing and of the space above it."


def write(rows: Mapping[str, Any]) -> None:
    """A file for each corpus of corpus -> method -> size -> draw."""
    for name, methods in rows.items():
        (FOLDER / f"curve-{name}.svg").write_text(drawing(name, points(methods)), encoding="utf-8")


def points(methods: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Method -> size -> the mean nDCG@5 of the draws.

    >>> points({"svm": {"50": {"0": {"nDCG@5": 0.2}, "1": {"nDCG@5": 0.4}}}})
    {'svm': {'50': 0.3}}
    """
    return {
        method: {
            size: round(float(np.mean([each["nDCG@5"] for each in draws.values()])), 4) for size, draws in sizes.items()
        }
        for method, sizes in methods.items()
    }


def drawing(name: str, found: Mapping[str, Mapping[str, float]]) -> str:
    """SVG: labelled documents to the right, one step for each size that was measured, nDCG@5 upwards."""
    sizes = sorted({size for each in found.values() for size in each}, key=number)
    top = max(value for each in found.values() for value in each.values())
    width, bottom = LEFT + STEP * len(sizes) + 80, ABOVE + HEIGHT

    def at(size: str, value: float) -> tuple[float, float]:
        return LEFT + STEP * sizes.index(size), bottom - HEIGHT * value / top

    lines = [_text(0, 14, f"{name}: nDCG@5, %, over labelled documents"), _text(0, ABOVE + 10, f"{100 * top:.0f}")]
    lines += [_text(0, bottom, "0"), *(_text(at(size, 0)[0] - 8, bottom + 18, size) for size in sizes)]
    lines.append(f'<path d="M{LEFT} {ABOVE}V{bottom}H{width - 80}" fill="none" stroke="#888"/>')
    for method, values in found.items():
        places = [at(size, values[size]) for size in sizes if size in values]
        if [*values] == ["0"]:  # what learns nothing from labels is the same at every size
            places = [at(size, values["0"]) for size in sizes]
        lines += _line(places, method, COLOURS.get(method, "#6b7480"))
    body = "\n".join(lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 24}" font-family="sans-serif" '
        f'font-size="12" fill="#888">\n{body}\n</svg>\n'
    )


def _line(places: Iterable[tuple[float, float]], name: str, colour: str) -> list[str]:
    path = [f"{x:.1f},{y:.1f}" for x, y in places]
    if not path:
        return []
    x, y = path[-1].split(",")
    dots = [f'<circle cx="{a}" cy="{b}" r="3" fill="{colour}"/>' for a, b in (each.split(",") for each in path)]
    line = f'<polyline points="{" ".join(path)}" fill="none" stroke="{colour}" stroke-width="2"/>'
    return [line, *dots, f'<text x="{float(x) + 8}" y="{float(y) + 4}" fill="{colour}">{name}</text>']


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x}" y="{y}">{text}</text>'


def number(size: str) -> float:
    """For the order of sizes: "all" is the last."""
    return float("inf") if size == "all" else float(size)
