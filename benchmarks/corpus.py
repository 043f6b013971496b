"""How fast a million documents become a `Corpus`, and in how much memory. Prints JSON.

The documents are made up: a title of 8 words, an abstract of 150, two authors, three labels, about 1.2 kB.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tagwright.data.corpus import Corpus
from tagwright.readers.documents.jsonl import write_jsonl
from tagwright.types import Document


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks corpus", description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    count = parser.parse_args(arguments).documents
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "documents.jsonl"
        write_jsonl(made_up(count), path)
        print(json.dumps({"documents": count, "file_mb": path.stat().st_size // 10**6, **measure(path)}, indent=1))


def made_up(count: int) -> Iterator[Document]:
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyzäöü", k=rng.randint(2, 12))) for _ in range(50_000)]
    for position in range(count):
        text = " ".join(rng.choices(words, k=158))
        title, abstract = text[:60], text[60:]
        metadata = {"author": tuple(rng.choices(words, k=2)), "venue": (words[position % 1000],)}
        yield Document(f"document-{position}", title, abstract, (), metadata, tuple(rng.choices(words, k=3)))


def measure(path: Path) -> dict[str, float]:
    start = time.perf_counter()
    corpus = Corpus.read(path)
    read = time.perf_counter()
    characters = sum(len(document.abstract) for document in corpus)
    iterated = time.perf_counter()
    positions = random.Random(1).sample(range(len(corpus)), min(len(corpus), 10_000))
    characters += sum(len(document.abstract) for document in corpus.take(positions))
    taken = time.perf_counter()
    return {
        "read_documents_per_second": round(len(corpus) / (read - start)),
        "iterate_documents_per_second": round(len(corpus) / (iterated - read)),
        "random_access_microseconds": round((taken - iterated) / len(positions) * 1e6, 1),
        "peak_resident_mb": round(peak_resident_bytes() / 1e6),
    }


def peak_resident_bytes() -> int:
    """The most memory this process ever held, mapped pages of files included."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    main(sys.argv[1:])
