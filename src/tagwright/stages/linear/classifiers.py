"""Linear classifiers as stages: labels by the words of their training documents, with these words as evidence."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import numpy as np

from tagwright.core.saved import read_manifest, read_number, write_manifest
from tagwright.data.bags import BagOfWords
from tagwright.data.sparse_arrays import Matrix
from tagwright.errors import ModelError
from tagwright.stages.linear.weights import LinearModel
from tagwright.text.words import word_spans, words
from tagwright.types import Distribution, Document, EvidenceSpan, Floats, Label, Retriever, Run, places_of

SPANS = 5
"The most evidence spans of a label."

BOUNDARY = 1.0
"The score of a label whose decision value is 0."


class Linear(Retriever):
    """Candidates by a linear SVM. A types.Retriever.

    model: over these labels, in their order. A score is the decision value plus 1, at least 0: 0 for a clear negative,
    1 at the decision boundary, 2 and more for a confident positive.
    """

    distribution: Distribution = "sparse"
    meaning = "words typical of its labelled documents"

    def __init__(self, labels: Sequence[Label], bag: BagOfWords, model: LinearModel, k: int = 100) -> None:
        self.labels, self.bag, self.model, self.k = labels, bag, model, k

    def read(self, documents: Sequence[Document]) -> Matrix:
        """(documents, words) the TF-IDF vector of each document."""
        return self.bag.transform(document.text for document in documents)

    def find(self, reading: Matrix) -> Run:
        """The k labels of largest score that had training documents; none for a document without known words."""
        run = self.model.scores(reading, self.k)
        found = run.keep((run.scores > -1) & (np.diff(reading.indptr) > 0)[run.rows])
        return found.rescored(found.scores + BOUNDARY)

    def score(self, reading: Matrix, candidates: Run) -> Floats:
        """(suggestions,) the score of each candidate; 0 for a label that no training document had."""
        scores: Floats = np.maximum(self.model.score(reading, candidates) + BOUNDARY, 0)
        return scores

    def spans(self, document: Document, labels: Sequence[int]) -> list[tuple[EvidenceSpan, ...]]:
        """For each label the first occurrence of the up to 5 words that add most to the score, with what they add."""
        reading, first, found = self.read([document]), dict[str, tuple[int, int]](), list[tuple[EvidenceSpan, ...]]()
        text, analysis = document.text, self.bag.options.analysis
        for word, span in zip(words(text, analysis), word_spans(text, analysis), strict=True):
            first.setdefault(word, span)
        for label in labels:
            added = reading.multiply(self.model.weights[[label]]).tocsr()
            best = np.argsort(-added.data, kind="stable")[:SPANS]
            parts = zip(added.indices[best].tolist(), added.data[best].tolist(), strict=True)
            found.append(tuple(EvidenceSpan(*first[self.bag.words[word]], part) for word, part in parts if part > 0))
        return found

    def with_labels(self, labels: Sequence[Label]) -> "Linear":
        """Return a copy for another vocabulary: weights are kept by id; new labels score 0."""
        return Linear(labels, self.bag, self.model.take(places_of(labels, self.labels)), self.k)

    def save(self, folder: Path) -> None:
        """Write the words and the weights."""
        write_manifest(folder, "linear stage", {"k": self.k})
        save_parts(folder, self.bag, self.model.save)

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Read what `save` wrote, for the same labels. Raises ModelError when it is damaged or does not fit."""
        k = read_number(folder, read_manifest(folder, "linear stage"), "k")
        bag, model = BagOfWords.load(folder / "words"), LinearModel.load(folder / "model")
        if model.weights.shape != (len(labels), len(bag.words)):
            raise ModelError(
                f"{folder}: weights for {model.weights.shape} labels and words, expected "
                f"({len(labels)}, {len(bag.words)}); save the model again"
            )
        return cls(labels, bag, model, k)


def save_parts(folder: Path, bag: BagOfWords, save_model: Callable[[Path], None]) -> None:
    """Write the words and a model over them, each into a folder of its own."""
    for name, save in (("words", bag.save), ("model", save_model)):
        (folder / name).mkdir()
        save(folder / name)
