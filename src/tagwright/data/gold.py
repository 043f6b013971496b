"""Gold labels for training."""

import logging
from array import array
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tagwright.data.vocabulary import Unknown, Vocabulary
from tagwright.errors import ConfigError
from tagwright.types import Document, Longs, Mask, Run

_log = logging.getLogger(__name__)


def known_labels(documents: Iterable[Document], labels: Vocabulary, unknown: Unknown = "warn") -> Run:
    """The documents' labels. Logs how many documents have none, and how many labels never occur.

    unknown: see `Vocabulary.gold`. Raises ConfigError when no document has any label of the vocabulary.
    """
    gold = labels.gold(documents, unknown=unknown)
    without, never = int((np.diff(gold.indptr) == 0).sum()), len(labels) - len(np.unique(gold.labels))
    if without == len(gold):
        raise ConfigError(
            f"none of {len(gold)} documents has a label of the vocabulary; supervised methods learn from labels"
        )
    if without:
        _log.warning("%d of %d documents have no label and are not learnt from", without, len(gold))
    if never:
        _log.warning(
            "%d of %d labels never occur: stages that learn from labelled documents do not suggest them",
            never,
            len(labels),
        )
    return gold


def gold_of_texts(documents: Sequence[Document], labels: Vocabulary, gold: Run | None) -> Run:
    """The gold labels of documents with text, read once; documents without text have none.

    gold: instead of the documents' own labels.
    """
    readable = array("b")

    def noted() -> Iterator[Document]:
        for document in documents:
            readable.append(bool(document.text.strip()))
            yield document

    if gold is None:
        gold = known_labels(noted(), labels)
    else:
        readable.extend(bool(document.text.strip()) for document in documents)
    return gold.keep(np.array(readable, np.bool_)[gold.rows])


def excludes_self(own: Longs, gold: Run | None = None) -> bool:
    """Whether most documents are labels, and none is its own, as far as gold labels are known.

    own: (documents,) the label that each document is, -1 for none.
    """
    is_right = gold is not None and bool((gold.labels == own[gold.rows]).any())
    return bool(len(own) and (own >= 0).mean() > 0.5 and not is_right)


def sample_labels(gold: Run, labels: int, share: float, *, seed: int = 0) -> Run:
    """FS-XMC by share of labels (MACLR 5.3): all gold pairs of a random share of the vocabulary, seen in gold or not.

    labels: size of the vocabulary. At least one label is drawn; with the same seed, a larger share contains the
    smaller.
    """
    chosen = _sample(labels, share, seed)
    return gold.keep(chosen[gold.labels])


def sample_pairs(gold: Run, share: float, *, seed: int = 0) -> Run:
    """FS-XMC by share of pairs (MACLR Appendix C): a random share of the gold pairs, nested as in `sample_labels`."""
    return gold.keep(_sample(len(gold.labels), share, seed))


def _sample(size: int, share: float, seed: int) -> Mask:
    if not 0 < share <= 1:
        raise ConfigError(f"share is {share}, expected more than 0 and at most 1 (0.01 is one in a hundred)")
    chosen = np.zeros(size, np.bool_)
    chosen[np.random.default_rng(seed).permutation(size)[: max(1, round(share * size))]] = True
    return chosen
