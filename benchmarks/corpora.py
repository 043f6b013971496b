"""The corpora beside the project, for benchmarks that measure quality on them."""

from __future__ import annotations

import sys
from pathlib import Path

from tagwright.data.corpus import Corpus
from tagwright.data.vocabulary import Vocabulary
from tagwright.types import Document

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
NAMES = ("mdn", "tib", "epmc", "arxiv")
FROM_DEV = ("epmc",)
"Corpora whose train documents have no labels: labelled ones are drawn from dev, and the rest of it is scored."


def require(names: tuple[str, ...]) -> None:
    """Stop, saying so, where a corpus is missing."""
    missing = [name for name in names if not (FOLDER / name / "dev.jsonl.gz").is_file()]
    if missing:
        sys.exit(f"skipped: {', '.join(missing)} not found under {FOLDER}")


def labels(name: str) -> Vocabulary:
    """The vocabulary of a corpus."""
    return Vocabulary.read(FOLDER / name / "labels.jsonl.gz")


def documents(name: str, part: str, most: int | None = None) -> list[Document]:
    """The train or dev documents of a corpus, or the first `most` of them."""
    return Corpus.read(FOLDER / name / f"{part}.jsonl.gz")[slice(most)]
