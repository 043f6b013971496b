"""Compare a trained tagger with the zero-shot method on labelled documents left out of training."""

from collections.abc import Callable, Sequence

import numpy as np

from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import option
from tagwright.evaluation.metrics import Hits, labelled, ndcg
from tagwright.evaluation.significance import paired
from tagwright.tagger import Tagger
from tagwright.types import Document, Doubles, Longs, Run

MOST, LEAST = 200, 20
"The most and the fewest documents of a check; with fewer, the result would be random."

DEPTH = 5


def validation(gold: Run, *, learnt: bool, seed: int = 0) -> Longs:
    """The rows to check on, drawn at random from the labelled ones; none if they would be too few.

    learnt: whether training uses the labels, so that the rows must be left out of it.

    >>> gold = Run.from_rows([[0]] * 300)
    >>> len(validation(gold, learnt=True)), len(validation(gold, learnt=False))
    (30, 200)
    >>> len(validation(gold.take(range(199)), learnt=True))
    0
    """
    rows = np.flatnonzero(labelled(gold))
    count = min(MOST, len(rows) // (10 if learnt else 1))  # most of the labels are for the training
    return np.sort(np.random.default_rng(seed).permutation(rows)[: count if count >= LEAST else 0])


def without(gold: Run, rows: Longs) -> Run:
    """The labels of the other documents."""
    return gold.keep(~np.isin(gold.rows, rows))


def check(
    trained: Tagger, untrained: Callable[[Vocabulary], Tagger], documents: Sequence[Document], gold: Run
) -> tuple[bool, str]:
    """Compare both on the documents, which are in memory. gold: a row for each, with labels.

    Returns whether training made the tagger worse, and a sentence with nDCG@5 of both and p of the randomisation test.
    """
    a, b = (_scores(tagger, documents, gold) for tagger in (trained, untrained(trained.vocabulary)))
    worse, p = bool(a.mean() < b.mean()), paired(a, b)
    fuse = option("fuse", python="fuse=True")
    remedy = f"; the untrained method is better here: train zero_shot, or add {fuse}" if worse else ""
    return worse, (
        f"nDCG@{DEPTH} on {len(documents)} labelled documents that were not learnt from: {100 * a.mean():.1f}, "
        f"untrained (zero_shot) {100 * b.mean():.1f}, p = {p:.2g}{remedy}"
    )


def _scores(tagger: Tagger, documents: Sequence[Document], gold: Run) -> Doubles:
    """(documents,) nDCG@5. A document that is a label itself is not suggested for itself, unless that is right."""
    run = tagger.tag(documents, DEPTH + 1)
    own = tagger.vocabulary.own(documents)
    right = np.isin(np.arange(len(gold)), gold.rows[gold.labels == own[gold.rows]])
    run = run.keep((run.labels != own[run.rows]) | right[run.rows])
    return ndcg(Hits.of(run, gold, DEPTH), DEPTH)
