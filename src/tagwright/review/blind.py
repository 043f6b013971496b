"""Documents that are reviewed blind: suggestions are hidden until the reviewer has given labels, and then shown.

A label that was accepted because it was suggested flatters the tagger that suggested it. So only labels that were given
blind measure a tagger, and no tagger learns from their documents.
"""

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tagwright.evaluation.significance import Difference
    from tagwright.tagger import Tagger
    from tagwright.types import Document

SHARE = 1 / 3
"""Share of the documents. Of 100 reviewed documents a third are 33, on which the interval of a difference in nDCG@5 was
about 5 points to either side; with a fifth it was a third wider. A blind document takes the reviewer one key more, and
the searches for its labels."""

FEWEST = 20
"Documents reviewed blind that a difference is measured on, at least: of fewer, bootstrap intervals are too narrow."


def drawn_blind(document: str, share: float = SHARE) -> bool:
    """Whether a document is reviewed blind, by whomever. document: its id, which seeds the draw.

    >>> drawn_blind("d", 0.0), drawn_blind("d", 1.0)
    (False, True)
    """
    return random.Random(f"blind {document}").random() < share


def measured_gain(
    after: "Tagger", before: "Tagger", documents: Sequence["Document"], labels: Sequence[Sequence[str]]
) -> "Difference":
    """Return nDCG@5 of two taggers on the same documents, and the difference with its 95% interval.

    labels: ids of the right ones of each document. The interval is that of a paired bootstrap over the documents, with
    so many samples that chance in them hardly moves it.
    """
    from tagwright.data.corpus import Corpus
    from tagwright.data.subjects import relabel_document
    from tagwright.evaluation import dataset
    from tagwright.evaluation.significance import compare_all

    labelled = Corpus.of([relabel_document(document, ids) for document, ids in zip(documents, labels, strict=True)])
    task = dataset.evaluation_set(labelled, before.vocabulary, skip_unlabelled=True, unknown="ignore")
    runs = {"after": after, "before": before}
    tagged = {name: dataset.tag_across_vocabularies(tagger, task) for name, tagger in runs.items()}
    difference: Difference = compare_all(tagged, task.gold, measures=["nDCG@5"], samples=10_000)["nDCG@5"]
    return difference
