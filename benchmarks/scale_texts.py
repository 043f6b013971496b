"""Documents and labels of any number, drawn word by word with the frequencies of real ones, for `scale`."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from benchmarks import corpora

SOURCES = {
    "documents": corpora.folder("arxiv") / "train.jsonl.gz",
    "labels": corpora.folder("epmc") / "labels.jsonl.gz",
}
SAMPLE = 20_000
"Real texts from which words and lengths are counted."
FREQUENT, LABELS, KEPT = 1_000, 100, 0.8
"Words too frequent for labels, words that are labels, and how often a label that fits is given."


def texts(work: Path, kind: str, count: int) -> str:
    """Write so many documents or labels, unless they are there. Returns where the words come from."""
    path, source = work / f"{kind}-{count}.jsonl", SOURCES[kind]
    real = all(each.is_file() for each in SOURCES.values())
    if not path.is_file():
        rng = random.Random(f"{kind} {count}")
        part = path.with_suffix(".part")
        with part.open("w", encoding="utf-8") as file:
            for number, text in enumerate(_texts(kind, source if real else None, count, rng)):
                file.write(json.dumps(_record(kind, number, text)) + "\n")
        part.replace(path)
    return "arxiv, epmc" if real else "Zipf's law"


def _record(kind: str, number: int, words: list[str]) -> dict[str, Any]:
    if kind == "labels":
        return {"id": str(number), "names": [" ".join(words)]}
    return {"id": str(number), "title": " ".join(words[:9]), "abstract": " ".join(words[9:])}


def _texts(kind: str, source: Path | None, count: int, rng: random.Random) -> Iterator[list[str]]:
    words, weights, lengths = _statistics(kind, source)
    cumulative, names = list(accumulate(weights)), set[str]()
    for _ in range(count):
        text = rng.choices(words, cum_weights=cumulative, k=rng.choice(lengths))
        while kind == "labels" and " ".join(text) in names:  # two labels with one name are rare
            text += rng.choices(words, cum_weights=cumulative)
        if kind == "labels":
            names.add(" ".join(text))
        yield text


def _statistics(kind: str, source: Path | None) -> tuple[list[str], list[float], list[int]]:
    """Words, how often each occurs, and lengths of texts in words."""
    if source is None:
        words = ["".join(random.Random(i).choices("abcdefghiklmnoprstuv", k=3 + i % 8)) for i in range(50_000)]
        return words, [1 / (rank + 2) for rank in range(len(words))], [2, 3] if kind == "labels" else [100, 150, 200]
    counts, lengths = Counter[str](), list[int]()
    with gzip.open(source, "rt", encoding="utf-8") as file:
        for line in islice(file, SAMPLE):
            record = json.loads(line)
            text = record["names"][0] if kind == "labels" else f"{record.get('title', '')} {record.get('abstract', '')}"
            lengths.append(max(1, len(text.split())))
            counts.update(text.split())
    return list(counts), [float(count) for count in counts.values()], lengths


def labelled(documents: Path, folder: Path) -> tuple[Path, Path]:
    """Write the documents with labels, and the labels: words of middling frequency, each given KEPT times it fits.

    Of texts with few words half of these are too frequent.
    """
    counts = Counter[str]()
    for record in islice(_records(documents), 10_000):
        counts.update(set(record["abstract"].split()))
    common = counts.most_common(FREQUENT + LABELS)
    names = {word for word, _ in common[min(FREQUENT, len(common) // 2) :]}
    rng, texts, labels = random.Random(0), folder / "documents.jsonl", folder / "labels.jsonl"
    with texts.open("w", encoding="utf-8") as file:
        for record in _records(documents):
            fitting = sorted(names & set(record["abstract"].split()))
            record["labels"] = [name for name in fitting if rng.random() < KEPT]
            file.write(json.dumps(record) + "\n")
    lines = (json.dumps({"id": name, "names": [name]}) + "\n" for name in sorted(names))
    labels.write_text("".join(lines), encoding="utf-8")
    return texts, labels


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)
