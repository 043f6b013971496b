"""Give a tagger confidences: from documents whose labels it has not learned from, or without labels."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tagwright.combining.confidence import Confidence, Curve, Mapped, confidence_of, fit_score_map
from tagwright.combining.fusion import REFERENCE_RANKS
from tagwright.combining.label_free import LabelFree
from tagwright.combining.learned_combiner import LearnedCombiner
from tagwright.combining.none_fits import NoneFits
from tagwright.combining.steps import find_last
from tagwright.combining.thresholds import without_thresholds
from tagwright.combining.weighted_sum import AppendLabels, WeightedSum
from tagwright.data.corpus import take_documents
from tagwright.tagger.pipeline import Tagger
from tagwright.types import Document, Mask, Run

FEWEST, MOST = 20, 300
"Labelled documents from which confidences are learned; with fewer the model without labels knows more."


def with_confidences(tagger: Tagger, documents: Sequence[Document], gold: Run, *, anew: bool = False) -> Tagger:
    """Return the tagger with confidences; itself if it has some and none are wanted anew.

    gold: the labels of the documents, a row for each, empty where the tagger has learned from them or there are none.
    A document that is a label itself is not suggested for itself, unless that is right.
    """
    if (tagger.estimates_confidence and not anew) or find_last(tagger.steps, WeightedSum) is None:
        return tagger  # or a package's own step ranks, of which no confidence is known
    rows = np.random.default_rng(0).permutation(np.flatnonzero(np.diff(gold.indptr)))[:MOST]
    rows = rows if len(rows) >= FEWEST else rows[:0]
    known, gold = take_documents(documents, rows), gold.take(rows)
    own = tagger.vocabulary.own(known)
    own[gold.rows[gold.labels == own[gold.rows]]] = -1
    ranked = tagger.tag(known, REFERENCE_RANKS).without(own)
    if not len(ranked.labels):
        return with_confidence(tagger, remove_taught(tagger))
    return with_confidence(tagger, calibrate(tagger, ranked, gold.scores_of(ranked) > 0))


def calibrate(tagger: Tagger, ranked: Run, right: Mask) -> Confidence:
    """Return confidences learned from the tagger's ranking of documents whose labels no stage has seen.

    right: (suggestions,) whether each is. A learned combiner gets a map from scores, a weighted sum a curve over
    standard scores. Raises ConfigError without suggestions.
    """
    if find_last(tagger.steps, LearnedCombiner):
        return Mapped(fit_score_map(ranked.scores, right, ranked.rows))
    return Curve.fit(ranked, right, log_scores=_appends(tagger))


def remove_taught(tagger: Tagger) -> LabelFree:
    """Return confidences without labelled documents."""
    return LabelFree(log_scores=_appends(tagger)).of_vocabulary(len(tagger.vocabulary))


def with_confidence(tagger: Tagger, confidence: Confidence | None) -> Tagger:
    """Return the tagger with other confidences, or none, where they stand; else after the ranking. Thresholds go.

    The probability that no label fits follows the confidences, see `NoneFits`.
    """
    steps, known = without_thresholds(tagger.steps), confidence_of(tagger.steps)
    place = next((number for number, step in enumerate(steps) if step is known), len(steps))
    rest = (step for step in steps[place + 1 :] if not isinstance(step, NoneFits))
    added = (confidence, NoneFits(labels=len(tagger.vocabulary))) if confidence else ()
    return replace(tagger, steps=(*steps[:place], *added, *rest))


def _appends(tagger: Tagger) -> bool:
    return find_last(tagger.steps, AppendLabels) is not None
