"""Compare a trained tagger with the zero-shot method on labelled documents left out of training."""

from collections.abc import Callable, Sequence

import numpy as np

from tagwright.data.corpus import distinct_texts
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import option
from tagwright.evaluation.metrics import Hits, mark_labelled, ndcg
from tagwright.evaluation.significance import paired_p_value
from tagwright.tagger import Tagger
from tagwright.types import Document, Doubles, Longs, Run


def validation_rows(
    gold: Run, documents: Sequence[Document] | None = None, *, supervised: bool, seed: int = 0
) -> Longs:
    """Draw rows of labelled documents to validate on: at most 200, and none where there would be fewer than 20.

    documents: of the rows, no text of which is drawn twice. supervised: whether training uses the labels. If so, at
    most a tenth is drawn, which must be left out of training, and all others with the same texts.

    >>> gold = Run.from_rows([[0]] * 300)
    >>> len(validation_rows(gold, supervised=True)), len(validation_rows(gold, supervised=False))
    (30, 200)
    >>> len(validation_rows(gold.take(range(199)), supervised=True))
    0
    """
    rows = np.flatnonzero(mark_labelled(gold))
    rows = rows if documents is None else distinct_texts(documents, rows)
    count = min(200, len(rows) // (10 if supervised else 1))
    if count < 20:  # a result on so few would be random
        count = 0
    return np.sort(np.random.default_rng(seed).permutation(rows)[:count])


def without_rows(gold: Run, rows: Longs) -> Run:
    """Return the gold labels with these rows empty."""
    return gold.keep(~np.isin(gold.rows, rows))


def compare_with_untrained(
    trained: Tagger,
    untrained: Callable[[Vocabulary], Tagger],
    documents: Sequence[Document],
    gold: Run,
    *,
    supervised: bool = True,
) -> tuple[bool, str]:
    """Return whether training made the tagger worse, and a sentence with nDCG@5 before and after, and p.

    trained: the tagger. untrained: makes the zero-shot tagger of a vocabulary. documents: labelled ones, in memory,
    that were not trained on, or, unless supervised, whose texts alone were. gold: a row for each. p is that of the
    randomisation test.
    """
    a, b = (_ndcg_at_5(tagger, documents, gold) for tagger in (trained, untrained(trained.vocabulary)))
    worse, p = bool(a.mean() < b.mean()), paired_p_value(a, b)
    fuse = option("fuse", python="fuse=True")
    remedy = f"; the untrained method is better here: train zero_shot, or add {fuse}" if worse else ""
    unseen = "that were not learnt from" if supervised else "whose labels were not read"
    return worse, (
        f"nDCG@5 on {len(documents)} labelled documents {unseen}: {100 * a.mean():.1f}, "
        f"untrained (zero_shot) {100 * b.mean():.1f}, p = {p:.2g}{remedy}"
    )


def _ndcg_at_5(tagger: Tagger, documents: Sequence[Document], gold: Run) -> Doubles:
    """(documents,) nDCG@5. A document that is a label itself is not suggested for itself, unless that is right."""
    own = tagger.vocabulary.own(documents)
    own[gold.rows[gold.labels == own[gold.rows]]] = -1
    return ndcg(Hits.of(tagger.tag(documents, 6).without(own), gold, 5), 5)  # 6, as one of them may be its own
