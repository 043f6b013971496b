"""Estimate confidences of a ranking without any label of the corpus.

A logistic model, sigmoid(weights . features + intercept), of four features that mean the same for every corpus and
vocabulary: `FEATURES`, or `FEW_FEATURES` where there are fewer than `MANY_LABELS` labels. It was fitted on public
corpora (`label_free.json` says which, and how well it does on a corpus that it has not seen:
benchmarks/calibration.py). What it can hardly know is how freely a vocabulary is used: 2 labels for a document or 12.
Long texts that name labels again and again tell a part of it; who knows the number, and says so, gets confidences that
are nearer to the truth.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.combining.confidence import Confidence, sigmoid, with_log_scores
from tagwright.combining.fusion import zscores
from tagwright.combining.pool import CandidatePool
from tagwright.combining.steps import Contributions, Estimates
from tagwright.core.checked import AtLeastOne, Checked, Positive
from tagwright.types import Doubles, Floats, Label, Longs, Run

FILE = "label_free.json"
"""Where the models are, with their training data, date, and quality on a corpus that was left out. "known", "unknown":
of many labels, by whether the number of labels of a document is. "few": of few labels."""

FEATURES = ("log rank", "standard score", "log characters", "information content")
"""Of a candidate: the logarithm of its rank, or of its rank over the number of labels that documents have; its standard
score among the first hundred of the document; the logarithm of the length of the text in characters; how often, how
early and by how rare names the text and the title name it, in bits."""

FEW_FEATURES = ("log rank", "lead", "log information content", "log labels")
"""Of a candidate of a small vocabulary: the logarithm of its rank; how far its evidence is above that of the best
other candidate, or below; the logarithm of 1 + the bits by which names name it; that of the number of labels."""

MANY_LABELS = 100
"""Labels from which on there are many. The smallest vocabulary that the model of many was fitted on has 184: standard
scores among a handful of labels are never large, however clear the best is. That of few was fitted on 2 to 80."""

CHARACTERS = 60, 60_000
"""Shorter and longer texts count as these: the model was fitted on texts between them. Characters, as words are longer
in some languages: the Finnish texts of the fit have as many as the English ones, in fewer words."""


Model: TypeAlias = tuple[tuple[float, ...], float]
"The weights of the features, and the intercept."


@dataclass(frozen=True, kw_only=True)
class LabelFree(Checked, Confidence):
    """Confidences of a weighted sum by a model that has seen no label of the corpus."""

    labels_per_document: Positive | None = None
    "How many labels a document has as a rule, if that is known: confidences are much better then."

    few_labels: AtLeastOne | None = None
    "How many labels there are, if so few that standard scores say little; see `of_vocabulary`."

    log_scores: bool = False
    "Whether the scores are 1 / rank, of which the logarithm counts."

    def of_vocabulary(self, labels: int) -> Self:
        """Return the step for a vocabulary of this size."""
        return replace(self, few_labels=labels if 0 < labels < MANY_LABELS else None)

    def apply(self, pool: CandidatePool, run: Run) -> Run:
        """Return the ranking with confidences."""
        scored, bits = with_log_scores(run) if self.log_scores else run, named_bits(pool, run)
        if self.few_labels is None:
            table = features(scored, bits, text_lengths(pool), self.labels_per_document)
            model = read_model(FILE, "unknown" if self.labels_per_document is None else "known", FEATURES)
        else:
            table = features_of_few(scored, pool.evidence(scored), bits, self.few_labels)
            model = read_model(FILE, "few", FEW_FEATURES)
        return replace(run, confidences=logistic(table, *model))

    def explain(self, pool: CandidatePool, run: Run, before: Contributions) -> Contributions:
        """Return the same contributions, with what the model reads of each candidate."""
        scored, bits = with_log_scores(run) if self.log_scores else run, named_bits(pool, run)
        read: dict[str, NDArray[Any]] = {"rank": run.ranks, "bits of names": bits}
        if self.few_labels is None:
            read |= {"standard score": zscores(scored), "characters of the text": text_lengths(pool)[run.rows]}
        else:
            lead = leads(run, pool.evidence(scored))
            read |= {"lead over others": lead, "labels in all": np.full(len(bits), self.few_labels)}
        by = "a formula fitted on other corpora, without labelled documents"
        return replace(before, estimates=Estimates(by, run, read))

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Self:  # noqa: ARG002
        """Return a copy for another vocabulary: how many labels it has matters."""
        return self.of_vocabulary(len(labels))


def logistic(table: Doubles, weights: Sequence[float], intercept: float) -> Floats:
    """(n, features) -> (n,) probabilities by a logistic model, with a weight for each feature."""
    return sigmoid(log_odds(table, weights, intercept)).astype(np.float32)


def log_odds(table: Doubles, weights: Sequence[float], intercept: float) -> Doubles:
    """(n, features) -> (n,) log odds by a logistic model, with a weight for each feature."""
    products = np.ascontiguousarray(table * np.array(weights))  # `@` rounds by the number of rows
    return np.asarray(products.sum(axis=1) + intercept, np.float64)


def features_of_few(run: Run, evidence: NDArray[np.floating], bits: NDArray[np.floating], labels: int) -> Doubles:
    """(suggestions, 4) `FEW_FEATURES` of each candidate; one without others leads by its evidence.

    evidence: (suggestions,) the mean of all stages' `fusion.summed_evidence`, by weight.

    Of three labels one has the evidence 2.5 and one 0.5: the first leads by 2, and the second follows by as much; log 3
    is 1.0986.

    >>> run = Run.from_rows([{5: 9.0, 6: 8.0}])
    >>> features_of_few(run, np.array([2.5, 0.5]), np.zeros(2), 3).round(4).tolist()
    [[0.0, 2.0, 0.0, 1.0986], [0.6931, -2.0, 0.0, 1.0986]]
    """
    few = np.full(len(bits), np.log(labels))
    return np.column_stack([np.log(run.ranks), leads(run, evidence), np.log1p(bits), few])


def leads(run: Run, evidence: NDArray[np.floating]) -> Doubles:
    """(suggestions,) by how much the evidence is above that of the best other candidate: see `features_of_few`."""
    ranks, counts, starts = run.ranks, np.diff(run.indptr)[run.rows], run.indptr[:-1][run.rows]
    best_other = np.where(ranks == 1, starts + np.minimum(counts - 1, 1), starts)
    return np.asarray(evidence - np.where(counts > 1, evidence[best_other], 0.0), np.float64)


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
    ranks = np.log(run.ranks / (labels_per_document or 1.0))
    characters = np.log(np.clip(lengths, *CHARACTERS))[run.rows]
    capped = np.minimum(bits, 100.0)  # with more the text names the label throughout
    return np.column_stack([ranks, zscores(run), characters, capped])


def named_bits(pool: CandidatePool, run: Run) -> Floats:
    """Return the total score of all name-matching stages for each candidate, (suggestions,), in bits."""
    total = sum(map(pool.scores, pool.matching_names), np.zeros(len(pool.run.labels), np.float32))
    return Run(pool.run.indptr, pool.run.labels, total).scores_of(run)


def text_lengths(pool: CandidatePool) -> Longs:
    """(documents,) the characters of each text."""
    return np.array([len(document.text) for document in pool.documents], np.int64)


@cache
def read_model(file: str, name: str, features: Sequence[str]) -> Model:
    """Return a model of a file of this package: the weights of the features, and the intercept."""
    model = read_packaged(file)["models"][name]
    return tuple(model["weights"][each] for each in features), model["intercept"]


def read_packaged(name: str) -> Mapping[str, Any]:
    """Return the content of a file of this package, plain JSON."""
    content: Mapping[str, Any] = json.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))
    return content
