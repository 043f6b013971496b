"""A ranking and what the stages found in, confidences out: how sure a tagger is that has seen no label of the corpus.

A logistic model of five features that mean the same for every corpus and vocabulary. It was fitted on public corpora
(`label_free.json` says which, and how well it does on a corpus that it has not seen: benchmarks/calibration.py).
What it cannot know is how freely a vocabulary is used: 2 labels for a document or 12. Who knows that, and says so, gets
confidences that are much nearer to the truth.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagwright.combining.confidence import sigmoid
from tagwright.combining.fusion import standardised
from tagwright.types import Doubles, Floats, Longs, Run

FEATURES = ("log rank", "standard score", "gap", "agreement", "log words")
"""Of a candidate: the logarithm of its rank, or of its rank over the number of labels that documents have; its standard
score within the document; how far the next one is below it, in standard scores; the share of retrievers that have it
among their first five; the logarithm of the document's number of words."""

FIRST = 5
"The first so many labels of a retriever are those that it stands for."

LEAST_LABELS = 100
"""Labels that a vocabulary must have. The smallest of those the model was fitted on has 184, and among a handful of
labels nothing stands out."""

WORDS = 10, 10_000
"Shorter and longer texts count as these: the model was fitted on texts between them."


@dataclass(frozen=True, slots=True)
class Coefficients:
    """A logistic model: one weight for each of `FEATURES`, and the intercept."""

    weights: tuple[float, ...]
    intercept: float

    def __call__(self, table: Doubles) -> Floats:
        """(n, features) -> (n,) probabilities."""
        return sigmoid(table @ np.array(self.weights) + self.intercept).astype(np.float32)


def label_free(
    run: Run, found: Sequence[Run], words: NDArray[np.integer], labels_per_document: float | None = None
) -> Floats:
    """(suggestions,) the probability that each suggestion is right, from 0 to 1.

    run: all candidates, ranked. found: what each retriever found for the same documents. words: (documents,) of each
    text. labels_per_document: how many labels a document has as a rule, if that is known.
    """
    known = labels_per_document is not None
    return shipped("known" if known else "unknown")(features(run, found, words, labels_per_document or 1.0))


def features(run: Run, found: Sequence[Run], words: NDArray[np.integer], labels_per_document: float = 1.0) -> Doubles:
    """(suggestions, 5) `FEATURES` of each candidate; the arguments are those of `label_free`.

    Scores 3, 2, 1 have the standard scores 1.2247, 0, -1.2247, so each is 1.2247 above the next; below the last is
    nothing. One of two retrievers found the last label. The document has 100 words, and log 100 is 4.6052.

    >>> run = Run.from_rows([{5: 3.0, 6: 2.0, 7: 1.0}])
    >>> found = [Run.from_rows([[5, 6]]), Run.from_rows([[5, 6, 7]])]
    >>> features(run, found, np.array([100])).round(4).tolist()[2]
    [1.0986, -1.2247, 0.0, 0.5, 4.6052]
    """
    standard = standardised(run, run.scores)
    agreement = sum((_stands_for(each, run) for each in found), np.zeros(len(run.labels))) / max(1, len(found))
    return np.column_stack(
        [
            np.log(run.ranks / labels_per_document),
            standard,
            _gap(run, standard),
            agreement,
            np.log(np.clip(words, *WORDS))[run.rows],
        ]
    )


def word_counts(texts: Sequence[str]) -> Longs:
    """(documents,) the words of each text.

    >>> word_counts(["Bees fly.", ""]).tolist()
    [2, 0]
    """
    return np.array([len(text.split()) for text in texts], np.int64)


@cache
def shipped(labels_per_document: str) -> Coefficients:
    """The model that comes with Tagwright, for when the number of labels of a document is "known" or "unknown"."""
    model = provenance()["models"][labels_per_document]
    return Coefficients(tuple(model["weights"][name] for name in FEATURES), model["intercept"])


def provenance() -> Mapping[str, Any]:
    """What the models were fitted on, when, and how well they do on a corpus that was left out. Plain JSON."""
    text = files(__package__).joinpath("label_free.json").read_text(encoding="utf-8")
    content: Mapping[str, Any] = json.loads(text)
    return content


def _stands_for(found: Run, run: Run) -> Doubles:
    """(suggestions,) 1 where the retriever has the label among its first."""
    return run.held_by(found.top(FIRST)).astype(np.float64)


def _gap(run: Run, standard: Doubles) -> Doubles:
    """(suggestions,) the distance to the next of the same document, 0 for the last."""
    gaps = np.zeros(len(standard))
    gaps[:-1] = standard[:-1] - standard[1:]
    gaps[run.indptr[1:][np.diff(run.indptr) > 0] - 1] = 0.0
    return gaps
