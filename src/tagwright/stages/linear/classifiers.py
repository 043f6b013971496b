"""Linear classifiers as stages: labels by the words of their training documents, with these words as evidence."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np

from tagwright.core.saved import read_array, read_manifest, read_number, write_arrays, write_manifest
from tagwright.data.bags import BagOfWords
from tagwright.data.sparse_arrays import Matrix
from tagwright.errors import ModelError
from tagwright.stages.linear.weights import LinearModel
from tagwright.stages.trees.label_trees import LabelTrees
from tagwright.text.words import word_spans, words
from tagwright.types import Distribution, Document, EvidenceSpan, Floats, Ints, Label, Retriever, Run, places_of

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
        _save_parts(folder, self.bag, self.model)

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


class Trees(Retriever):
    """Candidates by trees of labels (Parabel). A types.Retriever; scores are probabilities.

    places: (labels of the trees,) the position of each in this vocabulary, -1 if it is missing.
    """

    distribution: Distribution = "sparse"
    meaning = "words typical of its labelled documents"

    def __init__(
        self, labels: Sequence[Label], bag: BagOfWords, model: LabelTrees, k: int = 100, places: Ints | None = None
    ) -> None:
        self.labels, self.bag, self.model, self.k = labels, bag, model, k
        self.places = np.arange(len(labels), dtype=np.int32) if places is None else places

    def read(self, documents: Sequence[Document]) -> Run:
        """All labels that the beams reach for each document."""
        run = self.model.predict(self.bag.transform(document.text for document in documents), len(self.places))
        return run.moved(self.places)

    def find(self, reading: Run) -> Run:
        """The k most probable labels of each document; none for a document without a known word."""
        return reading.top(self.k)

    def score(self, reading: Run, candidates: Run) -> Floats:
        """Return the probability of each candidate, (suggestions,); 0 for a label beyond the beam or unknown."""
        return reading.scores_of(candidates)

    def with_labels(self, labels: Sequence[Label]) -> "Trees":
        """Return a copy for another vocabulary: labels are mapped by id; new labels score 0."""
        moved = np.append(places_of(self.labels, labels), -1).astype(np.int32)
        return Trees(labels, self.bag, self.model, self.k, moved[self.places])

    def save(self, folder: Path) -> None:
        """Write the words, the trees, and their labels."""
        write_manifest(folder, "tree stage", {"k": self.k})
        write_arrays(folder, {"places": self.places})
        _save_parts(folder, self.bag, self.model)

    @classmethod
    def load(cls, folder: Path, labels: Sequence[Label]) -> Self:
        """Read what `save` wrote, for the same labels. Raises ModelError when it is damaged or does not fit."""
        k = read_number(folder, read_manifest(folder, "tree stage"), "k")
        places = read_array(folder, "places", np.int32, (None,))
        bag, model = BagOfWords.load(folder / "words"), LabelTrees.load(folder / "model")
        known = np.sort(places[places >= 0])
        if places.min(initial=0) < -1 or (np.diff(known) == 0).any():
            raise ModelError(f"{folder / 'places.npy'}: cannot be read (a label occurs twice); save the model again")
        if places.max(initial=-1) >= len(labels) or model.words != len(bag.words):
            raise ModelError(
                f"{folder}: trees over {model.words} words and {places.max(initial=-1) + 1} labels, "
                f"expected {len(bag.words)} and {len(labels)}; save the model again"
            )
        return cls(labels, bag, model, k, np.array(places))


def _save_parts(folder: Path, bag: BagOfWords, model: LinearModel | LabelTrees) -> None:
    for name, part in (("words", bag), ("model", model)):
        (folder / name).mkdir()
        part.save(folder / name)
