"""The pictures of the documentation, from the files in results/: `python -m benchmarks plots` writes them to docs.

nDCG@5 over labelled documents is drawn by `curve_plot`; here are what a confidence means, where time goes, and the way
of a document through the stages. A test fails where a picture is not what the results give.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import curve_plot, figures, svg

DOCS = Path(__file__).parents[1] / "docs"

CORPORA = {"mdn": "orange", "tib": "blue", "epmc": "red", "arxiv": "green", "kirja": "purple", "pubmedqa": "grey"}

SIDE, GAP, LEFT, ABOVE = 250, 70, 46, 54
"Side of a square of the reliability diagram, the space between two, and the space left of and above them."

BARS = {
    "words": ("names and words", "grey"),
    "static": ("static encoder", "green"),
    "minilm": ("MiniLM", "blue"),
    "auto": ("auto", "orange"),
}
"Of the times: the encoder -> its name and colour."

WAITS = {
    "first": "first tag, from nothing",
    "second": "the same, encoded labels in the cache",
    "saved": "first tag of a saved tagger, no cache",
    "again": "the same, with the cache",
    "documents": "100 more documents",
}
"What is waited for, in processor.json."


HEADINGS = "retrieve", "score", "combine", "estimate"
"Of the columns of the stages."

MIDDLE = 150
"Height of what all documents go through, in the drawing of the stages."


def main(arguments: list[str]) -> None:
    argparse.ArgumentParser(prog="python -m benchmarks plots", description=__doc__).parse_args(arguments)
    for name, drawn in pictures():
        (DOCS / name).write_text(drawn, encoding="utf-8")


def pictures() -> Iterator[tuple[str, str]]:
    """The place in docs and the content of each picture."""
    read = {name: figures.read(figures.COMMITTED / f"{name}.json") for name in ("curve-methods", "peers")}
    peers = curve_plot.without_variants(read["peers"]["quality"])
    for prefix, corpora in (("curve", read["curve-methods"]["rows"]), ("peers", peers)):
        for corpus, methods in corpora.items():
            yield f"results/{prefix}-{corpus}.svg", curve_plot.drawing(corpus, curve_plot.points(methods))
    yield "results/reliability.svg", reliability(figures.read(figures.COMMITTED / "calibration.json")["bins"])
    yield "results/seconds.svg", seconds(figures.read(figures.COMMITTED / "processor.json"))
    yield "stages.svg", stages()


def reliability(found: Mapping[str, Mapping[str, Sequence[Sequence[float]]]]) -> str:
    """Confidence to the right, the share of right labels upwards; a square for each condition, a line for each corpus.

    found: condition -> corpus -> bins of (suggestions, mean confidence, share of right ones).
    """
    bottom, body = ABOVE + SIDE, list[str]()
    for place, (condition, corpora) in enumerate(found.items()):
        left = LEFT + place * (SIDE + GAP)
        body.append(svg.text(left, ABOVE - 14, condition))
        for tenth in range(0, 11, 2):
            height, across = bottom - SIDE * tenth / 10, left + SIDE * tenth / 10
            body.append(svg.path(f"M{left} {height:.1f}h{SIDE}", "grid" if tenth else "axis"))
            body.append(svg.text(left - 8, height + 4, f"{10 * tenth}", anchor="end"))
            body.append(svg.text(across, bottom + 18, f"{10 * tenth}", anchor="middle"))
        body.append(svg.path(f"M{left} {bottom}L{left + SIDE} {ABOVE}", more=' stroke-dasharray="4 4"'))
        body.append(svg.text(left + SIDE / 2, bottom + 38, "confidence, %", anchor="middle"))
        for corpus, bins in corpora.items():
            places = [(left + SIDE * sure, bottom - SIDE * right) for _, sure, right in bins]
            body += svg.line(places, CORPORA[corpus])
    width = LEFT + len(found) * (SIDE + GAP)
    for place, (corpus, colour) in enumerate(CORPORA.items()):
        body.append(svg.text(width - GAP / 2, ABOVE + 14 + 20 * place, corpus, colour))
    title = "Right suggestions of the first five, %, in ten groups by their confidence"
    return svg.picture(title, width + 40, bottom + 46, [svg.text(0, 16, title), *body])


def seconds(found: Mapping[str, Any]) -> str:
    """Seconds of the processor, a bar for each encoder that was measured; documents are of 100."""
    left, most, body, height = 280, 360, list[str](), 30.0
    rows = {what: {name: _seconds(what, row["median"]) for name, row in found[what].items()} for what in WAITS}
    longest = max(value for row in rows.values() for value in row.values())
    title = "Seconds of one core on tib's 26,983 labels"
    for what, row in rows.items():
        body.append(svg.text(left - 10, height + 8 * len(row) + 4, WAITS[what], anchor="end"))
        for name, value in row.items():
            shown, colour = BARS[name]
            body.append(svg.box(left, height, max(2.0, most * value / longest), 13, f"fill {colour}"))
            body.append(svg.text(left + most * value / longest + 7, height + 11, f"{value:.2f} {shown}", colour))
            height += 16
        height += 14
    return svg.picture(title, left + most + 150, height, [svg.text(0, 16, title), *body])


def _seconds(what: str, median: float) -> float:
    """processor.json has documents a second."""
    return 100 / median if what == "documents" else median


def stages() -> str:
    """The way of a document through a tagger: those stages that need labelled documents have a broken border."""
    finders = (
        ("exact_match", "its names in the text", ""),
        ("tfidf", "words in common", ""),
        ("dense", "close in meaning", ""),
        ("knn, linear, trees", "learned from labels", ' stroke-dasharray="4 3"'),
    )
    body = [
        *_step(1, 110, ("document", "vocabulary")),
        *_step(370, 170, ("candidates", "each scored by all", "evidence in the text")),
        *_step(580, 150, ("weighted sum or", "learned combiner,", "re-ranking")),
        *_step(770, 120, ("confidence", "cut", "suggestions")),
        *(_arrow(x, MIDDLE, to, MIDDLE) for x, to in ((346, 370), (540, 580), (730, 770))),
        *(svg.text(x, 22, name) for x, name in zip((156, 370, 580, 770), HEADINGS, strict=True)),
    ]
    for place, (name, meaning, more) in enumerate(finders):
        middle = 66 + 56 * place
        body += [*_step(156, 170, (name, meaning), middle, 48, more), _arrow(111, MIDDLE, 156, middle)]
        body.append(svg.path(f"M326 {middle}L346 {MIDDLE}"))
    return svg.picture("The way of a document through the stages of a tagger", 892, 276, body)


def _step(
    x: float, width: float, words: Sequence[str], middle: float = MIDDLE, height: float = 88, more: str = ""
) -> list[str]:
    """A box with lines of words."""
    first = middle + 5 - 10 * (len(words) - 1)
    shown = (svg.text(x + width / 2, first + 20 * place, each, "in", "middle") for place, each in enumerate(words))
    return [svg.box(x, middle - height / 2, width, height, more=more), *shown]


def _arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    """A line to a point, with its head."""
    return svg.path(f"M{x} {y}L{to_x - 2} {to_y}m-7 -4l7 4l-7 4")
