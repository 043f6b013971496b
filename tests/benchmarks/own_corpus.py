"""A small corpus that is unlike those of the figures: odd ids, two languages, labels that nobody knows.

It has what tables ask for: names in title and text, descriptions, broader labels, sections, authors, references,
keywords, and documents without title or labels.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DOCUMENTS = 180

SUBJECTS = {
    "http://x.org/?a=1&b=2#Bienen": ("bees", "Bienen"),
    "ü ß": ("honey", "Honig"),
    "0": ("rivers", "Flüsse"),
    "-1": ("banks", "Banken"),
    'quote"d': ("markets", "Märkte"),
    "x,y;z": ("rain", "Regen"),
    "日本": ("mountains", "Berge"),
    "null": ("lakes", "Seen"),
    "..": ("stones", "Steine"),
    "A" * 200: ("forests", "Wälder"),
}
ASPECTS = {
    "history": "Geschichte",
    "law": "Recht",
    "prices": "Preise",
    "photographs": "Fotografien",
    "diseases": "Krankheiten",
    "maps": "Karten",
    "songs": "Lieder",
}


def labels() -> list[dict[str, Any]]:
    """Ten subjects, and seven aspects of each that stand below it."""
    found: list[dict[str, Any]] = []
    for key, (english, german) in SUBJECTS.items():
        about = f"Everything about {english} and whoever lives by them."
        found.append({"id": key, "names": [english, german], "description": about})
        for aspect, name in ASPECTS.items():
            names = [f"{aspect} of {english}", f"{name}: {german}"]
            found.append({"id": f"{key}/{aspect}", "names": names, "broader": [key]})
    return found


def write(folder: Path) -> None:
    """Write train.jsonl.gz (120 documents), dev.jsonl.gz (60) and labels.jsonl.gz (80)."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = labels()
    _write(folder / "labels.jsonl.gz", vocabulary)
    documents = [_document(number, vocabulary) for number in range(DOCUMENTS)]
    _write(folder / "train.jsonl.gz", (each for number, each in enumerate(documents) if number % 3 < 2))
    _write(folder / "dev.jsonl.gz", (each for number, each in enumerate(documents) if number % 3 == 2))


def _document(number: int, vocabulary: list[dict[str, Any]]) -> dict[str, Any]:
    """Three labels, of which two are named; in German where the number is odd."""
    language = number % 2
    given = [vocabulary[(7 * number + step) % len(vocabulary)] for step in (0, 1, 19)]
    first, second, _ = (label["names"][language] for label in given)
    about = [text.format(first, second, number) for text in TEXTS[language]]
    document: dict[str, Any] = {
        "id": _id(number),
        "title": first if number % 4 else "",
        "abstract": " ".join(about),
        "metadata": {
            "author": [f"Author {number % 5}", f"Author {number % 7}"],
            "venue": [f"Venue {number % 4}"],
            "reference": [_id(number // 2), _id(number // 3)],
            "keyword": [first],
        },
        "labels": [label["id"] for label in given],
    }
    if number % 3 == 0 or number % 9 == 2:
        headings = ("Introduction", "Conclusion")
        document["sections"] = [{"heading": heading, "paragraphs": about} for heading in headings]
    if number % 13 == 0:
        document["labels"] = []
    elif number % 17 == 0:
        document["labels"].append("unknown")
    return document


TEXTS = (
    (
        "This is all about {0} and {1}, seen from afar by number {2} of those who went there.",
        "Whoever has heard of {0} before will find little that is new, and whoever has not will find it too long.",
        "In the end there remains the question of {1}, to which a later text will have to return.",
    ),
    (
        "Hier geht es um {0} und {1}, aus der Ferne gesehen von Nummer {2} derer, die dort gewesen sind.",
        "Wer von {0} schon gehört hat, findet wenig Neues, und wer es nicht hat, dem wird es zu lang.",
        "Am Ende bleibt die Frage nach {1}, auf die ein späterer Text zurückkommen muss.",
    ),
)
"English and German sentences of every document."


def _id(number: int) -> str:
    """Every 25th document is a label too, as on mdn."""
    return "A" * 200 if number == 25 else f"{number}/ü {'#' * (number % 3)}"


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
