"""The linear SVM over words, the sparse classifier of DEPL (3.2, A.1.3): strong if labels have many documents."""

from collections.abc import Sequence
from dataclasses import dataclass

from tagwright.core.checked import AtLeastOne
from tagwright.core.steps import Steps
from tagwright.data.vocabulary import Vocabulary
from tagwright.tagger import Tagger
from tagwright.training.gold_labels import known_of_texts
from tagwright.training.linear import SvmOptions, train_linear
from tagwright.types import Document, Run


@dataclass(frozen=True, kw_only=True)
class Config(SvmOptions):
    """The choices of the SVM. Its words are not lemmatised as in the paper, which needs a language model."""

    candidates: AtLeastOne = 100
    "The number of labels to suggest for a document."


def paper() -> Config:
    """The settings of DEPL 3.2 and A.1.3: the hinge loss, and every weight is kept. It does not state C."""
    return Config(loss="hinge", prune=0.0)


def fit(
    documents: Sequence[Document],
    labels: Vocabulary,
    config: Config = Config(),
    steps: Steps = Steps(),
    *,
    gold: Run | None = None,
) -> Tagger:
    """Train on documents with labels. steps: the store of finished blocks of labels.

    gold: instead of the documents' own labels. Raises ConfigError when there is nothing to learn from.
    """
    known = known_of_texts(documents, labels, gold)
    stage = train_linear(documents, labels, known, config, config.candidates, steps)
    return Tagger(labels, {"svm": stage})
