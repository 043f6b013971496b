"""Draw nDCG@5 over labelled documents, a line for each method or peer: SVG in docs/results, or beside own results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import figures, svg

FOLDER = figures.RESULTS if figures.OWN else Path(__file__).parents[1] / "docs" / "results"

STYLES = {
    "auto": ("orange", ""),
    "svm": ("blue", ""),
    "knn": ("green", ""),
    "zero_shot": ("purple", ""),
    "scikit-learn": ("blue", "6 3"),
    "omikuji": ("green", "6 3"),
    "PECOS": ("red", "6 3"),
    "SetFit": ("grey", "6 3"),
    "nearest labels": ("grey", "6 3"),
    "Annif mllm": ("blue", "2 3"),
    "Annif omikuji": ("green", "2 3"),
    "Annif nn_ensemble": ("red", "2 3"),
    "Annif tfidf": ("grey", "2 3"),
}
"Method or tool -> its colour and dashes: ours are solid, Annif's dotted, others broken."

LEFT, STEP, HEIGHT, ABOVE = 40, 70, 260, 34
"Start of the axis, the distance of two sizes, and the height of the drawing and of the space above it."

APART, ROOM = 15, 150
"The least distance of the names of two lines, and the room for names right of the axis."


def write(rows: Mapping[str, Any], prefix: str = "curve") -> None:
    """Write a file for each corpus of corpus -> method -> size -> draw."""
    for name, methods in rows.items():
        (FOLDER / f"{prefix}-{name}.svg").write_text(drawing(name, points(methods)), encoding="utf-8")


def without_variants(quality: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Corpus -> method -> size -> draw of peers, without variants of ours, which only the table has."""
    return {
        corpus: {name: rows for name, rows in found.items() if "," not in name} for corpus, found in quality.items()
    }


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

    title = f"{name}: nDCG@5, %, over labelled documents"
    body = [svg.text(0, 14, title)]
    for value in range(0, int(100 * top) + 1, 10):
        height, right = at(sizes[0], value / 100)[1], width - ROOM - STEP + 10
        body.append(svg.path(f"M{LEFT} {height:.1f}H{right}", "grid" if value else "axis"))
        body.append(svg.text(LEFT - 8, height + 4, str(value), anchor="end"))
    body += [svg.text(at(size, 0)[0], bottom + 20, size, anchor="middle") for size in sizes]
    lines = {}
    for method, values in found.items():
        lines[method] = [at(size, values[size]) for size in sizes if size in values]
        if [*values] == ["0"]:  # what learns nothing from labels is the same at every size
            lines[method] = [at(size, values["0"]) for size in sizes]
    lines = {method: places for method, places in lines.items() if places}
    for method, places in lines.items():
        body += svg.line(places, *STYLES.get(method, ("grey", "6 3")))
    heights = spread([places[-1][1] for places in lines.values()])
    for (method, places), height in zip(lines.items(), heights, strict=True):
        body.append(svg.text(places[-1][0] + 8, height + 4, method, STYLES.get(method, ("grey",))[0]))
    return svg.picture(title, width, bottom + 30, body)


def spread(heights: Sequence[float]) -> list[float]:
    """Move heights apart, downwards in their order, so that the names of lines that end side by side can be read.

    >>> spread([100.0, 50.0, 104.0])
    [100.0, 50.0, 115.0]
    """
    found, free = [0.0] * len(heights), -float("inf")
    for place in sorted(range(len(heights)), key=heights.__getitem__):
        found[place] = max(heights[place], free)
        free = found[place] + APART
    return found


def number(size: str) -> float:
    """For the order of sizes: "all" is the last."""
    return float("inf") if size == "all" else float(size)
