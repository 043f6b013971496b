"""Estimate whether any label of the vocabulary fits a document at all: a printer that makes a noise is no Beekeeping.

Two logistic models, of features that mean the same for every corpus, vocabulary and encoder: `MEANING` where an encoder
knows the language of the text or of the names, `NAMES` where none does. They were fitted on public corpora whose
documents met their own vocabulary, that of other corpora, and parts of their own without their labels; and on noise
(`none_fits.json` says which, and how well they do on a corpus left out: benchmarks/none.py). Where a tagger matches no
names, its confidences tell: 1 minus each, multiplied.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from tagwright.combining.confidence import LIKELY, sigmoid
from tagwright.combining.label_free import Model, log_odds, read_model
from tagwright.combining.pool import CandidatePool
from tagwright.combining.steps import Contributions, Step
from tagwright.core.checked import AtLeastOne, Checked
from tagwright.types import Background, Doubles, Label, Run

FILE = "none_fits.json"
"Where the models are, with their training data, date, and quality on corpora that were left out."

MEANING = ("cosine above topics", "evidence", "expected maximum")
"""Of a document: the mean cosine of the five nearest labels above that to general topics, in deviations of the cosines
between topics; the evidence of the best label; sqrt(2 log labels), as the nearest of many is nearer by chance."""

NAMES = ("log information content", "expected maximum", "languages apart")
"""Of a document: the logarithm of 1 + the mean bits of the three names that it names most; sqrt(2 log labels); how much
better the encoder knows the language of the text than that of the names, or the reverse; 0 without one."""

TOPICS = (
    "agriculture", "art", "biology", "business", "chemistry", "computers", "education", "engineering", "food",
    "history", "law", "medicine", "music", "physics", "politics", "sports",
)  # fmt: skip
"What texts are about in general: how near a document is to any of them by chance."

LEAST = -3.0
"Labels that are farther below general topics count as these: none were in the fit."

FEWEST = 5
"Labels of the smallest vocabulary of the fit; fewer count as so many."

NEAREST = 5
"Labels that are nearest in meaning: their mean cosine counts."

NAMED = 3
"Labels whose names a document names most: their mean information content counts."


@dataclass(frozen=True, kw_only=True)
class NoneFits(Checked, Step):
    """Adds the probability that no label fits each document; no confidence exceeds what it leaves.

    It follows the step that estimates confidences. Where a fitting label is the likelier case, the confidences stay as
    they are, and bound the probability in turn. Nothing fits an empty text.
    """

    labels: AtLeastOne
    "How many labels the vocabulary has."

    def apply(self, pool: CandidatePool, run: Run) -> Run:
        """Return the ranking with these probabilities; without confidences, the ranking as it is."""
        if run.confidences is None:
            return run
        empty = np.array([not document.text.strip() for document in pool.documents]) & (np.diff(run.indptr) == 0)
        return leave_room(run, np.where(empty, 1.0, estimate(pool, run, self.labels)))

    def explain(self, pool: CandidatePool, run: Run, before: Contributions) -> Contributions:
        """Return the same contributions, and where confidences are lowered."""
        none, made = self.apply(pool, run).none, before.estimates
        if none is None or made is None:
            return before
        return replace(before, estimates=replace(made, lowered_by=np.where(none > LIKELY, none, 0)))

    def with_labels(self, before: Sequence[Label], labels: Sequence[Label]) -> Self:  # noqa: ARG002
        """Return a copy for another vocabulary: how many labels it has matters."""
        return replace(self, labels=len(labels))


def leave_room(run: Run, none: Doubles) -> Run:
    """Return the ranking with these probabilities that no label fits, (documents,), and room for them: see `NoneFits`.

    Of the first document nothing is likely to fit, by .8: its confidences are lowered together, to .2 at most. The
    second has a label that is right by .9.

    >>> run = Run.of(np.array([0, 2, 3]), np.array([5, 6, 5]), np.array([2.0, 1.0, 2.0]), np.array([0.4, 0.1, 0.9]))
    >>> found = leave_room(run, np.array([0.8, 0.3]))
    >>> found.confidences.round(2).tolist(), found.none.round(2).tolist()
    ([0.20000000298023224, 0.05000000074505806, 0.8999999761581421], [0.800000011920929, 0.10000000149011612])
    """
    assert run.confidences is not None
    surest = np.zeros(len(run))
    np.maximum.at(surest, run.rows, run.confidences.astype(np.float64))  # of one type, as it is slow otherwise
    none = np.where(none > LIKELY, none, np.minimum(none, 1.0 - surest))
    factor = np.minimum(1.0, (1.0 - none) / np.maximum(surest, 1e-9))
    confidences = (run.confidences * factor[run.rows]).astype(np.float32)
    return replace(run, confidences=confidences, none=none.astype(np.float32))


def estimate(pool: CandidatePool, run: Run, labels: int) -> Doubles:
    """(documents,) the probability that no label fits, see `NoneFits`."""
    described = describe(pool, labels)
    if described is None:
        return _by_confidences(run)
    models = read_model(FILE, "meaning", MEANING), read_model(FILE, "names", NAMES)
    return sigmoid(described.logits(*models))


class Described(NamedTuple):
    """The features of documents. meaning: (documents, 3) `MEANING`. names: (documents, 3) `NAMES`.

    known: (documents,) how well the encoder knows the language of the names, from 0 to 1: what the model of meaning
    counts; the other counts the rest.
    """

    meaning: Doubles
    names: Doubles
    known: Doubles

    def logits(self, by_meaning: Model, by_names: Model) -> Doubles:
        """(documents,) the log odds that no label fits."""
        return self.known * log_odds(self.meaning, *by_meaning) + (1.0 - self.known) * log_odds(self.names, *by_names)


def describe(pool: CandidatePool, labels: int) -> Described | None:
    """Return the features of the documents of a pool; None where names are not matched, or nothing is weighed.

    labels: how many the vocabulary has.
    """
    named = next((name for name in pool.matching_names if name in pool.found), None)
    evidence = pool.best_evidence()
    if named is None or evidence is None:
        return None
    unknown = np.zeros(len(evidence))
    expected = np.full(len(evidence), np.sqrt(2.0 * np.log(max(labels, FEWEST))))
    bits = np.log1p(_mean_of_first(pool.found[named], NAMED))
    backgrounds = {name: found for name in pool.found if (found := pool.background(name, TOPICS))}
    if not backgrounds:
        meaning = np.zeros((len(evidence), len(MEANING)))
        return Described(meaning, np.column_stack([bits, expected, unknown]), unknown)
    names_known = np.stack([background.names_known.astype(np.float64) for background in backgrounds.values()])
    # for each document, the entry of the encoder that knows the names best
    chosen = names_known.argmax(axis=0), np.arange(len(evidence))
    known = names_known[chosen]
    text_known = [known if (trust := pool.trust(name, 0.0)) is None else trust for name in backgrounds]
    apart = np.abs(np.stack(text_known)[chosen] - known)
    cosines = [_above_topics(pool.found[name], background) for name, background in backgrounds.items()]
    above = np.maximum(np.stack(cosines)[chosen], LEAST)
    return Described(np.column_stack([above, evidence, expected]), np.column_stack([bits, expected, apart]), known)


def _above_topics(nearest: Run, background: Background) -> Doubles:
    """(documents,) the mean cosine of the nearest labels above that to general topics, in deviations of the latter."""
    return (_mean_of_first(nearest, NEAREST) - background.mean) / background.deviation


def _by_confidences(run: Run) -> Doubles:
    """(documents,) the probability that no suggestion is right, as if they were independent."""
    assert run.confidences is not None
    wrong = np.log1p(-np.minimum(run.confidences.astype(np.float64), 1.0 - 1e-9))
    return np.exp(np.bincount(run.rows, wrong, len(run)))


def _mean_of_first(run: Run, most: int) -> Doubles:
    """(documents,) the mean score of the first labels of each document; 0 for one without any."""
    first = run.top(most)
    return np.bincount(first.rows, first.scores, len(run)) / np.maximum(1, np.diff(first.indptr))
