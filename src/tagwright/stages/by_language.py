"""Read each document by a stage for its own language, so that its answer does not depend on the others of a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tagwright.errors import ConfigError
from tagwright.text.batch import Batch
from tagwright.types import Document, EvidenceSpan, Floats, Label, Longs, Retriever, Run

Parts: TypeAlias = Mapping[str, tuple[Longs, Any]]
"For each language the places in the batch of the documents in it, (documents,), and what its stage has read."


class ByLanguage(Retriever):
    """A stage for each language over the same labels, in the same order. A types.Retriever if they are.

    of: the stage for a language, made when the first document in it is read; language: of a document. It cannot be
    saved: a saved tagger has the names of one choice of languages.
    """

    def __init__(self, of: Callable[[str], Retriever], language: Callable[[Document], str], first: str) -> None:
        self.of, self.language = of, language
        self.distribution, self.meaning = of(first).distribution, of(first).meaning

    def read(self, documents: Sequence[Document]) -> Parts:
        """Each document is read by the stage for its language."""
        parts = Batch.of(documents).divided(self.language)
        return {code: (rows, self.of(code).read(part)) for code, (rows, part) in parts.items()}

    def find(self, reading: Parts) -> Run:
        """The candidates of each document."""
        if not reading:
            return Run.from_rows([])
        runs = [self.of(code).find(part) for code, (_, part) in reading.items()]
        return Run.concat(runs).take(np.argsort(_places(reading)))

    def score(self, reading: Parts, candidates: Run) -> Floats:
        """(suggestions,) the score of each candidate."""
        scores = np.zeros(len(candidates.labels), np.float32)
        for code, (rows, part) in reading.items():
            scores[np.isin(candidates.rows, rows)] = self.of(code).score(part, candidates.take(rows))
        return scores

    def trust(self, reading: Parts, weight: float) -> Floats | None:
        """(documents,) how well the stage knows the language of each document; None if it cannot tell."""
        shares = [self.of(code).trust(part, weight) for code, (_, part) in reading.items()]
        known = [share for share in shares if share is not None]
        return np.concatenate(known)[np.argsort(_places(reading))] if shares and len(known) == len(shares) else None

    def spans(self, document: Document, labels: Sequence[int]) -> list[tuple[EvidenceSpan, ...]]:
        """The evidence that the stage for the document's language gives."""
        return self.of(self.language(document)).spans(document, labels)

    def with_labels(self, labels: Sequence[Label]) -> ByLanguage:
        """Raise ConfigError: the names in each language are those of a file."""
        raise ConfigError(f"{len(labels):,} other labels for names in several languages; make the tagger of their file")

    def save(self, folder: Path) -> None:
        """Raise ConfigError: see the class."""
        raise ConfigError(f"{folder}: stages for several languages cannot be saved together; name one choice of them")


def _places(reading: Parts) -> Longs:
    """(documents,) the places in the batch of the documents of all parts, one part after the other."""
    return np.concatenate([np.zeros(0, np.int64), *(rows for rows, _ in reading.values())])
