"""Give a tagger confidences: from documents whose labels it has not learned from, or without labels."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tagwright.combining.fusion import REFERENCE_RANKS
from tagwright.data.corpus import taken
from tagwright.tagger.pipeline import Tagger
from tagwright.types import Document, Run

FEWEST, MOST = 20, 300
"Labelled documents from which confidences are learned; with fewer the model without labels knows more."


def with_confidences(tagger: Tagger, documents: Sequence[Document], gold: Run, *, anew: bool = False) -> Tagger:
    """Return the tagger with confidences; itself if it has some and none are wanted anew.

    gold: the labels of the documents, a row for each, empty where the tagger has learned from them or there are none.
    A document that is a label itself is not suggested for itself, unless that is right.
    """
    if (tagger.combiner.estimates_confidence and not anew) or not hasattr(tagger.combiner, "calibrated"):
        return tagger  # or its combiner was written for 0.9
    rows = np.random.default_rng(0).permutation(np.flatnonzero(np.diff(gold.indptr)))[:MOST]
    rows = rows if len(rows) >= FEWEST else rows[:0]
    known, gold = taken(documents, rows), gold.take(rows)
    own = tagger.vocabulary.own(known)
    own[gold.rows[gold.labels == own[gold.rows]]] = -1
    ranked = tagger.tag(known, REFERENCE_RANKS).without(own)
    if not len(ranked.labels):
        return replace(tagger, combiner=tagger.combiner.label_free_for(len(tagger.vocabulary)))
    return replace(tagger, combiner=tagger.combiner.calibrated(ranked, gold.scores_of(ranked) > 0))
