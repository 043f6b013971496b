"""Estimate confidences of a ranking without any label of the corpus.

A logistic model of four features that mean the same for every corpus and vocabulary. It was fitted on public corpora
(`label_free.json` says which, and how well it does on a corpus that it has not seen: benchmarks/calibration.py).
What it can hardly know is how freely a vocabulary is used: 2 labels for a document or 12. Long texts that name labels
again and again tell a part of it; who knows the number, and says so, gets confidences that are nearer to the truth.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagwright.combining.confidence import sigmoid
from tagwright.combining.fusion import zscores
from tagwright.combining.pool import CandidatePool
from tagwright.types import Doubles, Floats, Longs, Run

FEATURES = ("log rank", "standard score", "log characters", "information content")
"""Of a candidate: the logarithm of its rank, or of its rank over the number of labels that documents have; its standard
score among the first hundred of the document; the logarithm of the length of the text in characters; how often, how
early and by how rare names the text and the title name it, in bits."""

LEAST_LABELS = 100
"""Labels that a vocabulary must have. The smallest of those the model was fitted on has 184, and among a handful of
labels nothing stands out."""

CHARACTERS = 60, 60_000
"""Shorter and longer texts count as these: the model was fitted on texts between them. Characters, as words are longer
in some languages: the Finnish texts of the fit have as many as the English ones, in fewer words."""


def logistic(table: Doubles, weights: Sequence[float], intercept: float) -> Floats:
    """(n, features) -> (n,) probabilities by a logistic model, with a weight for each of `FEATURES`."""
    products = np.ascontiguousarray(table * np.array(weights))  # `@` rounds by the number of rows
    return sigmoid(products.sum(axis=1) + intercept).astype(np.float32)


def label_free(pool: CandidatePool, run: Run, labels_per_document: float | None = None) -> Floats:
    """(suggestions,) the probability that each suggestion is right, from 0 to 1.

    run: the candidates of the pool, ranked. labels_per_document: how many labels a document has as a rule, if that is
    known.
    """
    table = features(run, named_bits(pool, run), text_lengths(pool), labels_per_document)
    return logistic(table, *shipped("unknown" if labels_per_document is None else "known"))


def features(
    run: Run,
    bits: NDArray[np.floating],
    lengths: NDArray[np.integer],
    labels_per_document: float | None = None,
) -> Doubles:
    """(suggestions, 4) `FEATURES` of each candidate.

    run: candidates, ranked. bits: (suggestions,) of the names. lengths: (documents,) of the texts in characters.
    labels_per_document: of a document as a rule; None: ranks are those in the list.

    Scores 3, 2, 1 have the standard scores 1.2247, 0, -1.2247; log 3 is 1.0986, log 1000 6.9078.

    >>> run = Run.from_rows([{5: 3.0, 6: 2.0, 7: 1.0}])
    >>> features(run, np.array([0.0, 20.0, 10.0]), np.array([1000])).round(4).tolist()[2]
    [1.0986, -1.2247, 6.9078, 10.0]
    """
    return np.column_stack(
        [
            np.log(run.ranks / (labels_per_document or 1.0)),
            zscores(run),
            np.log(np.clip(lengths, *CHARACTERS))[run.rows],
            np.minimum(bits, 100.0),  # with more the text names the label throughout
        ]
    )


def named_bits(pool: CandidatePool, run: Run) -> Floats:
    """Return the total score of all name-matching stages for each candidate, (suggestions,), in bits."""
    named = [name for name, stage in pool.stages.items() if stage.distribution == "information_content"]
    total = sum(map(pool.scores, named), np.zeros(len(pool.run.labels), np.float32))
    return Run(pool.run.indptr, pool.run.labels, total).scores_of(run)


def text_lengths(pool: CandidatePool) -> Longs:
    """(documents,) the characters of each text."""
    return np.array([len(document.text) for document in pool.documents], np.int64)


@cache
def shipped(labels_per_document: str) -> tuple[tuple[float, ...], float]:
    """The model that comes with Tagwright, for when the number of labels of a document is "known" or "unknown".

    Returns the weights and the intercept, see `logistic`.
    """
    model = provenance()["models"][labels_per_document]
    return tuple(model["weights"][name] for name in FEATURES), model["intercept"]


def provenance() -> Mapping[str, Any]:
    """The record of the models: training data, date, and quality on a corpus that was left out. Plain JSON."""
    text = files(__package__).joinpath("label_free.json").read_text(encoding="utf-8")
    content: Mapping[str, Any] = json.loads(text)
    return content
