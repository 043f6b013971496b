"""Train the sparse classifier of DEPL (Zhang et al., 2023; 3.2, A.1.3): a linear SVM on TF-IDF for each label.

A label needs training documents: one without any is never suggested.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagwright.combining.confidence import Confidence
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.core.checked import AtLeastOne
from tagwright.core.steps import Steps
from tagwright.data.corpus import text_groups
from tagwright.data.gold import gold_of_texts
from tagwright.data.sparse_arrays import Matrix
from tagwright.data.vocabulary import Vocabulary
from tagwright.stages.linear.stage import Linear
from tagwright.stages.linear.svm import SvmOptions, fit_svm, out_of_fold, text_features
from tagwright.tagger import Tagger
from tagwright.tagger.confidences import calibrate, remove_taught, with_confidence
from tagwright.types import Document, Run

FEWEST = 10
"Labelled documents from which confidences are learned: 8 train while 2 are scored."


@dataclass(frozen=True, kw_only=True)
class Config(SvmOptions):
    """Options of the SVM. Words stay as written; the paper lemmatises them, which needs a language model."""

    candidates: AtLeastOne = 100
    "The maximum number of candidate labels retrieved for a document."


def paper() -> Config:
    """The settings of DEPL 3.2 and A.1.3: hinge loss, no pruning. The paper does not state C: our default is used."""
    return Config(loss="hinge", prune=0.0)


def fit(
    documents: Sequence[Document],
    labels: Vocabulary,
    config: Config = Config(),
    steps: Steps = Steps(),
    *,
    gold: Run | None = None,
) -> Tagger:
    """Train an SVM for each label that a document with text has.

    gold: labels to use instead of the documents' own, one row for each document. steps: where finished blocks of labels
    are stored, so that an interrupted training can be continued; by default nothing is stored. Raises ConfigError if no
    document with text has a label of the vocabulary, InputError if no word is frequent enough.
    """
    gold = gold_of_texts(documents, labels, gold)
    bag, features = text_features(documents)
    stage = Linear(labels, bag, *fit_svm(features, gold, len(labels), config, steps), config.candidates)
    tagger = Tagger(labels, {"svm": stage}, steps=(WeightedSum(),))
    return with_confidence(tagger, _confidence(tagger, documents, features, gold, stage, config))


def _confidence(
    tagger: Tagger, documents: Sequence[Document], features: Matrix, gold: Run, stage: Linear, config: Config
) -> Confidence:
    """Learn confidences from what SVMs suggest for documents that they were not trained on.

    With fewer than `FEWEST` labelled documents, and where nothing is suggested, they are those without labels.
    """
    texts = text_groups(documents)
    if len(np.unique(texts[np.diff(gold.indptr) > 0])) < FEWEST:
        return remove_taught(tagger)
    found, rows = out_of_fold(features, gold, texts, stage, config)
    if not len(found.labels):
        return remove_taught(tagger)
    return calibrate(tagger, found, gold.take(rows).scores_of(found) > 0)
