"""A small corpus that is unlike those of the figures: odd ids, two languages, labels that nobody knows."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LABELS = {
    "http://x.org/?a=1&b=2#Bienen": ("bees", "Bienen"),
    "ü ß": ("honey", "Honig"),
    "0": ("rivers", "Flüsse"),
    "-1": ("banks", "Banken"),
    "a/b": ("money", "Geld"),
    'quote"d': ("markets", "Märkte"),
    "x,y;z": ("rain", "Regen"),
    " padded ": ("flowers", "Blumen"),
    "日本": ("mountains", "Berge"),
    "null": ("lakes", "Seen"),
    "..": ("stones", "Steine"),
    "A" * 200: ("forests", "Wälder"),
}


def write(folder: Path) -> None:
    """Write train.jsonl.gz (42 documents), dev.jsonl.gz (18) and labels.jsonl.gz (12) into an empty folder."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "labels.jsonl.gz", ({"id": key, "names": names} for key, names in LABELS.items()))
    documents = [_document(number) for number in range(60)]
    _write(folder / "train.jsonl.gz", (each for number, each in enumerate(documents) if number % 10 < 7))
    _write(folder / "dev.jsonl.gz", (each for number, each in enumerate(documents) if number % 10 >= 7))


def _document(number: int) -> dict[str, Any]:
    """Three labels next to each other, of which two are named; in German where the number is odd."""
    keys, language = [*LABELS], number % 2
    labels = [keys[(5 * number + step) % len(keys)] for step in (0, 1, 2)]
    first, second = (LABELS[key][language] for key in labels[:2])
    abstract = ("All about {} and {}, seen from afar.", "Alles über {} und {}, aus der Ferne gesehen.")[language]
    return {
        "id": f"{number}/ü {'#' * (number % 3)}",
        "title": first if number % 4 else "",
        "abstract": abstract.format(first, second),
        "metadata": {"author": [f"Author {number % 5}"], "venue": [f"Venue {number % 2}"]},
        "labels": [] if number % 13 == 0 else [*labels, *(["unknown"] if number % 17 == 0 else [])],
    }


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
